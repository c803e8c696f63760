/**
 * Translates requests and responses between the words on the wire and the neutral ones, which are
 * all that the rest of the service knows. Only for a service whose `wireNames` are not neutral.
 */
import * as Operation from "@model-gateway/core/Operation"
import { hasWords, type WireNames } from "@model-gateway/core/WireNames"
import { Predicate } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { Headers, HttpBody, type HttpServerRequest, HttpServerResponse } from "effect/http"

/** What is known of a request. */
interface Spoken {
  /** The words on the wire, if they are not the neutral ones. */
  readonly wireNames: WireNames | undefined
  /** Undefined until the route is found. */
  readonly endpoint: HttpApiEndpoint.Top | undefined
}

/** The path of the request's operation. Undefined if it has no words to translate. */
const pathOf = ({ endpoint }: Spoken): string | undefined => {
  const path = endpoint === undefined ? undefined : Operation.of(endpoint)?.path
  return path !== undefined && hasWords(path) ? path : undefined
}

const provider = /(?<=[?&]provider=)[^&#]*/g

/** The request with its parameters and its `Accept` header in neutral words. */
export const neutralRequest = (
  { fromWire }: WireNames,
  request: HttpServerRequest.HttpServerRequest
): HttpServerRequest.HttpServerRequest => {
  // The route is not known yet.
  const path = request.url.replace(/^\/api\/v1/, "")
  if (!hasWords(path)) return request
  const { accept } = request.headers
  return request.modify({
    url: request.url.replace(provider, (word) => fromWire.provider(path, word)),
    headers:
      accept === undefined ? request.headers : Headers.set(request.headers, "accept", fromWire.accept(path, accept))
  })
}

/** The text of a JSON body in neutral words. Text that is not JSON stays as it is. */
export const neutralBody = (record: Spoken, text: string): string => {
  const path = pathOf(record)
  if (record.wireNames === undefined || path === undefined) return text
  const json = parse(text)
  return json === undefined ? text : JSON.stringify(record.wireNames.fromWire.body(path, json))
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A success in the words of the wire. Content stays as it is. */
export const onWire = (
  record: Spoken,
  response: HttpServerResponse.HttpServerResponse
): HttpServerResponse.HttpServerResponse => {
  const { body } = response
  const path = pathOf(record)
  if (record.wireNames === undefined || path === undefined || body._tag !== "Uint8Array") return response
  if (!body.contentType.startsWith("application/json")) return response
  const json: unknown = JSON.parse(body.text ?? new TextDecoder().decode(body.body))
  const translated = JSON.stringify(record.wireNames.toWire.body(path, json))
  return HttpServerResponse.setBody(response, HttpBody.text(translated, body.contentType))
}

/** The body of an error in the words of the wire. */
export const errorOnWire = (record: Spoken, body: object): unknown => {
  if (record.wireNames === undefined) return body
  const { body: translate, provider, text } = record.wireNames.toWire
  const renamed = translate("", body)
  const path = pathOf(record)
  if (path === undefined) return renamed
  // The messages of these operations name the words that they expect. Other text may be the
  // caller's, such as the request's id.
  const translated = (value: unknown, key: string): unknown => {
    if (typeof value === "string")
      return key === "message" ? text(value) : key === "provider" ? provider(path, value) : value
    if (Array.isArray(value)) return value.map((item: unknown) => translated(item, ""))
    return Predicate.isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([name, field]) => [name, translated(field, name)]))
      : value
  }
  return translated(renamed, "")
}
