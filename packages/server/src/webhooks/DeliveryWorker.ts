/**
 * Sends the webhooks that are due. Every process does, and each delivery is sent by one of them.
 *
 * A slow receiver delays only itself: `DeliveryPlaces` says which of the webhooks that are due may
 * be sent.
 *
 * An attempt succeeds with a 2xx within 15 seconds; redirects are not followed. After a failure
 * follow 5 seconds, 5 and 30 minutes, 2, 5, 10 and 14 hours, each up to a tenth longer so that
 * deliveries that failed together do not return together, and no less than the receiver asked for
 * by `Retry-After`. Then the delivery is given up, and kept for redelivery. A `410 Gone` gives it
 * up at once.
 */
import { Cause, Clock, Duration, Effect, FiberSet, Latch, Layer, Random, Schedule } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import * as Failures from "../http/Failures.ts"
import * as HostNames from "../outbound/HostNames.ts"
import { OutboundHttp } from "../outbound/OutboundHttp.ts"
import * as OutboundRequest from "../outbound/OutboundRequest.ts"
import * as WebhookSignature from "../outbound/WebhookSignature.ts"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Metrics from "../observability/Metrics.ts"
import * as Tracing from "../observability/Tracing.ts"
import { type DeliveryAttempt, type Claimed, claimFor, DeliveryStore, type Due, type Next } from "./DeliveryStore.ts"
import * as DeliveryPlaces from "./DeliveryPlaces.ts"
import { WebhookSecrets } from "./WebhookSecrets.ts"

/** How webhooks are sent. */
export interface Options {
  /**
   * Webhooks that one process sends at the same time, besides those that each workspace may send in
   * any case. Default: 64.
   */
  readonly concurrency?: number | undefined
  /** Of these, the most of one workspace. Default: 16. */
  readonly perWorkspace?: number | undefined
  /** Of these, the most of one workspace to one host. Default: 4. */
  readonly perHost?: number | undefined
  /** How often deliveries of other processes and retries are looked for. Default: 1 second. */
  readonly every?: Duration.Input | undefined
  /**
   * How long attempts in progress may take when the worker stops. Then another process repeats
   * them.
   * Default: 5 seconds.
   */
  readonly stopGrace?: Duration.Input | undefined
}

/** The waits after the first failure, the second and so on. */
export const retryDelays: ReadonlyArray<Duration.Duration> = [
  Duration.seconds(5),
  Duration.minutes(5),
  Duration.minutes(30),
  Duration.hours(2),
  Duration.hours(5),
  Duration.hours(10),
  Duration.hours(14)
]

/** The longest wait that a receiver may ask for. */
const maxRetryAfter = Duration.hours(24)

/**
 * What follows an attempt. `failures` counts the earlier failed ones, `random` is from 0 to 1.
 */
export const nextOf = (outcome: OutboundRequest.Outcome, failures: number, random: number): Next => {
  if (outcome.failure === undefined) return { status: "delivered" }
  const delay = retryDelays[failures]
  if (delay === undefined || outcome.status === 410) return { status: "failed" }
  const requested = Duration.min(outcome.retryAfter ?? Duration.zero, maxRetryAfter)
  return { status: "pending", after: Duration.max(Duration.times(delay, 1 + random / 10), requested) }
}

const sentences = new Map([
  ["no answer in time", "The receiver did not answer within 15 seconds."],
  ["ECONNREFUSED", "The receiver refused the connection."],
  ["ECONNRESET", "The receiver closed the connection."],
  ["UND_ERR_SOCKET", "The receiver closed the connection."],
  ["ENOTFOUND", "The host name does not resolve."],
  ["EAI_AGAIN", "The host name could not be resolved."],
  ["UND_ERR_CONNECT_TIMEOUT", "The connection could not be made in time."],
  ["ETIMEDOUT", "The connection could not be made in time."],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "The receiver's certificate is for another host name."],
  ["CERT_HAS_EXPIRED", "The receiver's certificate has expired."],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "The receiver's certificate is not signed by a known authority."],
  ["SELF_SIGNED_CERT_IN_CHAIN", "The receiver's certificate is not signed by a known authority."],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "The receiver's certificate is not signed by a known authority."]
])

/** Why an attempt failed, in words for the workspace's owner. */
export const errorOf = ({ failure, status }: OutboundRequest.Outcome): string | null => {
  if (failure === undefined) return null
  if (status === null) return sentences.get(failure) ?? `The request failed: ${failure}.`
  if (status >= 300 && status < 400) return `The receiver answered with status ${status}. Redirects are not followed.`
  if (status === 410) return "The receiver answered with status 410: it no longer wants this webhook."
  return `The receiver answered with status ${status}.`
}

const maxExcerptCharacters = 200

/** One line without URLs, hosts, keys and ids, or null. */
const excerptOf = (text: string): string | null => {
  const safe = SafeMessage.make(text)
  return safe === undefined ? null : safe.slice(0, maxExcerptCharacters).toWellFormed()
}

/** An attempt that fails after this time has kept its place for too long. */
const slowAfter = 5000

/** Deliveries that are read at a time. */
const pageSize = 64

/** Sends one webhook once, and records the attempt. Returns what came of it. */
const makeSend = Effect.gen(function* () {
  const client = yield* OutboundHttp
  const secrets = yield* WebhookSecrets
  const store = yield* DeliveryStore

  return Effect.fn("DeliveryWorker.send")(function* (claimed: Claimed) {
    const { body, id, jobId, type, url, workspaceId } = claimed
    const signers = yield* secrets.signers(workspaceId)
    const attemptedAt = yield* Clock.currentTimeMillis
    const signature = yield* WebhookSignature.headers(id, body, signers)
    // The span has neither URL nor host: both may have a secret.
    const outcome = yield* Effect.flatMap(Tracing.current, (traceparent) =>
      OutboundRequest.send(
        client,
        HttpClientRequest.post(url).pipe(
          HttpClientRequest.setHeaders({ ...signature, ...(traceparent === null ? {} : { traceparent }) }),
          HttpClientRequest.setBody(HttpBody.text(body, "application/json"))
        )
      )
    ).pipe(
      Effect.provideService(HostNames.Owner, workspaceId),
      Effect.tap(({ status }) =>
        status === null ? Effect.void : Effect.annotateCurrentSpan("http.response.status_code", status)
      ),
      (sent) =>
        Tracing.continued(
          claimed.traceParent,
          "webhook",
          { "model_gateway.delivery.id": id, "model_gateway.job.id": jobId, "model_gateway.event.type": type },
          sent
        )
    )
    const error = errorOf(outcome)
    const attempt: DeliveryAttempt = {
      attemptedAt,
      status: outcome.status,
      durationMillis: outcome.durationMillis,
      error,
      excerpt: excerptOf(outcome.excerpt)
    }
    const next = nextOf(outcome, claimed.tries, yield* Random.next)
    yield* store.record(claimed, attempt, next)
    yield* Metrics.webhook(next.status)
    if (next.status === "failed") {
      yield* FailureLog.report({
        kind: `webhook failed\n${error ?? ""}`,
        event: "webhook_given_up",
        message: `A webhook was given up. ${error ?? ""}`,
        annotations: {
          attempts: String(claimed.tries + 1),
          delivery: id,
          job_id: jobId,
          type,
          workspace_id: workspaceId
        }
      })
    }
    return outcome
  })
})

const make = Effect.fnUntraced(function* (options?: Options) {
  const store = yield* DeliveryStore
  const send = yield* makeSend
  const places = DeliveryPlaces.make({
    concurrency: options?.concurrency ?? 64,
    perWorkspace: options?.perWorkspace ?? 16,
    perHost: options?.perHost ?? 4
  })
  const every = Duration.fromInputUnsafe(options?.every ?? "1 second")
  const claims = new Set<Claimed>()
  const running = yield* FiberSet.make<void>()
  /** Opened when a delivery ends, because another one may have waited for its place. */
  const freed = yield* Latch.make()

  const failed = (error: unknown) =>
    FailureLog.report({
      kind: "webhooks",
      event: "webhooks_failed",
      message: `Webhooks could not be sent. ${Failures.describe(error)}`
    })

  const sent = (due: Due, claimed: Claimed) =>
    Effect.flatMap(send(claimed), ({ durationMillis, failure }) =>
      failure === undefined || durationMillis < slowAfter
        ? Effect.sync(() => places.inTime(due))
        : Effect.map(MonotonicTime.millis, (now) => places.timedOut(due, now))
    ).pipe(
      // The claim ends by itself, and the delivery is tried again.
      Effect.catchCause((cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : failed(Failures.errorOf(cause))
      ),
      Effect.onInterrupt(() => Effect.ignore(store.release(claimed))),
      Effect.ensuring(
        Effect.suspend(() => {
          claims.delete(claimed)
          places.leave(due)
          return freed.open
        })
      )
    )

  /** Starts or postpones what is due, as far as there is room. Returns the number of deliveries. */
  const start = Effect.gen(function* () {
    if (places.isFull()) return 0
    const now = yield* MonotonicTime.millis
    let moved = 0
    for (const due of yield* store.due(pageSize, places.full())) {
      const pause = places.pauseLeft(due, now)
      if (pause > 0) {
        moved += yield* store.postpone(due, Duration.millis(pause))
        continue
      }
      if (!places.hasRoom(due)) continue
      const claimed = yield* store.claim(due.id)
      if (claimed === undefined) continue
      claims.add(claimed)
      places.enter(due)
      moved++
      yield* FiberSet.run(running, sent(due, claimed))
    }
    return moved
  })

  // Wait for attempts in progress, so that they need not be repeated.
  yield* Effect.addFinalizer(() =>
    Effect.timeoutOption(FiberSet.awaitEmpty(running), options?.stopGrace ?? "5 seconds")
  )

  // What has no room hides what is behind it, so look again at once while anything was moved.
  yield* start.pipe(
    Effect.uninterruptible,
    Effect.repeat({ while: (moved) => moved > 0 }),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.failCause(cause) : failed(Failures.errorOf(cause))
    ),
    Effect.andThen(
      Effect.raceAllFirst([store.awaitDue, Effect.andThen(freed.await, freed.close), Effect.sleep(every)])
    ),
    Effect.forever,
    Effect.forkScoped
  )

  yield* Effect.suspend(() => store.extend([...claims])).pipe(
    Effect.catch(failed),
    Effect.repeat(Schedule.spaced(Duration.times(claimFor, 0.3))),
    Effect.forkScoped
  )
})

/** Sends webhooks as long as the layer lives. */
export const layerBackground = (
  options?: Options
): Layer.Layer<never, never, DeliveryStore | WebhookSecrets | OutboundHttp> => Layer.effectDiscard(make(options))
