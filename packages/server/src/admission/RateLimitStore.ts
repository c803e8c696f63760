/**
 * Stores one number per key for rate limits: the time until its whole quota is available again.
 *
 * The store measures time itself, so that callers and store cannot disagree. The memory store uses
 * monotonic time: setting the system clock back locks nobody out. A shared store uses its server's
 * clock.
 */
import { Context, Effect, Layer } from "effect"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as LruMap from "../internal/LruMap.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"

/**
 * What is limited. Keys of different scopes are independent and cannot evict each other from a
 * bounded store.
 */
export type RateLimitScope = "request" | "authentication"

/** One request to count. Times are milliseconds, with fractions. */
export interface Take {
  readonly scope: RateLimitScope
  readonly key: string
  /** The cost of one request, as the time in which it is regained. */
  readonly interval: number
  /** The whole quota as time. */
  readonly window: number
}

/**
 * Whether the request was counted, and the time in milliseconds until all of the quota is available
 * again.
 */
export interface Taken {
  readonly taken: boolean
  readonly fullIn: number
}

/** The store. */
export class RateLimitStore extends Context.Service<
  RateLimitStore,
  {
    /**
     * In one atomic step: `next = max(fullAt, now) + interval`. When `next - now` is within the
     * window, `fullAt` becomes `next` and the request is counted. Otherwise nothing changes.
     */
    readonly take: (take: Take) => Effect.Effect<Taken, StorageError>
  }
>()("@model-gateway/server/admission/RateLimitStore") {}

/** Size of the memory store. */
export interface MemoryOptions {
  /** Keys per scope. The least recently used key is evicted first. Default: 100,000. */
  readonly capacity?: number | undefined
}

/** Makes an empty store in memory. */
export const makeMemory = (options?: MemoryOptions): RateLimitStore["Service"] => {
  const capacity = options?.capacity ?? 100_000
  const scopes: Record<RateLimitScope, LruMap.LruMap<string, number>> = {
    request: LruMap.make(capacity),
    authentication: LruMap.make(capacity)
  }
  return RateLimitStore.of({
    take: ({ interval, key, scope, window }) =>
      Effect.map(MonotonicTime.millis, (now) => {
        const fullIn = Math.max(0, (scopes[scope].get(key) ?? 0) - now)
        const next = fullIn + interval
        if (next > window) return { taken: false, fullIn }
        scopes[scope].set(key, now + next)
        return { taken: true, fullIn: next }
      })
  })
}

/** A store for the limits of this process only. */
export const layerMemory = (options?: MemoryOptions): Layer.Layer<RateLimitStore> =>
  Layer.sync(RateLimitStore, () => makeMemory(options))
