/**
 * Keeps what was looked up for a few seconds, so that frequent requests do not read the database.
 *
 * Whatever changes an entry in this process evicts it, so the change takes effect at once. A change
 * that another process makes takes effect when the entry expires.
 */
import { Cache, Clock, Duration, Effect, Exit } from "effect"
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

interface Entry<A> {
  readonly value: A
  /** In monotonic milliseconds. */
  readonly expiresAt: number
}

/** How long a change by another process may go unnoticed here, in milliseconds. */
const timeToLive = 3000

/** A cache of 10,000 entries. A failed lookup and a null are not kept. */
export const make = Effect.fnUntraced(function* <A, E>(
  lookup: (key: string) => Effect.Effect<A, E>
): Effect.fn.Return<ShortCache<A, E>> {
  const clock = yield* Clock.Clock
  const now = () => MonotonicTime.millisOf(clock)
  const cache = yield* Cache.makeWith(
    (key: string) => Effect.map(lookup(key), (value): Entry<A> => ({ value, expiresAt: now() + timeToLive })),
    {
      capacity: 10_000,
      timeToLive: (exit) => (Exit.isSuccess(exit) && exit.value.value !== null ? Duration.infinity : 0)
    }
  )
  const get = (key: string): Effect.Effect<A, E> =>
    Effect.flatMap(Cache.get(cache, key), ({ expiresAt, value }) =>
      now() < expiresAt ? Effect.succeed(value) : Effect.andThen(Cache.invalidate(cache, key), get(key))
    )
  const result: ShortCache<A, E> = {
    get,
    evict: (key) => Cache.invalidate(cache, key),
    evictAll: Cache.invalidateAll(cache)
  }
  return result
})
