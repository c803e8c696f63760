/**
 * Keeps what was looked up for a few seconds, so that frequent requests do not read the database.
 *
 * Whatever changes an entry in this process evicts it, so the change takes effect at once. A change
 * that another process makes takes effect when the entry expires.
 */
import { Cache, Effect, Exit } from "effect"
import * as MonotonicTime from "./MonotonicTime.ts"

/** The entries by their key. */
export interface ShortCache<A, E> {
  /**
   * Looks the entry up if it is missing. A change of the system clock does not prolong its life.
   */
  readonly get: (key: string) => Effect.Effect<A, E>
  readonly evict: (key: string) => Effect.Effect<void>
  readonly evictAll: Effect.Effect<void>
}

/** How long a change by another process may go unnoticed here. */
const timeToLive = "3 seconds"

/** A cache of 10,000 entries. A failed lookup and a null are not kept. */
export const make = <A, E>(lookup: (key: string) => Effect.Effect<A, E>): Effect.Effect<ShortCache<A, E>> =>
  Effect.map(
    Cache.makeWith(lookup, {
      capacity: 10_000,
      timeToLive: (exit) => (Exit.isSuccess(exit) && exit.value !== null ? timeToLive : 0)
    }),
    (cache) => ({
      get: (key) => MonotonicTime.provide(Cache.get(cache, key)),
      evict: (key) => Cache.invalidate(cache, key),
      evictAll: Cache.invalidateAll(cache)
    })
  )
