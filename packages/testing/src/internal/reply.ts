/** The HTTP responses of the scripted gateway, with the headers that the service adds. */
import { retryAfterStatuses } from "@model-gateway/core/GatewayError"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { HttpClientRequest } from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Stream from "effect/Stream"
import type * as Endpoint from "./endpoint.ts"
import * as Envelope from "./envelope.ts"

/** An error that the service returns before a handler is called. */
export const refuse = (
  request: HttpClientRequest,
  requestId: string,
  status: number,
  message: string,
  options: Parameters<typeof reply>[3] & { readonly metadata?: Parameters<typeof Envelope.make>[3] } = {}
): Effect.Effect<HttpClientResponse.HttpClientResponse> =>
  Effect.sync(() =>
    reply(request, requestId, status, {
      ...options,
      body: JSON.stringify(Envelope.make(status, message, requestId, options.metadata))
    })
  )

const reply = (
  request: HttpClientRequest,
  requestId: string,
  status: number,
  options: {
    readonly headers?: { readonly [name: string]: string } | undefined
    readonly body?: BodyInit | undefined
  }
): HttpClientResponse.HttpClientResponse =>
  HttpClientResponse.fromWeb(
    request,
    new Response(options.body ?? null, {
      status,
      headers: { "content-type": "application/json", "x-request-id": requestId, ...options.headers }
    })
  )

/** The response for a handler's success. Bytes have a strong entity tag and ranges. */
export const succeed = (
  request: HttpClientRequest,
  requestId: string,
  encoded: Endpoint.Encoded,
  context: Context.Context<never>
): HttpClientResponse.HttpClientResponse => {
  if (encoded._tag === "Json") {
    return reply(request, requestId, encoded.status, { body: JSON.stringify(encoded.json) })
  }
  const headers = { "content-type": encoded.contentType, "accept-ranges": "bytes" }
  if (!(encoded.bytes instanceof Uint8Array)) {
    return reply(request, requestId, 200, { headers, body: Stream.toReadableStreamWith(encoded.bytes, context) })
  }
  const bytes = new Uint8Array(encoded.bytes)
  const etag = entityTagOf(bytes)
  const condition = request.headers["if-range"] ?? etag
  const range = condition === etag ? /^bytes=(\d+)-(\d*)$/.exec(request.headers["range"] ?? "") : null
  const start = Number(range?.[1] ?? 0)
  const end = Math.min(Number(range?.[2] || bytes.length - 1) + 1, bytes.length)
  const isWhole = range === null || start >= end
  const body = isWhole ? bytes : bytes.subarray(start, end)
  return reply(request, requestId, isWhole ? 200 : 206, {
    headers: {
      ...headers,
      etag,
      "content-length": String(body.length),
      ...(isWhole ? undefined : { "content-range": `bytes ${start}-${end - 1}/${bytes.length}` })
    },
    body
  })
}

/** A strong entity tag, as the service has one for each content: FNV-1a. */
const entityTagOf = (bytes: Uint8Array): string => {
  let hash = 0x811c9dc5
  for (const byte of bytes) hash = Math.imul(hash ^ byte, 0x01000193)
  return `"${(hash >>> 0).toString(16)}-${bytes.length}"`
}

/**
 * The response for a handler's error, with a request id and `Retry-After` as the service adds them.
 */
export const fail = (
  request: HttpClientRequest,
  requestId: string,
  failure: Endpoint.EncodedFailure
): HttpClientResponse.HttpClientResponse => {
  const { json, retryAfter, status } = failure
  const id = failure.requestId ?? requestId
  return reply(request, id, status, {
    headers:
      retryAfterStatuses.has(status) && retryAfter !== undefined
        ? { "retry-after": String(Math.ceil(retryAfter)) }
        : undefined,
    body: JSON.stringify(
      failure.requestId === undefined
        ? { ...json, service_metadata: { ...failure.serviceMetadata, request_id: id } }
        : json
    )
  })
}
