/** Sends events to one destination. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { type Duration, Effect, Redacted, Result } from "effect"
import { HttpBody, type HttpClient, HttpClientRequest } from "effect/http"
import { OtlpSerialization } from "effect/observability/OtlpSerialization"
import type { Event } from "../events/Event.ts"
import * as OutboundRequest from "../outbound/OutboundRequest.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as WebhookSignature from "../outbound/WebhookSignature.ts"
import type { Destination, Options } from "./Destination.ts"
import * as OtlpSpans from "./OtlpSpans.ts"

/**
 * Why a destination did not accept an event.
 *
 * - `unsendable`: the event has no form that can be sent. It was not sent;
 * - `rejected`: it does not accept what was sent, so sending it again is pointless;
 * - `broken`: it failed on what was sent, and may do so each time;
 * - `unavailable`: it may accept it later, or after its configuration was corrected.
 */
export interface Failure {
  readonly kind: "unsendable" | "rejected" | "broken" | "unavailable"
  /** For the log. It has no URL, no header and no text of the destination. */
  readonly reason: string
  /** How long the destination asks to wait. */
  readonly retryAfter?: Duration.Duration | undefined
  /** Whether it would not accept other events either at the moment. */
  readonly isOfAll?: boolean | undefined
}

/** An event that was not accepted. */
export interface Undelivered {
  readonly event: Event
  readonly failure: Failure
}

/** Sends events. Returns those that were not accepted. */
export type Sender = (events: ReadonlyArray<Event>) => Effect.Effect<ReadonlyArray<Undelivered>>

/** Webhooks of one destination that are sent at the same time. */
const concurrency = 8

const kindOf = (status: number): Failure["kind"] => {
  if (status === 400 || status === 413 || status === 415 || status === 422) return "rejected"
  return status === 500 ? "broken" : "unavailable"
}

/** Sends one request. Undefined: it was accepted. */
const attempt = (
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<Failure | undefined> =>
  Effect.map(OutboundRequest.send(client, request), ({ failure, retryAfter, status }) =>
    failure === undefined
      ? undefined
      : {
          kind: status === null ? "unavailable" : kindOf(status),
          reason: failure,
          retryAfter,
          isOfAll: status === null || status === 429 || status === 503
        }
  )

/**
 * Events come from the database. What cannot be made of one is its failure, and no defect, which
 * would stop all events behind it.
 */
const unsendable: Failure = { kind: "unsendable", reason: "it has no form that can be sent" }

/** Without a path, the endpoint is that of the OTLP specification. */
const endpointOf = ({ url }: Options): string => {
  const endpoint = new URL(url)
  if (endpoint.pathname === "/") endpoint.pathname = "/v1/traces"
  return endpoint.href
}

/**
 * Sends spans. A batch that is rejected, or cannot be sent, is sent in halves to find the events
 * that are at fault.
 */
const otlp = Effect.fnUntraced(function* (client: HttpClient.HttpClient, { options, secrets }: Destination) {
  const serialization = yield* OtlpSerialization
  const send: Sender = Effect.fnUntraced(function* (events: ReadonlyArray<Event>) {
    const body = Result.try(() => serialization.traces(OtlpSpans.make(events, options)))
    const failure = Result.isFailure(body)
      ? unsendable
      : yield* attempt(
          client,
          HttpClientRequest.post(endpointOf(options)).pipe(
            HttpClientRequest.setHeaders(Redacted.value(secrets).headers),
            HttpClientRequest.setBody(body.success)
          )
        )
    if (failure === undefined) return []
    const isOfEvents = failure.kind === "rejected" || failure.kind === "unsendable"
    if (!isOfEvents || events.length < 2) return events.map((event) => ({ event, failure }))
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
    const made = Result.try(() => webhookBody(event, options))
    if (Result.isFailure(made)) return unsendable
    const body = made.success
    return yield* attempt(
      client,
      HttpClientRequest.make(options.method)(options.url).pipe(
        HttpClientRequest.setHeaders(headers),
        HttpClientRequest.setHeaders(yield* WebhookSignature.headers(event.id, body, signers)),
        HttpClientRequest.setBody(HttpBody.text(body, "application/json"))
      )
    )
  })
  return Effect.fnUntraced(function* (events: ReadonlyArray<Event>) {
    // Each event to a receiver that hangs would wait for the whole time limit.
    let ofAll: Failure | undefined
    const undelivered: Array<Undelivered> = []
    yield* Effect.forEach(
      events,
      Effect.fnUntraced(function* (event) {
        const failure = ofAll ?? (yield* sendOne(event))
        if (failure === undefined) return
        if (failure.isOfAll === true) ofAll = failure
        undelivered.push({ event, failure })
      }),
      { concurrency, discard: true }
    )
    return undelivered
  })
}

/** The sender of a destination. */
export const make = (
  client: HttpClient.HttpClient,
  destination: Destination
): Effect.Effect<Sender, never, OtlpSerialization> =>
  destination.type === "webhook" ? Effect.succeed(webhook(client, destination)) : otlp(client, destination)
