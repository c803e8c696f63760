/**
 * The circuits of candidates. After several consecutive failures a candidate's circuit opens, and
 * it is not called for a while. A failure that the request itself caused does not count.
 */
import type { Offer } from "@model-gateway/offers/Offer"
import type { ProviderError, Reason } from "@model-gateway/offers/ProviderError"
import { Cause, Clock, Duration, Effect, Exit } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as RequestContext from "../http/RequestContext.ts"
import * as LogEvent from "../log/LogEvent.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Metrics from "../observability/Metrics.ts"
import { type Candidate, keyOf } from "./Candidate.ts"
import type * as OfferHealth from "./OfferHealth.ts"

/** The longest time that an upstream can keep its circuit open with `Retry-After`. */
const maxOpenDuration = Duration.minutes(5)

/** The time to wait that the upstream sent. */
export const retryAfterOf = (reason: Reason): Duration.Duration | undefined =>
  "retryAfter" in reason ? reason.retryAfter : undefined

/** Whether a failure indicates a problem of the offer or of the credential. */
export const countsAgainst = (offer: Offer, reason: Reason): boolean => {
  switch (reason._tag) {
    case "Timeout":
      // If a model in this process is slow, the caller's request is the cause.
      return offer.isInProcess !== true
    case "InvalidRequest":
    case "InputTooLarge":
    case "Simulated":
      return false
    case "UnknownModel":
    case "Unauthorized":
    case "OutOfCredit":
    case "RateLimited":
    case "Overloaded":
    case "Unavailable":
    case "ConnectionLost":
    case "BadResponse":
      return true
  }
}

/** What a circuit learns from a call. */
interface Recorded {
  readonly outcome: "Success" | "Failure" | "Ignored"
  readonly retryAfter?: Duration.Duration | undefined
  /** What went wrong. Undefined: nothing, or a defect. */
  readonly cause?: Reason["_tag"] | undefined
}

const success: Recorded = { outcome: "Success" }
const ignored: Recorded = { outcome: "Ignored" }

const recordedOf = (offer: Offer, exit: Exit.Exit<unknown, ProviderError>): Recorded => {
  if (Exit.isSuccess(exit)) return success
  const found = Cause.findErrorOption(exit.cause)
  // A defect counts as a failure of the offer.
  if (found._tag === "None") return Cause.hasInterruptsOnly(exit.cause) ? ignored : { outcome: "Failure" }
  const { reason } = found.value
  return countsAgainst(offer, reason)
    ? { outcome: "Failure", retryAfter: retryAfterOf(reason), cause: reason._tag }
    : ignored
}

/** What logs say of a candidate. */
export const annotationsOf = ({ credential, offer }: Candidate, requestId: string | undefined) => ({
  provider: offer.provider,
  model: offer.publicId,
  credential: credential.id,
  ...(requestId === undefined ? {} : { request_id: requestId })
})

/** The circuits. */
export interface Circuits {
  /** Makes a call if the candidate's circuit is not open. Otherwise the time to wait. */
  readonly call: <A>(
    candidate: Candidate,
    call: Effect.Effect<Exit.Exit<A, ProviderError>>
  ) => Effect.Effect<Exit.Exit<A, ProviderError> | Duration.Duration>
  /** Undefined: it was never called, or the store has failed. */
  readonly state: (candidate: Candidate) => Effect.Effect<CircuitBreaker.State | undefined>
}

/** Makes them over the store in the context. `health` learns when a circuit opens and closes. */
export const make = Effect.fnUntraced(function* (health: Pick<OfferHealth.OfferHealth, "opened" | "closed">) {
  const circuits = yield* CircuitBreaker.CircuitBreakerStore
  const { failures, openFor } = (yield* GatewayServerConfig).circuits
  const tripPolicy = CircuitBreaker.consecutive(failures)

  /** Without the store of circuits, candidates are called and nothing is recorded. */
  const storeFailed = ({ message }: CircuitBreaker.CircuitBreakerError) =>
    FailureLog.report({
      kind: "circuits",
      event: "circuit_store_failed",
      message: `The store of circuits failed: ${message}`
    })

  /** Whether the circuit allows a call. If not, the time to wait. */
  const admit = (key: string) =>
    Effect.catch(circuits.admit(key), (error) => {
      switch (error.reason._tag) {
        case "CircuitOpen":
          return Effect.succeed(error.reason.retryAfter)
        case "CircuitHalfOpen":
          return Effect.succeed(Duration.seconds(1))
        case "CircuitBreakerStoreError":
          return Effect.as(storeFailed(error), undefined)
      }
    })

  /** Records the result of a call in the circuit. */
  const record = (
    candidate: Candidate,
    key: string,
    { generation }: CircuitBreaker.Admission,
    { cause, outcome, retryAfter }: Recorded
  ) =>
    Effect.matchEffect(
      circuits.record({
        key,
        generation,
        outcome,
        tripPolicy,
        openFor: retryAfter === undefined ? openFor : Duration.max(openFor, Duration.min(retryAfter, maxOpenDuration))
      }),
      {
        onSuccess: (transition) =>
          transition === undefined ? Effect.void : moved(candidate, transition, cause ?? "Defect"),
        onFailure: storeFailed
      }
    )

  /** Counts what a circuit did, and logs that it opened or closed. One that opens again had not. */
  const moved = Effect.fnUntraced(function* (
    candidate: Candidate,
    transition: CircuitBreaker.Transition,
    cause: string
  ) {
    const { offer } = candidate
    yield* Metrics.circuitChanged(offer, transition)
    if (transition.to === "HalfOpen") return
    const isOpen = transition.to === "Open"
    const isAgain = transition.from === "HalfOpen"
    if (isOpen) health.opened(candidate, yield* Clock.currentTimeMillis, isAgain)
    else health.closed(candidate)
    if (isOpen && isAgain) return
    const details = annotationsOf(candidate, (yield* RequestContext.current)?.id)
    yield* isOpen
      ? LogEvent.log(
          "circuit_opened",
          `${offer.provider} is not called for ${offer.publicId} for ${Duration.format(transition.retryAfter)}: ${cause}`,
          { ...details, cause }
        )
      : LogEvent.log("circuit_closed", `${offer.provider} is called for ${offer.publicId} again`, details)
  })

  const call = <A>(candidate: Candidate, call: Effect.Effect<Exit.Exit<A, ProviderError>>) => {
    const key = keyOf(candidate)
    return Effect.scoped(
      Effect.flatMap(admit(key), (admission): Effect.Effect<Exit.Exit<A, ProviderError> | Duration.Duration> => {
        if (admission === undefined) return call
        if (Duration.isDuration(admission)) return Effect.succeed(admission)
        const made = Effect.tap(call, (exit) => record(candidate, key, admission, recordedOf(candidate.offer, exit)))
        return admission.transition === undefined
          ? made
          : Effect.andThen(moved(candidate, admission.transition, "Probe"), made)
      })
    )
  }

  const result: Circuits = {
    call,
    state: (candidate) =>
      circuits.state(keyOf(candidate)).pipe(
        Effect.tap(({ _tag }) => Effect.sync(() => _tag === "Closed" && health.closed(candidate))),
        Effect.catch((error) => Effect.as(storeFailed(error), undefined))
      )
  }
  return result
})
