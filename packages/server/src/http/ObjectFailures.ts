/** Maps failures of the object store to responses, and logs them for the operator. */
import { InternalServerError, phrases, ServiceUnavailable } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import * as FailureLog from "../observability/FailureLog.ts"
import type { ObjectStoreError } from "../objects/ObjectStore.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** The 503 for an object store that is full or unavailable. Logs the reason. */
export const storeUnavailable = (error: ObjectStoreError): Effect.Effect<never, ServiceUnavailable> =>
  Effect.andThen(
    FailureLog.report({
      kind: `files\n${error.operation}\n${error.reason}\n${error.message}`,
      event: "object_store_failed",
      message: `${error.operation}: ${error.message}`
    }),
    new ServiceUnavailable({
      error:
        error.reason === "full"
          ? { message: `${phrases[503]}: there is no room left for files` }
          : { message: phrases[503], metadata: { retry_after: 1 } }
    })
  )

/**
 * The 500 for a record whose object is missing. The caller did nothing wrong, and a retry does not
 * help.
 */
export const contentLost = (key: string): Effect.Effect<never, InternalServerError> =>
  Effect.andThen(
    LogEvent.log("object_missing", "An object is missing although the database has its record", { object: key }),
    new InternalServerError({ error: { message: phrases[500] } })
  )
