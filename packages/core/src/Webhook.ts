/**
 * Receives the gateway's webhooks: verifies that a request comes from the gateway, and decodes its
 * event. The gateway sends one when a video job reaches a final state, to the job's `callback_url`
 * or to the workspace's `default_callback_url`. Messages of alerts are signed in the same way:
 * {@link verifyAlert}.
 *
 * Webhooks are signed by Standard Webhooks 1.0.0. This module needs nothing but WebCrypto, so it
 * runs in Node, in a worker at the edge and in a browser.
 *
 * A webhook is delivered at least once. Deliveries of the same event have the same `id`: store the
 * ids that you have handled, and answer a repeated one with a 2xx without handling it again.
 *
 * @since 0.1.0
 */
import * as Bytes from "effect/Bytes"
import * as Clock from "effect/Clock"
import { timingSafeEqual } from "effect/crypto/Mac"
import { WebCrypto } from "effect/crypto/WebCrypto"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Base64 from "effect/encoding/Base64"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Timestamp } from "./Identifiers.ts"
import { AlertEvent } from "./internal/alertEvent.ts"
import { open } from "./internal/open.ts"
import { getVideoOperation, Job } from "./Video.ts"

/**
 * The types of events.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EventType = Schema.Literals(["video.completed", "video.failed", "video.cancelled", "video.expired"])

/**
 * @category models
 * @since 0.1.0
 */
export type EventType = typeof EventType.Type

/**
 * What happened: a video job reached a final state.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Event = Schema.Struct({
  type: EventType,
  /** When the job reached its final state. */
  timestamp: Timestamp,
  /** The job, as GET `/videos/{id}` returns it. */
  data: Job
})

/** A later version may have more events, and another service another offset than `Z`. */
const DecodedEvent = Schema.Struct({
  type: open<EventType>(),
  timestamp: Schema.String,
  data: getVideoOperation.success
})

/**
 * An event as {@link verify} returns it. Its `type` may be one that this version does not know:
 * answer it with a 2xx, as any event that you do not need.
 *
 * @category models
 * @since 0.1.0
 */
export type Event = { [Field in keyof typeof DecodedEvent.Type]: (typeof DecodedEvent.Type)[Field] }

/**
 * A verified webhook.
 *
 * @category models
 * @since 0.1.0
 */
export interface Webhook {
  /** The same each time this event is delivered. */
  readonly id: string
  /** When this delivery was signed, in epoch milliseconds. */
  readonly sentAt: number
  readonly event: Event
}

/**
 * The request is not a webhook that the gateway signed with one of the secrets.
 *
 * - `headers`: `webhook-id`, `webhook-timestamp` or `webhook-signature` is missing or malformed.
 * - `timestamp`: it was signed too long ago, or in the future. Someone may have repeated an old
 *   request, or a clock is wrong.
 * - `signature`: no signature matches. The body was changed, or the secret is another one.
 * - `secret`: a secret is not `whsec_` and base64. Correct the receiver's configuration.
 * - `event`: the signature matches, but the body is not an event of a video job, or of an alert.
 * - `body`: the body could not be read, is larger than 1 MiB, or was read or parsed before.
 *
 * Answer `secret` with a 500, and all others with a 400.
 *
 * @category errors
 * @since 0.1.0
 */
export class WebhookError extends Data.TaggedError("WebhookError")<{
  readonly reason: "headers" | "timestamp" | "signature" | "secret" | "event" | "body"
  /** Says what is wrong, without quoting the request or the secret. */
  readonly message: string
}> {}

/**
 * A secret as the gateway showed it: `whsec_` and base64.
 *
 * @category models
 * @since 0.1.0
 */
export type Secret = string | Redacted.Redacted<string>

/**
 * What to verify with.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** One secret, or several while they are being replaced. One of them has to match. */
  readonly secret: Secret | ReadonlyArray<Secret>
  /** How far the time of the signature may be from the current time. Default: 5 minutes. */
  readonly tolerance?: Duration.Input | undefined
}

/**
 * A request to verify.
 *
 * @category models
 * @since 0.1.0
 */
export interface Request extends Options {
  /** The headers, as `Headers` or as an object such as Node's `request.headers`. */
  readonly headers: Headers | { readonly [name: string]: string | ReadonlyArray<string> | undefined }
  /** The body as it was received. JSON that was parsed and written again does not verify. */
  readonly body: string | Uint8Array
}

const fail = (reason: WebhookError["reason"], message: string) => Effect.fail(new WebhookError({ reason, message }))

/** By its method, because a framework or another realm may have a class of its own. */
const isHeaders = (headers: Request["headers"]): headers is Headers => typeof headers["get"] === "function"

const headerOf = (headers: Request["headers"], name: string): Effect.Effect<string, WebhookError> => {
  const found = isHeaders(headers) ? headers.get(name) : valueOf(headers, name)
  return typeof found === "string" && found !== ""
    ? Effect.succeed(found)
    : fail("headers", `The header ${name} is missing.`)
}

/** Names of headers are case-insensitive. */
const valueOf = (headers: Exclude<Request["headers"], Headers>, name: string) =>
  headers[name] ?? Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1]

const malformedSecret = "A secret is not whsec_ and base64. Copy it as the gateway showed it."

const keyOf = (subtle: SubtleCrypto, secret: Secret) => {
  const text = Redacted.isRedacted(secret) ? Redacted.value(secret) : secret
  const bytes = Base64.decode(text.replace(/^whsec_/, ""))
  return Result.isFailure(bytes) || bytes.success.length === 0
    ? fail("secret", malformedSecret)
    : Effect.promise(() =>
        subtle.importKey("raw", new Uint8Array(bytes.success), { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
      )
}

/** The signatures of version 1 in the header, which may have several, and of other versions. */
const signaturesOf = (header: string): ReadonlyArray<Uint8Array> =>
  header.split(" ").flatMap((part) => {
    if (!part.startsWith("v1,")) return []
    const bytes = Base64.decode(part.slice("v1,".length))
    return Result.isSuccess(bytes) ? [bytes.success] : []
  })

const decodeEvent = Schema.decodeUnknownEffect(Schema.fromJsonString(DecodedEvent))

const decodeAlert = Schema.decodeUnknownEffect(Schema.fromJsonString(AlertEvent))

/** Verifies a signature, and returns the text that it signs. */
const signed = Effect.fnUntraced(function* ({
  body,
  headers,
  secret,
  tolerance = Duration.minutes(5)
}: Request): Effect.fn.Return<Omit<Webhook, "event"> & { readonly text: string }, WebhookError> {
  const { subtle } = yield* WebCrypto
  const id = yield* headerOf(headers, "webhook-id")
  const timestamp = yield* headerOf(headers, "webhook-timestamp")
  const signatures = signaturesOf(yield* headerOf(headers, "webhook-signature"))
  if (!/^\d{1,12}$/.test(timestamp)) {
    return yield* fail("headers", "The header webhook-timestamp is not a number of seconds.")
  }
  if (signatures.length === 0) return yield* fail("headers", "The header webhook-signature has no signature v1.")
  const sentAt = Number(timestamp) * 1000
  const difference = sentAt - (yield* Clock.currentTimeMillis)
  if (Math.abs(difference) > Duration.toMillis(tolerance)) {
    return yield* fail("timestamp", `The webhook was signed ${difference < 0 ? "too long ago" : "in the future"}.`)
  }
  const text = new TextEncoder()
  const content = typeof body === "string" ? text.encode(body) : body
  const message = Bytes.concat([text.encode(`${id}.${timestamp}.`), content])
  const secrets: ReadonlyArray<Secret> = typeof secret === "string" || Redacted.isRedacted(secret) ? [secret] : secret
  const keys = yield* Effect.forEach(secrets, (one) => keyOf(subtle, one))
  // One computation for each secret: a caller chooses how many signatures there are.
  const tags = yield* Effect.forEach(keys, (key) =>
    Effect.map(
      Effect.promise(() => subtle.sign("HMAC", key, message)),
      (tag) => new Uint8Array(tag)
    )
  )
  const isValid = tags.some((tag) => signatures.some((signature) => timingSafeEqual(tag, signature)))
  if (!isValid) return yield* fail("signature", "No signature matches the body and a secret.")
  return { id, sentAt, text: new TextDecoder().decode(content) }
})

/**
 * Verifies a webhook and returns its event. Signatures are compared in constant time. The current
 * time is that of the `Clock`.
 *
 * @example
 * ```ts
 * import { Webhook } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const receive = (headers: Headers, body: string) =>
 *   Webhook.verify({ headers, body, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }).pipe(
 *     Effect.map(({ event, id }) => `${id}: ${event.type}`),
 *     Effect.catchTag("WebhookError", ({ message }) => Effect.succeed(`rejected: ${message}`))
 *   )
 * ```
 *
 * @category validation
 * @since 0.1.0
 */
export const verify = Effect.fnUntraced(function* (request: Request): Effect.fn.Return<Webhook, WebhookError> {
  const { id, sentAt, text } = yield* signed(request)
  const decoded = yield* Effect.result(decodeEvent(text))
  if (Result.isFailure(decoded)) return yield* fail("event", "The body is not an event of a video job.")
  return { id, sentAt, event: decoded.success }
})

/**
 * A verified message of an alert.
 *
 * @category models
 * @since 0.1.0
 */
export interface AlertWebhook extends Omit<Webhook, "event"> {
  readonly event: typeof AlertEvent.Type
}

/**
 * Verifies a message that an alert sent to a webhook, as {@link verify} does one of a video job.
 *
 * @example
 * ```ts
 * import { Webhook } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const receive = (headers: Headers, body: string) =>
 *   Webhook.verifyAlert({ headers, body, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }).pipe(
 *     Effect.map(({ event }) => `${event.type}: ${event.data.message}`),
 *     Effect.catchTag("WebhookError", ({ message }) => Effect.succeed(`rejected: ${message}`))
 *   )
 * ```
 *
 * @category validation
 * @since 0.1.0
 */
export const verifyAlert = Effect.fnUntraced(function* (
  request: Request
): Effect.fn.Return<AlertWebhook, WebhookError> {
  const { id, sentAt, text } = yield* signed(request)
  const decoded = yield* Effect.result(decodeAlert(text))
  if (Result.isFailure(decoded)) return yield* fail("event", "The body is not a message of an alert.")
  return { id, sentAt, event: decoded.success }
})

const maxBodyBytes = 1_048_576

const unreadable = (message: string) => new WebhookError({ reason: "body", message })

const tooLarge = () => unreadable("The body is larger than 1 MiB.")

const alreadyRead = () =>
  unreadable("The body was read before. Receive webhooks before anything else reads or parses the body.")

/** The chunks of a body. Not every browser can iterate over a `ReadableStream`. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  try {
    while (true) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel()
  }
}

/** Reads a body, and stops as soon as it is too large. */
const readAll = async (chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> => {
  const read: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > maxBodyBytes) throw tooLarge()
    read.push(chunk)
  }
  return Bytes.concat(read)
}

const readBody = async (request: globalThis.Request | NodeRequest): Promise<string | Uint8Array> => {
  if (isFetchRequest(request)) {
    if (request.bodyUsed) throw alreadyRead()
    return request.body === null ? "" : readAll(chunksOf(request.body))
  }
  const { body } = request
  if (typeof body === "string" || body instanceof Uint8Array) {
    if (body.length > maxBodyBytes) throw tooLarge()
    return body
  }
  if (body !== undefined && body !== null) {
    throw unreadable("The body was parsed. Only the bytes that were received can be verified: do not parse them.")
  }
  const chunks = request[Symbol.asyncIterator]?.bind(request)
  if (chunks === undefined || request.readableDidRead === true) throw alreadyRead()
  return readAll({ [Symbol.asyncIterator]: chunks })
}

const isFetchRequest = (request: globalThis.Request | NodeRequest): request is globalThis.Request =>
  isHeaders(request.headers)

/**
 * A request on a server for Node: an `IncomingMessage`, or the request of a framework such as
 * Express or Fastify.
 *
 * @category models
 * @since 0.1.0
 */
export interface NodeRequest {
  readonly headers: Exclude<Request["headers"], Headers>
  /** What a body parser has made of the body: only text or bytes can be verified. */
  readonly body?: unknown
  /** The body, if no parser has read it. */
  readonly [Symbol.asyncIterator]?: () => AsyncIterator<Uint8Array>
  /** Whether someone has read it. */
  readonly readableDidRead?: boolean
}

/**
 * Verifies the webhook in a `Request` of the Fetch API, or in a request of Node, Express or
 * Fastify. It reads the body, so the request cannot be read again.
 *
 * Call it before a body parser: JSON that was parsed and written again does not verify. If the body
 * was read or parsed before, it fails with the reason `body`. What a parser has left as text or
 * bytes, such as `express.raw()`, is verified.
 *
 * @example
 * ```ts
 * import { Webhook } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * export default {
 *   fetch: (request: Request, env: { readonly WEBHOOK_SECRET: string }) =>
 *     Webhook.fromRequest(request, { secret: env.WEBHOOK_SECRET }).pipe(
 *       Effect.tap(({ event, id }) => Effect.log(id, event.type, event.data.id)),
 *       Effect.as(new Response(null, { status: 204 })),
 *       Effect.catchTag("WebhookError", ({ reason }) =>
 *         Effect.succeed(new Response(null, { status: reason === "secret" ? 500 : 400 }))
 *       ),
 *       Effect.runPromise
 *     )
 * }
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromRequest = (
  request: globalThis.Request | NodeRequest,
  options: Options
): Effect.Effect<Webhook, WebhookError> =>
  Effect.tryPromise({
    try: () => readBody(request),
    catch: (error) => (error instanceof WebhookError ? error : unreadable("The body could not be read."))
  }).pipe(Effect.flatMap((body) => verify({ ...options, headers: request.headers, body })))
