/**
 * Where rate limits keep their one number a key: the instant, in epoch milliseconds, at which all of the quota is there again.
 */
import { Context, Data, Effect, Layer } from "effect"
import * as LruMap from "../storage/LruMap.ts"

/** What is limited; keys of different scopes have nothing to do with each other and cannot push each other out of a bounded store. */
export type RateLimitScope = "request" | "authentication"

/** One request to count. Times in milliseconds, with fractions. */
export interface Take {
  readonly scope: RateLimitScope
  readonly key: string
  /** What one request costs: the time in which it comes back. */
  readonly interval: number
  /** The whole quota as time. */
  readonly window: number
  readonly now: number
}

/** Whether the request was counted, and when all of the quota is there again. */
export interface Taken {
  readonly taken: boolean
  readonly fullAt: number
}

/** The store of limits does not answer (status 503 where the operation has it, else 500). */
export class RateLimitUnavailable extends Data.TaggedError("RateLimitUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** The store. */
export class RateLimitStore extends Context.Service<
  RateLimitStore,
  {
    /**
     * In one atomic step: `next = max(fullAt, now) + interval`; when `next - now` is within the window, `fullAt` becomes `next` and the request is counted; else nothing
     * changes.
     */
    readonly take: (take: Take) => Effect.Effect<Taken, RateLimitUnavailable>
    /** The instant kept for the key; 0 when there is none. */
    readonly read: (scope: RateLimitScope, key: string) => Effect.Effect<number, RateLimitUnavailable>
  }
>()("@model-gateway/server/rates/RateLimitStore") {}

/** How much the memory store holds. */
export interface MemoryOptions {
  /** Keys of each scope; the one used longest ago is forgotten first. Default 100,000. */
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
    take: ({ interval, key, now, scope, window }) =>
      Effect.sync(() => {
        const fullAt = Math.max(scopes[scope].get(key) ?? 0, now)
        const next = fullAt + interval
        if (next - now > window) return { taken: false, fullAt }
        scopes[scope].set(key, next)
        return { taken: true, fullAt: next }
      }),
    read: (scope, key) => Effect.sync(() => scopes[scope].get(key) ?? 0)
  })
}

/** Limits of this process alone. */
export const layerMemory = (options?: MemoryOptions): Layer.Layer<RateLimitStore> =>
  Layer.sync(RateLimitStore, () => makeMemory(options))
