/** Decodes a response: into the success or the error of the operation's schemas. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { HttpClientError } from "effect/http/HttpClientError"
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { type Call, InvalidResponse } from "../ClientError.ts"
import { EnvelopeError, isRetryableStatus, statusOf } from "../GatewayError.ts"
import type { ErrorOf, Operation } from "../Operation.ts"
import type { GatewayConfig } from "../GatewayConfig.ts"
import * as RetryAfter from "../unstable/RetryAfter.ts"
import * as SchemaPath from "../unstable/SchemaPath.ts"
import type { WireNames } from "../dialect/WireNames.ts"
import { type AttemptFailure, requestFailure } from "./attempt.ts"

/** The failure of an attempt whose response violates the contract in the described way. */
export const invalid = (response: HttpClientResponse, description: string, path?: string): AttemptFailure<never> => ({
  reason: isRetryableStatus(response.status) ? response.status : undefined,
  status: response.status,
  error: (call) =>
    Effect.map(
      Clock.currentTimeMillis,
      (now) =>
        new InvalidResponse({
          ...call,
          status: response.status,
          requestId: response.headers["x-request-id"],
          description,
          contentType: response.headers["content-type"],
          location: locationOf(response),
          retryAfter: retryAfterOf(response, undefined, now),
          path
        })
    )
})

/** Where a redirect leads, without the parts that may contain secrets. */
const locationOf = ({ headers }: HttpClientResponse): string | undefined =>
  headers["location"]?.replace(/[?#].*$/s, "").replace(/^([a-z][a-z\d+.-]*:)?[/\\]{2}[^/\\]*@/i, "$1//")

/**
 * Reads a body of at most `limit` bytes. A body whose length the head states is read at once. Any
 * other is counted while it arrives, after decompression.
 */
export const readText = (response: HttpClientResponse, limit: number): Effect.Effect<string, AttemptFailure<never>> => {
  const { "content-encoding": encoding, "content-length": length } = response.headers
  const tooLong = invalid(response, `a body of more than ${limit} bytes (maxResponseBytes in the configuration)`)
  /** NaN: not known. */
  const size = encoding === undefined ? Number(length) : NaN
  const text =
    size <= limit
      ? response.text
      : size > limit
        ? // Reading begins and is interrupted: a body that nobody reads would occupy its connection.
          Effect.raceFirst(streamedText(response, 0), Effect.succeed(undefined))
        : streamedText(response, limit)
  return Effect.flatMap(
    // A browser hides the encoding of a response from another origin. Its length is checked again.
    Effect.mapError(text, requestFailure),
    (text) => (text === undefined || text.length > limit ? Effect.fail(tooLong) : Effect.succeed(text))
  )
}

/** Returns undefined if the body is longer. */
const streamedText = (
  response: HttpClientResponse,
  limit: number
): Effect.Effect<string | undefined, HttpClientError> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let size = 0
    let text = ""
    return response.stream.pipe(
      Stream.takeUntil((chunk) => (size += chunk.length) > limit),
      Stream.runForEach((chunk) =>
        Effect.sync(() => {
          text += decoder.decode(chunk, { stream: true })
        })
      ),
      Effect.catchIf(
        ({ reason }) => reason._tag === "EmptyBodyError",
        () => Effect.void
      ),
      Effect.map(() => (size > limit ? undefined : text + decoder.decode()))
    )
  })

/**
 * Returns undefined if the text is not JSON. No JSON text parses to undefined. Some proxies add a
 * byte order mark.
 */
const parse = (text: string, { path }: Operation, wireNames: WireNames | undefined): unknown => {
  try {
    const json: unknown = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)
    return wireNames === undefined ? json : wireNames.fromWire.body(path, json)
  } catch {
    return undefined
  }
}

export const successDecoder = <E extends Operation>(
  endpoint: E,
  { maxResponseBytes, wireNames }: GatewayConfig["Service"]
) => {
  const decode = decoder<E["success"]["Type"]>(endpoint.success)
  // The work is done and may have been charged, so an invalid success is not retried.
  return (response: HttpClientResponse): Effect.Effect<E["success"]["Type"], AttemptFailure<E>> =>
    Effect.flatMap(readText(response, maxResponseBytes), (text) => {
      const json = parse(text, endpoint, wireNames)
      if (json === undefined) return Effect.fail(invalid(response, "a body that is not JSON"))
      return Effect.mapError(decode(json), (error) => {
        const path = pathOf(error)
        const where = path === "" ? "at its root" : `at ${path}`
        return invalid(response, `a body that does not match the contract ${where}`, path)
      })
    })
}

/**
 * Chooses the error class by status, and adds data from the headers and the client to its envelope.
 */
export const onStatus = Effect.fnUntraced(function* <E extends Operation>(
  endpoint: E,
  response: HttpClientResponse,
  text: string,
  wireNames: WireNames | undefined
): Effect.fn.Return<never, AttemptFailure<E>> {
  const schema = endpoint.error.find((each) => statusOf(each) === response.status)
  const envelope = parse(text, endpoint, wireNames)
  const retryAfter = retryAfterOf(response, envelope, yield* Clock.currentTimeMillis)
  if (schema === undefined || !isEnvelope(envelope)) {
    const location = locationOf(response)
    const isRedirect = response.status >= 300 && response.status < 400 && response.status !== 304
    const description = isRedirect
      ? // A page learns where a redirect leads only if the browser follows it.
        `a redirect${location === undefined ? "" : ` to ${location}`}, which was not followed`
      : schema === undefined
        ? "a status that the operation does not return"
        : "a body that is not an error envelope"
    return yield* Effect.fail({ ...invalid(response, description), retryAfter })
  }
  const decode = decoder<ErrorOf<E>>(schema)
  return yield* Effect.fail({
    reason: isRetryableStatus(response.status) ? response.status : undefined,
    status: response.status,
    retryAfter,
    error: (call: Call) =>
      Effect.matchEffect(decode(complete(envelope, response, retryAfter)), {
        onSuccess: (error) => {
          if (error instanceof EnvelopeError) Object.assign(error, call)
          return Effect.succeed(error)
        },
        onFailure: () => invalid(response, "a body that is not an error envelope").error(call)
      })
  })
})

type Envelope = { readonly error: object; readonly service_metadata?: unknown }

const isEnvelope = (json: unknown): json is Envelope =>
  Predicate.hasProperty(json, "error") && Predicate.isObject(json.error)

const complete = (envelope: Envelope, response: HttpClientResponse, retryAfter: number | undefined): unknown => {
  const { status } = response
  const code = Predicate.hasProperty(envelope.error, "code") ? envelope.error.code : undefined
  const isOtherCode = Number.isInteger(code) && code !== status
  const metadata = {
    ...(retryAfter === undefined ? undefined : { retry_after: retryAfter }),
    // The class of an error says its code, which is the status. Another one is kept here.
    ...(isOtherCode ? { code } : undefined),
    ...objectAt(envelope.error, "metadata")
  }
  const requestId = response.headers["x-request-id"]
  const serviceMetadata = {
    ...(requestId === undefined ? undefined : { request_id: requestId }),
    ...objectAt(envelope, "service_metadata")
  }
  return {
    ...envelope,
    error: { ...envelope.error, ...(isOtherCode ? { code: status } : undefined), metadata },
    service_metadata: serviceMetadata
  }
}

const objectAt = (self: object, key: string): object | undefined =>
  Predicate.hasProperty(self, key) && Predicate.isObject(self[key]) ? self[key] : undefined

/** Seconds to wait, from the `Retry-After` header or else from the envelope. */
const retryAfterOf = (response: HttpClientResponse, envelope: unknown, now: number): number | undefined => {
  const wait = RetryAfter.seconds(response.headers, now)
  if (wait !== undefined && wait >= 0) return wait
  const metadata = isEnvelope(envelope) ? objectAt(envelope.error, "metadata") : undefined
  const seconds = Predicate.hasProperty(metadata, "retry_after") ? metadata.retry_after : undefined
  return typeof seconds === "number" && seconds >= 0 ? seconds : undefined
}

/**
 * The path of the first value in the body that does not match, such as `results[0].index`. A key
 * that no schema names may be content.
 */
const pathOf = (error: Schema.SchemaError): string => {
  let path = ""
  for (const key of SchemaPath.first(error)) {
    const name = String(key)
    path += typeof key === "number" ? `[${key}]` : /^\w{1,64}$/.test(name) ? `${path === "" ? "" : "."}${name}` : "[…]"
  }
  return path
}

const decoder = <A>(schema: Schema.Codec<A, unknown>) => Schema.decodeUnknownEffect(schema)
