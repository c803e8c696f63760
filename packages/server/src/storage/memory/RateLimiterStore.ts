/**
 * Effect's store of rate limits in bounded memory, for the limits of this process.
 *
 * Effect's own memory store never forgets a key, so that a caller with many addresses could fill
 * the memory. It also measures by the system clock, which locks keys out when it is set back.
 */
import { Duration, Effect, Layer } from "effect"
import { layerStoreMemory, RateLimiterStore } from "effect/persistence/RateLimiter"
import * as MonotonicTime from "../../internal/MonotonicTime.ts"
import * as TokenBuckets from "./TokenBuckets.ts"

/** Token buckets in bounded memory. The limiter's other algorithms are Effect's own. */
export const layer = (options?: TokenBuckets.Options): Layer.Layer<RateLimiterStore> =>
  Layer.effect(
    RateLimiterStore,
    Effect.map(RateLimiterStore, (unbounded) => {
      const buckets = TokenBuckets.make(options)
      return RateLimiterStore.of({
        ...unbounded,
        tokenBucket: ({ allowOverflow, key, limit, refillRate, tokens }) =>
          Effect.clockWith((clock) => {
            const bucket = { key, limit, interval: Duration.toMillis(refillRate) }
            return Effect.succeed(buckets.take(bucket, tokens, allowOverflow, MonotonicTime.millisOf(clock)))
          })
      })
    })
  ).pipe(Layer.provide(layerStoreMemory))
