/** What a call of the SDK adds to its HTTP requests, and what it reads of their responses. */
import { InvalidArgumentError } from "@ai-sdk/provider"
import type { TransformClient } from "@model-gateway/core/GatewayConfig"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { constUndefined } from "effect/Function"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as Redacted from "effect/Redacted"

export interface Exchange {
  /** Headers of every request, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** The caller's own key, which replaces the generated one. */
  readonly idempotencyKey: string | undefined
  /** The address of the latest request. Undefined: none was sent. */
  url: string | undefined
  /** The API key of the latest request. */
  credential: Redacted.Redacted<string> | undefined
  /** The API key that the requests have to be sent with, whatever the settings return by now. */
  fixedCredential: Redacted.Redacted<string> | undefined
  /** The headers of the latest response. */
  responseHeaders: Record<string, string> | undefined
}

export const CurrentExchange = Context.Reference<Exchange | undefined>(
  "@model-gateway/ai-sdk/internal/exchange/CurrentExchange",
  {
    defaultValue: constUndefined
  }
)

/**
 * Firefox and Safari would ask the gateway in a preflight whether a page or its worker may set
 * `user-agent`.
 */
const isPage = "document" in globalThis || "WorkerGlobalScope" in globalThis

const isName = /^[!#$%&'*+.^`|~\w-]+$/
const isValue = /^[\t\x20-\x7e\x80-\xff]*$/

export type Headers = Readonly<Record<string, string | undefined>>

export const make = (...given: ReadonlyArray<Headers | undefined>): Exchange => {
  const headers: Record<string, string> = {}
  for (const each of given) {
    for (const [name, value] of Object.entries(each ?? {})) {
      if (value === undefined) continue
      // Checked here because the platform's own error quotes the value, which may be a secret.
      if (!isName.test(name) || !isValue.test(value.trim())) {
        const message = `The header ${JSON.stringify(name)} has characters that are not allowed in an HTTP header.`
        throw new InvalidArgumentError({ argument: "headers", message })
      }
      headers[name.toLowerCase()] = value
    }
  }
  const { "idempotency-key": idempotencyKey, ...others } = headers
  if (isPage) delete others["user-agent"]
  return {
    headers: others,
    idempotencyKey,
    url: undefined,
    credential: undefined,
    fixedCredential: undefined,
    responseHeaders: undefined
  }
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
        if (exchange === undefined) return
        // Cookies are secrets, and errors are logged with these headers.
        const { "set-cookie": _, ...headers } = response.headers
        exchange.responseHeaders = headers
      })
    )
  )
