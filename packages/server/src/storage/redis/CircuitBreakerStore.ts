/**
 * Circuits that all processes share through Redis. Effect's scripts measure by the clock of Redis,
 * and a circuit expires an hour after its last use.
 *
 * While Redis does not answer, calls are admitted by the store of this process. Its generations are
 * negative here, so that the result of a call is recorded where the call was admitted.
 */
import { Effect, Layer, References } from "effect"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"
import type { Redis } from "effect/persistence/Redis"
import * as Metrics from "../../observability/Metrics.ts"
import { RedisConnection } from "./RedisConnection.ts"

const negated = (generation: number): number => -1 - generation

const missed = Metrics.redisMissed("circuit")

/** Runs `own` if the store in Redis failed. That a circuit is open is no failure. */
const orElse = <A, B, R>(
  shared: Effect.Effect<A, CircuitBreaker.CircuitBreakerError, R>,
  own: () => Effect.Effect<B, CircuitBreaker.CircuitBreakerError, R>
): Effect.Effect<A | B, CircuitBreaker.CircuitBreakerError, R> =>
  Effect.catch(shared, (error) =>
    error.reason._tag === "CircuitBreakerStoreError" ? Effect.flatMap(missed, own) : Effect.fail(error)
  )

/** Circuits in Redis. While it does not answer, they are those of the store in the context. */
export const layer: Layer.Layer<
  CircuitBreaker.CircuitBreakerStore,
  never,
  CircuitBreaker.CircuitBreakerStore | Redis | RedisConnection
> = Layer.unwrap(
  Effect.gen(function* () {
    const own = yield* CircuitBreaker.CircuitBreakerStore
    const { prefix } = yield* RedisConnection
    return Layer.effect(
      CircuitBreaker.CircuitBreakerStore,
      Effect.map(CircuitBreaker.CircuitBreakerStore, (shared) =>
        CircuitBreaker.CircuitBreakerStore.of({
          // While a probe runs, its lease is renewed. The connection reports why that fails.
          admit: (key) =>
            orElse(Effect.provideService(shared.admit(key), References.UnhandledLogLevel, undefined), () =>
              Effect.map(own.admit(key), (admission) => ({ ...admission, generation: negated(admission.generation) }))
            ),
          record: (options) =>
            options.generation < 0
              ? own.record({ ...options, generation: negated(options.generation) })
              : orElse(shared.record(options), () => Effect.undefined),
          state: (key) => orElse(shared.state(key), () => own.state(key))
        })
      )
    ).pipe(Layer.provide(CircuitBreaker.layerStoreRedis({ prefix: `${prefix}circuit:` })))
  })
)
