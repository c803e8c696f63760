/**
 * GET `/key`.
 *
 * Specification: "2. GET /key", "Key record".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestContext from "../http/RequestContext.ts"
import { KeyRecords } from "./KeyRecord.ts"

/** The `key` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "key", (handlers) =>
  Effect.map(KeyRecords, (records) =>
    handlers.handle("currentKey", () =>
      Effect.flatMap(RequestContext.caller, ({ key }) =>
        Effect.map(orUnavailable(records.of(key)), (data) => ({ data }))
      )
    )
  )
)
