/**
 * What processes count together if they share a Redis: rate limits and circuits.
 *
 * While Redis is not available, each process counts by itself: rate limits from what Redis counted
 * last, circuits from zero.
 */
import { Layer } from "effect"
import { type CircuitBreakerStore, layerStoreMemory } from "effect/persistence/CircuitBreaker"
import type { RateLimiterStore } from "effect/persistence/RateLimiter"
import type { Readiness } from "../../observability/Readiness.ts"
import * as RedisCircuitBreakerStore from "./CircuitBreakerStore.ts"
import * as RedisRateLimiterStore from "./RateLimiterStore.ts"
import * as RedisConnection from "./RedisConnection.ts"

/** Counts in Redis, which becomes a part of the readiness. */
export const layer = (
  options: RedisConnection.Options
): Layer.Layer<CircuitBreakerStore | RateLimiterStore | RedisConnection.RedisConnection, never, Readiness> =>
  Layer.mergeAll(RedisRateLimiterStore.layer, RedisCircuitBreakerStore.layer, RedisConnection.layerReadiness).pipe(
    Layer.provide(layerStoreMemory()),
    Layer.provideMerge(RedisConnection.layer(options))
  )
