/**
 * What a caller is answered when the object store fails it, and what the operator is told: for every operation that stores or reads objects.
 */
import { InternalServerError, phrases, ServiceUnavailable } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import * as FailureLog from "../http/FailureLog.ts"
import type { ObjectStoreError } from "./ObjectStore.ts"

/** The 503 of an object store that is full or broken; tells the operator why. */
export const storeUnavailable = (error: ObjectStoreError): Effect.Effect<never, ServiceUnavailable> =>
  Effect.andThen(
    FailureLog.report({
      kind: `files\n${error.operation}\n${error.reason}\n${error.message}`,
      level: "Error",
      message: `${error.operation}: ${error.message}`
    }),
    new ServiceUnavailable({
      error: {
        message: error.reason === "full" ? `${phrases[503]}: there is no room left for files` : phrases[503]
      }
    })
  )

/** A record whose object is gone: nothing a caller did, and nothing that trying again mends. */
export const contentLost = (key: string): Effect.Effect<never, InternalServerError> =>
  Effect.andThen(
    Effect.logError("An object that the database knows of is missing").pipe(Effect.annotateLogs({ object: key })),
    new InternalServerError({ error: { message: phrases[500] } })
  )
