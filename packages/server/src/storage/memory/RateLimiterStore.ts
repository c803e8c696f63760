/**
 * Effect's store of rate limits in bounded memory, for the limits of this process.
 *
 * Effect's own memory store never forgets a key, so that a caller with many addresses could fill
 * the memory. It also measures by the system clock, which locks keys out when it is set back.
 */
import { Duration, Effect, Layer } from "effect"
import { layerStoreMemory, RateLimiterStore } from "effect/persistence/RateLimiter"
import * as LruMap from "../../internal/LruMap.ts"
import * as MonotonicTime from "../../internal/MonotonicTime.ts"

/** Size of the store. */
export interface Options {
  /**
   * Keys of each kind; the kind is the text before the first colon. The least recently used key of
   * the kind is evicted first. Default: 100,000.
   */
  readonly capacity?: number | undefined
}

interface Bucket {
  readonly tokens: number
  /** When the last whole token was regained, in monotonic milliseconds. */
  readonly refilledAt: number
}

/** Token buckets in bounded memory. The limiter's other algorithms are Effect's own. */
export const layer = (options?: Options): Layer.Layer<RateLimiterStore> =>
  Layer.effect(
    RateLimiterStore,
    Effect.map(RateLimiterStore, (unbounded) => {
      const capacity = options?.capacity ?? 100_000
      const kinds = new Map<string, LruMap.LruMap<string, Bucket>>()

      const bucketsOf = (key: string): LruMap.LruMap<string, Bucket> => {
        const [kind = ""] = key.split(":", 1)
        const known = kinds.get(kind) ?? LruMap.make<string, Bucket>(capacity)
        kinds.set(kind, known)
        return known
      }

      return RateLimiterStore.of({
        ...unbounded,
        tokenBucket: ({ allowOverflow, key, limit, refillRate, tokens }) =>
          Effect.map(MonotonicTime.millis, (now) => {
            const buckets = bucketsOf(key)
            const interval = Duration.toMillis(refillRate)
            const before = buckets.get(key) ?? { tokens: limit, refilledAt: now }
            const regained = Math.floor((now - before.refilledAt) / interval)
            const available = Math.min(limit, before.tokens + regained)
            const refilledAt = available >= limit ? now : before.refilledAt + regained * interval
            const left = available - tokens
            buckets.set(key, { tokens: left >= 0 || allowOverflow ? left : available, refilledAt })
            return [left, now - refilledAt] as const
          })
      })
    })
  ).pipe(Layer.provide(layerStoreMemory))
