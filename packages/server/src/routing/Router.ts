/**
 * Tries the candidates for a request in order until one answers.
 *
 * After several consecutive failures a candidate's circuit opens, and it is not called for a while.
 * A failure that the request itself caused does not count. Each attempt has a time limit, and so do
 * all attempts together. If no candidate answers, the error lists the attempts.
 */
import type { Offer } from "@model-gateway/providers/Offer"
import type { ProviderError, Reason } from "@model-gateway/providers/ProviderError"
import { ProviderError as UpstreamError, Timeout } from "@model-gateway/providers/ProviderError"
import { Cause, Clock, Context, Data, Duration, Effect, Exit, Layer } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Metrics from "../observability/Metrics.ts"
import { type Candidate, keyOf } from "./Candidate.ts"
import type { Observed } from "./Candidates.ts"

/** One attempt at one provider. */
export interface Attempt {
  readonly provider: string
  /** `Success`, the reason's tag, or `CircuitOpen` if the provider was not called. */
  readonly outcome: Reason["_tag"] | "CircuitOpen" | "Success"
  readonly seconds: number
}

/** An answer, its candidate, and all attempts, of which the last one answered. */
export interface Routed<A, O extends Offer> {
  readonly answer: A
  readonly candidate: Candidate<O>
  readonly attempts: ReadonlyArray<Attempt>
}

/** Every candidate that was called failed. `reason` is the last one's. */
export class AttemptsFailed extends Data.TaggedError("AttemptsFailed")<{
  readonly reason: Reason
  readonly provider: string
  readonly attempts: ReadonlyArray<Attempt>
}> {}

/**
 * All circuits are open, so no candidate was called. `retryAfter` is when the first one may be
 * tried again.
 */
export class NoneUp extends Data.TaggedError("NoneUp")<{
  readonly retryAfter: Duration.Duration
  readonly attempts: ReadonlyArray<Attempt>
}> {}

/** The time limit of all attempts together passed. */
export class DeadlinePassed extends Data.TaggedError("DeadlinePassed")<{
  readonly provider: string
  readonly attempts: ReadonlyArray<Attempt>
}> {}

/** Why no candidate answered. */
export type RoutingFailure = AttemptsFailed | NoneUp | DeadlinePassed

/** The attempts to make. */
export interface Route<A, O extends Offer> {
  /** At least one, in the order to try. */
  readonly candidates: ReadonlyArray<Candidate<O>>
  readonly call: (candidate: Candidate<O>) => Effect.Effect<A, ProviderError>
  readonly attemptTimeout: Duration.Duration
  readonly deadline: Duration.Duration
  /** Units of work in the request, for measuring throughput. */
  readonly units: number
}

/** The router. */
export class Router extends Context.Service<
  Router,
  {
    /**
     * In an uninterruptible caller, only the upstream calls can be interrupted, so that an answer
     * is never lost.
     */
    readonly route: <A, O extends Offer>(route: Route<A, O>) => Effect.Effect<Routed<A, O>, RoutingFailure>
    /** The measurements of a candidate since the process started. */
    readonly observed: (candidate: Candidate) => Observed | undefined
  }
>()("@model-gateway/server/routing/Router") {}

/** The weight of a new measurement in the moving average. */
const weight = 0.2

const blend = (old: number | undefined, seen: number): number =>
  old === undefined ? seen : old + weight * (seen - old)

/** Whether a failure indicates a problem of the offer or of the credential. */
const countsAgainst = (offer: Offer, reason: Reason): boolean => {
  switch (reason._tag) {
    case "Timeout":
      // If a model in this process is slow, the caller's request is the cause.
      return offer.isInProcess !== true
    case "InvalidRequest":
    case "InputTooLarge":
    case "UnknownModel":
    case "Simulated":
      return false
    case "Unauthorized":
    case "OutOfCredit":
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
    case "BadResponse":
      return true
  }
}

const retryAfterOf = (reason: Reason): Duration.Duration | undefined =>
  "retryAfter" in reason ? reason.retryAfter : undefined

const classify =
  (offer: Offer) =>
  (exit: Exit.Exit<unknown, ProviderError>): CircuitBreaker.Outcome => {
    if (Exit.isSuccess(exit)) return CircuitBreaker.success
    const error = Cause.findErrorOption(exit.cause)
    if (error._tag === "None")
      return Cause.hasInterruptsOnly(exit.cause) ? CircuitBreaker.ignored : CircuitBreaker.failure()
    return countsAgainst(offer, error.value.reason)
      ? CircuitBreaker.failure({ retryAfter: retryAfterOf(error.value.reason) })
      : CircuitBreaker.ignored
  }

/**
 * Tells the operator of a failure that the caller did not cause. The log holds no part of the
 * request.
 */
const reported = ({ credential, offer }: Candidate, reason: Reason): Effect.Effect<void> =>
  FailureLog.report({
    kind: `upstream\n${offer.provider} ${offer.publicId} ${credential.id} ${reason._tag}`,
    level: "Warn",
    message: `${reason._tag}: ${reason.message}`,
    annotations: { provider: offer.provider, model: offer.publicId, credential: credential.id }
  })

const withoutErrors = (cause: Cause.Cause<unknown>): Cause.Cause<never> =>
  Cause.fromReasons(cause.reasons.filter((reason) => reason._tag !== "Fail"))

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000

const timedOut = new UpstreamError({ reason: new Timeout() })

/** Makes the router over a circuit breaker. */
export const make = Effect.gen(function* () {
  const circuits = yield* CircuitBreaker.CircuitBreaker
  const clock = yield* Clock.Clock
  const observations = new Map<string, Observed>()
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e9

  const observe = (key: string, seconds: number, units: number) => {
    const old = observations.get(key)
    observations.set(key, {
      latency: blend(old?.latency, seconds),
      throughput: blend(old?.throughput, units / Math.max(seconds, 1e-6))
    })
  }

  const route = Effect.fnUntraced(function* <A, O extends Offer>({
    attemptTimeout,
    call,
    candidates,
    deadline,
    units
  }: Route<A, O>): Effect.fn.Return<Routed<A, O>, RoutingFailure> {
    const attempts: Array<Attempt> = []
    const end = now() + Duration.toSeconds(deadline)
    let failure: { readonly reason: Reason; readonly provider: string } | undefined
    let retryAfter: Duration.Duration | undefined

    for (const candidate of candidates) {
      const { offer } = candidate
      const { provider } = offer
      const key = keyOf(candidate)
      const startedAt = now()
      const left = end - startedAt
      if (left <= 0) return yield* new DeadlinePassed({ provider, attempts })
      const most = Duration.toSeconds(attemptTimeout)
      const attempt = call(candidate).pipe(
        Effect.timeoutOrElse({ duration: Duration.seconds(Math.min(most, left)), orElse: () => Effect.fail(timedOut) }),
        Effect.interruptible
      )
      const exit = yield* Effect.exit(circuits.execute(attempt, { key, classify: classify(offer) }))
      const seconds = now() - startedAt

      if (Exit.isSuccess(exit)) {
        observe(key, seconds, units)
        yield* Metrics.attempted(provider, "success", seconds)
        attempts.push({ provider, outcome: "Success", seconds: rounded(seconds) })
        return { answer: exit.value, candidate, attempts }
      }
      const found = Cause.findErrorOption(exit.cause)
      // A defect or an interruption passes through unchanged.
      if (found._tag === "None") return yield* Effect.failCause(withoutErrors(exit.cause))
      const error = found.value
      if (error._tag === "ProviderError") {
        yield* Metrics.attempted(provider, error.reason._tag, seconds)
        attempts.push({ provider, outcome: error.reason._tag, seconds: rounded(seconds) })
        failure = { reason: error.reason, provider }
        if (countsAgainst(offer, error.reason)) yield* reported(candidate, error.reason)
        if (error === timedOut && left <= most) return yield* new DeadlinePassed({ provider, attempts })
        if (!error.canFallBack) break
      } else {
        attempts.push({ provider, outcome: "CircuitOpen", seconds: 0 })
        const wait = error.reason._tag === "CircuitOpen" ? error.reason.retryAfter : Duration.seconds(1)
        retryAfter = retryAfter === undefined ? wait : Duration.min(retryAfter, wait)
      }
    }
    return failure === undefined
      ? yield* new NoneUp({ retryAfter: retryAfter ?? Duration.seconds(1), attempts })
      : yield* new AttemptsFailed({ ...failure, attempts })
  })

  return Router.of({ route, observed: (candidate) => observations.get(keyOf(candidate)) })
})

/** The router with circuits in memory, configured by {@link GatewayServerConfig}. */
export const layer: Layer.Layer<Router> = Layer.effect(Router, make).pipe(
  Layer.provide(
    Layer.unwrap(
      Effect.map(GatewayServerConfig, ({ circuits }) =>
        CircuitBreaker.layer({
          tripPolicy: CircuitBreaker.consecutive(circuits.failures),
          openDuration: circuits.openFor,
          maxOpenDuration: Duration.minutes(5)
        })
      )
    )
  ),
  Layer.provide(CircuitBreaker.layerStoreMemory())
)
