/**
 * Reading the calling key's information.
 *
 * Specification: "GET /key", "Key record".
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import type { Response } from "@model-gateway/core/CurrentKey"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestServices from "../http/RequestServices.ts"
import type { Key } from "../access/Key.ts"
import { forEphemeral, KeyResponses, make } from "../access/KeyResponses.ts"
import * as Budgets from "../accounting/Budgets.ts"

/**
 * The record already is in wire format, and dashboards and clients call this operation most, so it
 * is serialized without its schema. A test checks that the schema decodes the response.
 */
const respond = (response: Response) =>
  HttpServerResponse.text(JSON.stringify(response), { contentType: "application/json" })

/** A management key cannot spend. That of a session of the console may be in no database. */
const recordOf = (records: KeyResponses["Service"], key: Key) =>
  key.isManagement
    ? Effect.succeed(make(key, Budgets.unused({ ...key, includeByok: key.includeByokInLimit }), 0))
    : orUnavailable(records.of(key))

/** The `key` group of the contract. */
export const layer = RequestServices.group(KeyResponses, (records) =>
  HttpApiBuilder.group(GatewayApi, "key", (handlers) =>
    handlers.handle("currentKey", () =>
      Effect.flatMap(currentCaller, ({ ephemeral, key }) =>
        Effect.map(recordOf(records, key), (data) =>
          respond({ data: ephemeral === null ? data : forEphemeral(data, ephemeral, key) })
        )
      )
    )
  )
)
