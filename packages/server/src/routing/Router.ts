/**
 * Tries the endpoints of a model one after the other until one answers.
 *
 * After several failures in a row, the circuit of an endpoint opens: it is not asked for a while. A
 * failure that the request itself caused does not count. Every attempt has a time limit, and so do
 * all attempts together. When no endpoint answers, the caller is told what was tried.
 */
import type { ProviderError, Reason } from "@model-gateway/providers/ProviderError"
import { ProviderError as UpstreamError, Timeout } from "@model-gateway/providers/ProviderError"
import type { Model } from "@model-gateway/providers/Model"
import { Cause, Clock, Context, Data, Duration, Effect, Exit, Layer } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Metrics from "../http/Metrics.ts"
import type { Endpoint } from "../models/ModelCatalogue.ts"
import type { Observed } from "./Candidates.ts"

/** One try at one provider. */
export interface Attempt {
  readonly provider: string
  /** The reason's tag, or `CircuitOpen` when the provider was not asked. */
  readonly outcome: Reason["_tag"] | "CircuitOpen"
  readonly seconds: number
}

/** An answer, from whom, and after which failures. */
export interface Routed<A, M extends Model> {
  readonly answer: A
  readonly endpoint: Endpoint<M>
  readonly failed: ReadonlyArray<Attempt>
}

/** Every endpoint that was asked failed; `reason` is the last one's. */
export class AttemptsFailed extends Data.TaggedError("AttemptsFailed")<{
  readonly reason: Reason
  readonly provider: string
  readonly attempts: ReadonlyArray<Attempt>
}> {}

/** All circuits are open: nobody was asked. `retryAfter` is when the first of them may be tried again. */
export class NoneUp extends Data.TaggedError("NoneUp")<{
  readonly retryAfter: Duration.Duration
  readonly attempts: ReadonlyArray<Attempt>
}> {}

/** The time for all of it together ran out. */
export class DeadlinePassed extends Data.TaggedError("DeadlinePassed")<{
  readonly provider: string
  readonly attempts: ReadonlyArray<Attempt>
}> {}

/** Why nobody answered. */
export type RoutingFailure = AttemptsFailed | NoneUp | DeadlinePassed

/** What to try. */
export interface Route<A, M extends Model> {
  /** At least one; the first one first. */
  readonly candidates: ReadonlyArray<Endpoint<M>>
  readonly call: (endpoint: Endpoint<M>) => Effect.Effect<A, ProviderError>
  readonly attemptTimeout: Duration.Duration
  readonly deadline: Duration.Duration
  /** Units of work in the request, for the throughput that is observed. */
  readonly units: number
}

/** The router. */
export class Router extends Context.Service<
  Router,
  {
    /** Only the upstream calls themselves can be interrupted where the caller is not: an answer that came is never lost. */
    readonly route: <A, M extends Model>(route: Route<A, M>) => Effect.Effect<Routed<A, M>, RoutingFailure>
    /** What has been seen of an endpoint since the process began. */
    readonly observed: (endpoint: Endpoint) => Observed | undefined
  }
>()("@model-gateway/server/routing/Router") {}

/** How much a new observation counts against the old ones. */
const weight = 0.2

const blend = (old: number | undefined, seen: number): number =>
  old === undefined ? seen : old + weight * (seen - old)

/** Whether a failure says something about the endpoint's health. */
const countsAgainst = (endpoint: Endpoint, reason: Reason): boolean => {
  switch (reason._tag) {
    case "Timeout":
      // A model in this process takes long for one reason only: what the caller asked of it.
      return endpoint.provider.inProcess !== true
    case "InvalidRequest":
    case "UnknownModel":
    case "Simulated":
      return false
    case "Unauthorized":
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
  (endpoint: Endpoint) =>
  (exit: Exit.Exit<unknown, ProviderError>): CircuitBreaker.Outcome => {
    if (Exit.isSuccess(exit)) return CircuitBreaker.success
    const error = Cause.findErrorOption(exit.cause)
    if (error._tag === "None")
      return Cause.hasInterruptsOnly(exit.cause) ? CircuitBreaker.ignored : CircuitBreaker.failure()
    return countsAgainst(endpoint, error.value.reason)
      ? CircuitBreaker.failure({ retryAfter: retryAfterOf(error.value.reason) })
      : CircuitBreaker.ignored
  }

const withoutErrors = (cause: Cause.Cause<unknown>): Cause.Cause<never> =>
  Cause.fromReasons(cause.reasons.filter((reason) => reason._tag !== "Fail"))

const timedOut = new UpstreamError({ reason: new Timeout() })

/** Makes the router over a circuit breaker. */
export const make = Effect.gen(function* () {
  const circuits = yield* CircuitBreaker.CircuitBreaker
  const clock = yield* Clock.Clock
  const observations = new Map<string, Observed>()
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1e9

  const observe = (endpoint: Endpoint, seconds: number, units: number) => {
    const old = observations.get(endpoint.key)
    observations.set(endpoint.key, {
      latency: blend(old?.latency, seconds),
      throughput: blend(old?.throughput, units / Math.max(seconds, 1e-6))
    })
  }

  const route = Effect.fnUntraced(function* <A, M extends Model>({
    attemptTimeout,
    call,
    candidates,
    deadline,
    units
  }: Route<A, M>): Effect.fn.Return<Routed<A, M>, RoutingFailure> {
    const attempts: Array<Attempt> = []
    const end = now() + Duration.toSeconds(deadline)
    let failure: { readonly reason: Reason; readonly provider: string } | undefined
    let retryAfter: Duration.Duration | undefined

    for (const endpoint of candidates) {
      const provider = endpoint.provider.name
      const startedAt = now()
      const left = end - startedAt
      if (left <= 0) return yield* new DeadlinePassed({ provider, attempts })
      const most = Duration.toSeconds(attemptTimeout)
      const attempt = call(endpoint).pipe(
        Effect.timeoutOrElse({ duration: Duration.seconds(Math.min(most, left)), orElse: () => Effect.fail(timedOut) }),
        Effect.interruptible
      )
      const exit = yield* Effect.exit(circuits.execute(attempt, { key: endpoint.key, classify: classify(endpoint) }))
      const seconds = now() - startedAt

      if (Exit.isSuccess(exit)) {
        observe(endpoint, seconds, units)
        yield* Metrics.attempted(provider, "success", seconds)
        return { answer: exit.value, endpoint, failed: attempts }
      }
      const found = Cause.findErrorOption(exit.cause)
      // No error, so a defect or an interruption: neither is the router's to judge.
      if (found._tag === "None") return yield* Effect.failCause(withoutErrors(exit.cause))
      const error = found.value
      if (error._tag === "ProviderError") {
        yield* Metrics.attempted(provider, error.reason._tag, seconds)
        attempts.push({ provider, outcome: error.reason._tag, seconds: Math.round(seconds * 1000) / 1000 })
        failure = { reason: error.reason, provider }
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

  return Router.of({ route, observed: (endpoint) => observations.get(endpoint.key) })
})

/** The router with circuits kept in memory, as {@link GatewayServerConfig} sets them. */
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
