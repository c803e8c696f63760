/** Sends events to one destination. */
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { Clock, Duration, Effect, Redacted, Result, Stream } from "effect"
import {
  HttpBody,
  type HttpClient,
  type HttpClientError,
  HttpClientRequest,
  type HttpClientResponse
} from "effect/http"
import { OtlpSerialization } from "effect/observability/OtlpSerialization"
import type { Event } from "../events/Event.ts"
import { NotPublic } from "../http/OutboundHttp.ts"
import * as Timestamp from "../http/Timestamp.ts"
import * as WebhookSignature from "../http/WebhookSignature.ts"
import type { Destination, Options } from "./Destination.ts"
import * as OtlpSpans from "./OtlpSpans.ts"

/**
 * Why a destination did not accept an event.
 *
 * - `rejected`: it does not accept what was sent, so sending it again is pointless;
 * - `broken`: it failed on what was sent, and may do so each time;
 * - `unavailable`: it may accept it later, or after its configuration was corrected.
 */
export interface Failure {
  readonly kind: "rejected" | "broken" | "unavailable"
  /** For the log. It has no URL, no header and no text of the destination. */
  readonly reason: string
  /** How long the destination asks to wait. */
  readonly retryAfter?: Duration.Duration | undefined
}

/** An event that was not accepted. */
export interface Undelivered {
  readonly event: Event
  readonly failure: Failure
}

/** Sends events. Returns those that were not accepted. */
export type Sender = (events: ReadonlyArray<Event>) => Effect.Effect<ReadonlyArray<Undelivered>>

/** Success is a 2xx within this time (contract, "Webhook"). */
const timeLimit = Duration.seconds(15)

/** Webhooks of one destination that are sent at the same time. */
const concurrency = 8

/** The most bytes of a response that are read, so that its connection can be used again. */
const maxResponseBytes = 65_536

const kindOf = (status: number): Failure["kind"] => {
  if (status === 400 || status === 413 || status === 415 || status === 422) return "rejected"
  return status === 500 ? "broken" : "unavailable"
}

const retryAfterOf = (response: HttpClientResponse.HttpClientResponse, now: number): Duration.Duration | undefined => {
  const text = response.headers["retry-after"]
  if (text === undefined) return undefined
  const millis = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now
  return Number.isFinite(millis) && millis > 0 ? Duration.millis(millis) : undefined
}

const reasonOf = ({ reason }: HttpClientError.HttpClientError): string => {
  if (reason.cause instanceof NotPublic) return reason.cause.message
  const { cause } = reason
  // undici has the reason of a failed connection in a code such as ECONNREFUSED.
  if (cause instanceof Error && "code" in cause && typeof cause.code === "string") return cause.code
  return cause instanceof Error && cause.cause instanceof NotPublic ? cause.cause.message : reason._tag
}

/** Some hosts reject requests without one. */
const userAgent = ({ headers }: HttpClientRequest.HttpClientRequest): string => headers["user-agent"] ?? "model-gateway"

/** Sends one request. Undefined: it was accepted. */
const attempt = (
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<Failure | undefined> =>
  Effect.gen(function* () {
    const response = yield* client.execute(request.pipe(HttpClientRequest.setHeader("user-agent", userAgent(request))))
    // A body that does not end, or breaks, does not change what the status said.
    const read = Stream.runFoldEffect(
      response.stream,
      () => 0,
      (total, chunk) =>
        total > maxResponseBytes ? Effect.fail("too large" as const) : Effect.succeed(total + chunk.length)
    )
    yield* Effect.ignore(Effect.timeout(read, "1 second"))
    const { status } = response
    if (status >= 200 && status < 300) return undefined
    const now = yield* Clock.currentTimeMillis
    return { kind: kindOf(status), reason: `status ${status}`, retryAfter: retryAfterOf(response, now) }
  }).pipe(
    Effect.timeout(timeLimit),
    Effect.catch((error) =>
      Effect.succeed<Failure>({
        kind: "unavailable",
        reason: error._tag === "TimeoutError" ? "no answer in time" : reasonOf(error)
      })
    ),
    Effect.scoped
  )

/** Without a path, the endpoint is that of the OTLP specification. */
const endpointOf = ({ url }: Options): string => {
  const endpoint = new URL(url)
  if (endpoint.pathname === "/") endpoint.pathname = "/v1/traces"
  return endpoint.href
}

/**
 * Sends spans. A batch that is rejected is sent in halves, to find the events that are at fault.
 */
const otlp = Effect.fnUntraced(function* (client: HttpClient.HttpClient, { options, secrets }: Destination) {
  const serialization = yield* OtlpSerialization
  const send: Sender = Effect.fnUntraced(function* (events: ReadonlyArray<Event>) {
    const failure = yield* attempt(
      client,
      HttpClientRequest.post(endpointOf(options)).pipe(
        HttpClientRequest.setHeaders(Redacted.value(secrets).headers),
        HttpClientRequest.setBody(serialization.traces(OtlpSpans.make(events, options)))
      )
    )
    if (failure === undefined) return []
    if (failure.kind !== "rejected" || events.length < 2) return events.map((event) => ({ event, failure }))
    const middle = Math.ceil(events.length / 2)
    const first = yield* send(events.slice(0, middle))
    return [...first, ...(yield* send(events.slice(middle)))]
  })
  return send
})

const attemptBody = ({ is_byok, started_at, ...rest }: Event["attempts"][number], options: Options) => ({
  ...rest,
  ...(is_byok !== undefined && options.broadcast_generation_cost ? { is_byok } : {}),
  ...(started_at === undefined ? {} : { started_at: Timestamp.fromMillis(started_at) })
})

/** An event as a webhook has it. */
export const webhookBody = (event: Event, options: Options): string => {
  const { callback_url, cost_micro, created_at, is_byok, key_hash, started_at, ...rest } = event
  return JSON.stringify({
    type: event.type,
    timestamp: Timestamp.fromMillis(created_at),
    data: {
      ...rest,
      attempts: event.attempts.map((attempt) => attemptBody(attempt, options)),
      started_at: Timestamp.fromMillis(started_at),
      created_at: Timestamp.fromMillis(created_at),
      cost: MicroCredits.toCredits(cost_micro),
      ...(options.broadcast_generation_cost ? { is_byok } : {}),
      ...(options.broadcast_generation_identity ? { key_hash } : {}),
      ...(options.broadcast_generation_request_context ? { callback_url } : {})
    }
  })
}

const webhook = (client: HttpClient.HttpClient, { options, secrets }: Destination): Sender => {
  const { headers, signing_secret } = Redacted.value(secrets)
  const signers = signing_secret === undefined ? [] : [Redacted.make(signing_secret)]
  const sendOne = Effect.fnUntraced(function* (event: Event) {
    const body = webhookBody(event, options)
    const failure = yield* attempt(
      client,
      HttpClientRequest.make(options.method)(options.url).pipe(
        HttpClientRequest.setHeaders(headers),
        HttpClientRequest.setHeaders(yield* WebhookSignature.headers(event.id, body, signers)),
        HttpClientRequest.setBody(HttpBody.text(body, "application/json"))
      )
    )
    return failure === undefined ? Result.failVoid : Result.succeed({ event, failure })
  })
  return (events) =>
    Effect.map(Effect.forEach(events, sendOne, { concurrency }), (results) =>
      results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
    )
}

/** The sender of a destination. */
export const make = (
  client: HttpClient.HttpClient,
  destination: Destination
): Effect.Effect<Sender, never, OtlpSerialization> =>
  destination.type === "webhook" ? Effect.succeed(webhook(client, destination)) : otlp(client, destination)
