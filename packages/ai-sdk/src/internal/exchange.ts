/** What a call of the SDK adds to its HTTP requests, and what it reads of their responses. */
import type { TransformClient } from "@model-gateway/core/GatewayConfig"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { constUndefined } from "effect/Function"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"

export interface Exchange {
  /** Headers of every request, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The caller's own key, which replaces the generated one. */
  readonly idempotencyKey: string | undefined
  /** The address of the latest request. Undefined: none was sent. */
  url: string | undefined
  /** The headers of the latest response. */
  responseHeaders: Record<string, string> | undefined
}

export const CurrentExchange = Context.Reference<Exchange | undefined>(
  "@model-gateway/ai-sdk/internal/exchange/CurrentExchange",
  {
    defaultValue: constUndefined
  }
)

/** Firefox and Safari would ask the gateway in a preflight whether a page may set `user-agent`. */
const isPage = typeof document !== "undefined"

export type Headers = Readonly<Record<string, string | undefined>>

export const make = (...given: ReadonlyArray<Headers | undefined>): Exchange => {
  const headers: Record<string, string> = {}
  for (const each of given) {
    for (const [name, value] of Object.entries(each ?? {})) {
      if (value !== undefined) headers[name.toLowerCase()] = value
    }
  }
  const { "idempotency-key": idempotencyKey, ...others } = headers
  if (isPage) delete others["user-agent"]
  return { headers: others, idempotencyKey, url: undefined, responseHeaders: undefined }
}

/** Adds the headers to the requests of an exchange, and keeps those of their responses. */
export const transformClient: TransformClient = (client) =>
  client.pipe(
    HttpClient.mapRequestEffect((request) =>
      Effect.map(CurrentExchange, (exchange) => {
        if (exchange === undefined) return request
        exchange.url = request.url
        exchange.responseHeaders = undefined
        return HttpClientRequest.setHeaders(request, exchange.headers)
      })
    ),
    HttpClient.tap((response) =>
      Effect.map(CurrentExchange, (exchange) => {
        if (exchange !== undefined) exchange.responseHeaders = { ...response.headers }
      })
    )
  )
