/**
 * GET `/key`.
 *
 * Specification: "2. GET /key", "Key record".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { Response } from "@model-gateway/core/CurrentKey"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestContext from "../http/RequestContext.ts"
import { forEphemeral, KeyRecords } from "./KeyRecord.ts"

/**
 * The wire form is the record as it is, and this is the operation that dashboards and clients ask most: writing it out here spares it the walk through its schema. A test
 * holds that what is sent decodes by the schema.
 */
const respond = (response: Response) =>
  HttpServerResponse.text(JSON.stringify(response), { contentType: "application/json" })

/** The `key` group of the contract. */
export const layer = HttpApiBuilder.group(GatewayApi, "key", (handlers) =>
  Effect.map(KeyRecords, (records) =>
    handlers.handle("currentKey", () =>
      Effect.flatMap(RequestContext.caller, ({ ephemeral, key }) =>
        Effect.map(orUnavailable(records.of(key)), (data) =>
          respond({ data: ephemeral === null ? data : forEphemeral(data, ephemeral, key) })
        )
      )
    )
  )
)
