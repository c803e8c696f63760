/**
 * Tries the candidates for a request in order until one answers, or fails in a way in which the
 * others would fail too (`ProviderError.canFallBack`).
 *
 * A candidate whose circuit is open is not called ({@link Circuits}). Each attempt has a time
 * limit, and so do all attempts together. If no candidate answers, the error lists the attempts.
 *
 * A call to an offer that takes a limited number at a time may have to wait ({@link OfferQueue}).
 * The wait is not part of any time limit. A call that cannot wait fails as if the offer were
 * overloaded, and its circuit does not learn of it.
 */
import * as Timer from "@model-gateway/core/unstable/Timer"
import type { Offer } from "@model-gateway/offers/Offer"
import { canFallBack, Overloaded, ProviderError, type Reason, Timeout } from "@model-gateway/offers/ProviderError"
import { Cause, Clock, Context, Data, Duration, Effect, Exit, Layer } from "effect"
import type * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { ProviderAttempt } from "../accounting/ProviderAttempt.ts"
import { ProviderKeyUse } from "../access/ProviderKeyUse.ts"
import { isProviderKey } from "../access/ProviderKeys.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as RequestContext from "../http/RequestContext.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Metrics from "../observability/Metrics.ts"
import * as Tracing from "../observability/Tracing.ts"
import { type Candidate, keyOf } from "./Candidate.ts"
import type { Observed } from "./Candidates.ts"
import * as Circuits from "./Circuits.ts"
import * as OfferHealth from "./OfferHealth.ts"
import * as OfferQueue from "./OfferQueue.ts"

/** Every candidate that was called failed. `reason` is the most useful one for the caller. */
export class AttemptsFailed extends Data.TaggedError("AttemptsFailed")<{
  readonly reason: Reason
  readonly provider: string
  /** Whether that attempt was made with a provider key. */
  readonly isByok: boolean
}> {}

/**
 * All circuits are open, so no candidate was called. `retryAfter` is when the first one may be
 * tried again.
 */
export class NoneUp extends Data.TaggedError("NoneUp")<{ readonly retryAfter: Duration.Duration }> {}

/** The time limit of all attempts together passed. */
export class DeadlinePassed extends Data.TaggedError("DeadlinePassed")<{ readonly provider: string }> {}

/** Why no candidate answered. */
export type RoutingFailure = AttemptsFailed | NoneUp | DeadlinePassed

/** An answer, and the candidate that gave it. */
export interface Answered<A, O extends Offer> {
  readonly answer: A
  readonly candidate: Candidate<O>
}

/** The result of the attempts. */
export interface Routed<A, O extends Offer> {
  /** The cause is an interruption if the caller disconnected. */
  readonly exit: Exit.Exit<Answered<A, O>, RoutingFailure>
  /** In the order in which they were made. If there is an answer, the last one gave it. */
  readonly attempts: ReadonlyArray<ProviderAttempt>
}

/** The attempts to make. */
export interface Route<A, O extends Offer> {
  /** The key that the request belongs to. Keys share the queues of offers. */
  readonly owner: string
  /** At least one, in the order to try. */
  readonly candidates: ReadonlyArray<Candidate<O>>
  readonly call: (candidate: Candidate<O>) => Effect.Effect<A, ProviderError>
  /** The time limit of an attempt at an offer that has none of its own. */
  readonly attemptTimeout: Duration.Duration
  readonly deadline: Duration.Duration
  /** Units of work in the request, for measuring throughput. */
  readonly units: number
}

/** What is known of a candidate. */
export interface Health {
  readonly circuit: CircuitBreaker.State["_tag"]
  /** The time until the next call, if the circuit is open. */
  readonly retryAfter: Duration.Duration | undefined
  /** Undefined: it was never called. */
  readonly known: OfferHealth.Known | undefined
}

/** The router. */
export class Router extends Context.Service<
  Router,
  {
    /**
     * Only the upstream calls and the wait for them can be interrupted, so that an answer is never
     * lost in an uninterruptible caller, and the attempts are known even if it disconnects.
     */
    readonly route: <A, O extends Offer>(route: Route<A, O>) => Effect.Effect<Routed<A, O>>
    /** The measurements of a candidate since the process started. */
    readonly observed: (candidate: Candidate) => Observed | undefined
    /** What this process knows of a candidate with the gateway's credential. */
    readonly health: (candidate: Candidate) => Effect.Effect<Health>
    /** When this process began to count calls, in epoch milliseconds. */
    readonly startedAt: number
  }
>()("@model-gateway/server/routing/Router") {}

/** The weight of a new measurement in the moving average. */
const weight = 0.2

const blend = (old: number | undefined, seen: number): number =>
  old === undefined ? seen : old + weight * (seen - old)

/**
 * Whether the provider bills a failed attempt. It does not bill what it rejected, nor what it never
 * received. After a lost or broken answer nobody knows. Of several calls it bills those it
 * answered.
 */
const billedOf = ({ isPartlyBilled, reason, status }: ProviderError): ProviderAttempt["billed"] =>
  isPartlyBilled === true ||
  reason._tag === "Timeout" ||
  reason._tag === "ConnectionLost" ||
  (reason._tag === "BadResponse" && (status === undefined || status < 400))
    ? "unknown"
    : "no"

/**
 * How much a reason helps the caller. A later request may succeed after a refusal, and perhaps
 * after a timeout. A smaller one may succeed after a 413, and another one after a refusal of what
 * only one provider lacks.
 */
const helpfulness = (reason: Reason): number => {
  switch (reason._tag) {
    case "InvalidRequest":
      return canFallBack(reason) ? 1 : 4
    case "Simulated":
      return 4
    case "RateLimited":
    case "Overloaded":
      return 3
    case "Timeout":
      return 2
    case "InputTooLarge":
      return 1
    case "UnknownModel":
    case "Unauthorized":
    case "OutOfCredit":
    case "Unavailable":
    case "ConnectionLost":
    case "BadResponse":
      return 0
  }
}

/** Whether `next` is as useful to the caller as `last`: of two refusals, the shorter wait is. */
const isAsHelpful = (next: Reason, last: Reason): boolean => {
  const wait = (reason: Reason) => Duration.toMillis(Circuits.retryAfterOf(reason) ?? Duration.seconds(1))
  const more = helpfulness(next) - helpfulness(last)
  return more > 0 || (more === 0 && wait(next) <= wait(last))
}

const withoutErrors = (cause: Cause.Cause<unknown>): Cause.Cause<never> =>
  Cause.fromReasons(cause.reasons.filter((reason) => reason._tag !== "Fail"))

/**
 * Tells the operator of a failure that the caller did not cause. The log contains no part of the
 * request.
 */
const reported = (candidate: Candidate, reason: Reason, requestId: string | undefined): Effect.Effect<void> => {
  const { credential, offer } = candidate
  return FailureLog.report({
    kind: `upstream\n${offer.provider} ${offer.publicId} ${credential.id} ${reason._tag}`,
    event: "upstream_failed",
    message: `${reason._tag}: ${reason.message}`,
    annotations: Circuits.annotationsOf(candidate, requestId)
  })
}

const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000

/** Ends a caller that was interrupted before an attempt, which is then not made. */
const unlessInterrupted = Effect.interruptible(Effect.void)

const timedOut = new ProviderError({ reason: new Timeout() })

const timeOut = () => Effect.fail(timedOut)

const secondsOf = ({ latency }: Observed): number => Math.max(1, Math.ceil(latency))

/** Makes the router over a store of circuits. */
export const make = Effect.gen(function* () {
  const queues = OfferQueue.make((yield* GatewayServerConfig).waitingCalls)
  const clock = yield* Clock.Clock
  const observations = new Map<string, Observed>()
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e9
  const health = OfferHealth.make(yield* ProviderKeyUse)
  const startedAt = clock.currentTimeMillisUnsafe()
  const circuits = yield* Circuits.make(health)

  const observe = (key: string, seconds: number, units: number) => {
    const old = observations.get(key)
    observations.set(key, {
      latency: blend(old?.latency, seconds),
      throughput: blend(old?.throughput, units / Math.max(seconds, 1e-6))
    })
  }

  /** The failure of a call that cannot wait for its offer: a place is free after a call or so. */
  const crowded = (key: string) => {
    const seen = observations.get(key)
    const retryAfter = Duration.seconds(seen === undefined ? 1 : secondsOf(seen))
    return new Overloaded({ retryAfter })
  }

  /** One attempt: its exit, or the time to wait if the circuit is open. */
  const attempt = <A>(candidate: Candidate, seconds: number, call: () => Effect.Effect<A, ProviderError>) => {
    const limit = Timer.within({ duration: Duration.seconds(seconds), orElse: timeOut })
    return circuits.call(
      candidate,
      // An adapter may begin its work in the call itself, so that must not come before the
      // admission.
      Effect.suspend(() => limit(call())).pipe(Effect.interruptible, Effect.exit)
    )
  }

  /** Adds each attempt to `attempts` when it ends: an interruption ends this too. */
  const tryCandidates = Effect.fnUntraced(function* <A, O extends Offer>(
    context: Context.Context<never>,
    { attemptTimeout, call, candidates, deadline, owner, units }: Route<A, O>,
    attempts: Array<ProviderAttempt>
  ): Effect.fn.Return<Answered<A, O>, RoutingFailure> {
    const requestId = RequestContext.of(context)?.id
    let end = now() + Duration.toSeconds(deadline)
    let failure: { readonly reason: Reason; readonly provider: string; readonly isByok: boolean } | undefined
    let retryAfter: Duration.Duration | undefined

    for (const candidate of candidates) {
      const { offer } = candidate
      const { provider } = offer
      const key = keyOf(candidate)
      const isByok = isProviderKey(candidate.credential)
      const left = end - now()
      if (left <= 0) return yield* new DeadlinePassed({ provider })
      const timeLimit = Duration.toSeconds(offer.timeLimit ?? attemptTimeout)
      const add = (made: ProviderAttempt) => attempts.push(isByok ? { ...made, is_byok: true } : made)
      const enteredAt = now()
      let startedAt = enteredAt
      const limited = attempt(candidate, Math.min(timeLimit, left), () =>
        Tracing.within(
          context,
          "attempt",
          {
            "gen_ai.operation.name": offer.kind,
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": offer.publicId
          },
          () => call(candidate)
        )
      )
      const turn = queues.enter(offer, owner, deadline)
      const exit = yield* turn === undefined
        ? Effect.andThen(unlessInterrupted, limited)
        : Effect.interruptible(turn.comes).pipe(
            Effect.flatMap((comes) => {
              startedAt = now()
              end += startedAt - enteredAt
              return comes ? limited : Effect.succeed(undefined)
            }),
            Effect.ensuring(turn.end)
          )
      if (exit === undefined) {
        const reason = crowded(key)
        yield* Metrics.skipped(offer, reason._tag)
        add({ provider, outcome: reason._tag, seconds: 0, billed: "no" })
        if (failure === undefined || isAsHelpful(reason, failure.reason)) failure = { reason, provider, isByok }
        continue
      }
      if (Duration.isDuration(exit)) {
        yield* Metrics.skipped(offer, "CircuitOpen")
        add({ provider, outcome: "CircuitOpen", seconds: 0, billed: "no" })
        retryAfter = retryAfter === undefined ? exit : Duration.min(retryAfter, exit)
        continue
      }
      const seconds = now() - startedAt
      if (Exit.isSuccess(exit)) {
        observe(key, seconds, units)
        const at = clock.currentTimeMillisUnsafe()
        health.ended(candidate, { at, outcome: "Success", status: undefined, requestId }, seconds, true)
        Metrics.attemptedUnsafe(context, offer, "Success", seconds)
        add({ provider, outcome: "Success", seconds: rounded(seconds), billed: "yes" })
        return { answer: exit.value, candidate }
      }
      const found = Cause.findErrorOption(exit.cause)
      if (found._tag === "None") {
        if (Cause.hasInterruptsOnly(exit.cause)) {
          Metrics.attemptedUnsafe(context, offer, "Interrupted", seconds)
          add({ provider, outcome: "Interrupted", seconds: rounded(seconds), billed: "unknown" })
        }
        // A defect or an interruption passes through unchanged.
        return yield* Effect.failCause(withoutErrors(exit.cause))
      }
      const error = found.value
      const { reason } = error
      Metrics.attemptedUnsafe(context, offer, reason._tag, seconds)
      add({
        provider,
        outcome: reason._tag,
        ...(error.status === undefined ? {} : { status: error.status }),
        seconds: rounded(seconds),
        billed: billedOf(error)
      })
      const isCounted = Circuits.countsAgainst(offer, reason)
      const at = clock.currentTimeMillisUnsafe()
      health.ended(candidate, { at, outcome: reason._tag, status: error.status, requestId }, seconds, isCounted)
      if (isCounted) yield* reported(candidate, reason, requestId)
      if (error === timedOut && left <= timeLimit) return yield* new DeadlinePassed({ provider })
      if (failure === undefined || isAsHelpful(reason, failure.reason)) {
        failure = { reason, provider, isByok }
      }
      if (!error.canFallBack) break
    }
    return failure === undefined
      ? yield* new NoneUp({ retryAfter: retryAfter ?? Duration.seconds(1) })
      : yield* new AttemptsFailed(failure)
  })

  const route = <A, O extends Offer>(options: Route<A, O>): Effect.Effect<Routed<A, O>> =>
    Effect.uninterruptible(
      Effect.withFiber(({ context }) => {
        const attempts: Array<ProviderAttempt> = []
        return Effect.map(Effect.exit(tryCandidates(context, options, attempts)), (exit) => ({ exit, attempts }))
      })
    )

  return Router.of({
    route,
    observed: (candidate) => observations.get(keyOf(candidate)),
    health: (candidate) =>
      Effect.map(circuits.state(candidate), (state) => ({
        circuit: state?._tag ?? "Closed",
        known: health.of(candidate),
        retryAfter: state?._tag === "Open" ? state.retryAfter : undefined
      })),
    startedAt
  })
})

/** The router over the circuits in the context, configured by {@link GatewayServerConfig}. */
export const layer: Layer.Layer<Router, never, CircuitBreaker.CircuitBreakerStore> = Layer.effect(Router, make)
