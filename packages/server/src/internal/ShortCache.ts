/**
 * Keeps what was looked up for a few seconds, so that frequent requests do not read the database.
 *
 * Whatever changes an entry in this process evicts it, so the change takes effect at once. A change
 * that another process makes takes effect when the entry expires.
 */
import { Cache, Clock, Effect } from "effect"
import * as LruMap from "./LruMap.ts"
import * as MonotonicTime from "./MonotonicTime.ts"

/** The entries by their key. */
export interface ShortCache<A, E> {
  /**
   * Returns the entry, as an effect that has ended, or looks it up. Call it when the entry is
   * needed: an effect that has ended does not expire. A change of the system clock does not prolong
   * an entry's life.
   */
  readonly get: (key: string) => Effect.Effect<A, E>
  readonly evict: (key: string) => Effect.Effect<void>
  /** Evicts the entries whose value is one of these. It looks at each entry. */
  readonly evictWhere: (isEvicted: (value: A) => boolean) => Effect.Effect<void>
  readonly evictAll: Effect.Effect<void>
}

interface Entry<A> {
  readonly value: A
  /** In monotonic milliseconds. */
  readonly expiresAt: number
}

/** How long a change by another process may go unnoticed here, in milliseconds. */
const timeToLive = 3000

const capacity = 10_000

/** A cache of 10,000 entries. A failed lookup and a null are not kept. */
export const make = Effect.fnUntraced(function* <A, E>(
  lookup: (key: string) => Effect.Effect<A, E>
): Effect.fn.Return<ShortCache<A, E>> {
  const clock = yield* Clock.Clock
  const now = () => MonotonicTime.millisOf(clock)
  const entries = LruMap.make<string, Entry<A>>(capacity)
  let evictions = 0
  // Shares a lookup that is under way, and keeps nothing when it has ended.
  const lookups = yield* Cache.makeWith(
    (key: string) =>
      Effect.suspend(() => {
        const before = evictions
        return Effect.map(lookup(key), (value) => {
          // What was read before an eviction may be out of date.
          if (value !== null && evictions === before) entries.set(key, { value, expiresAt: now() + timeToLive })
          return value
        })
      }),
    { capacity, timeToLive: () => 0 }
  )
  const result: ShortCache<A, E> = {
    get: (key) => {
      const entry = entries.get(key)
      return entry !== undefined && now() < entry.expiresAt ? Effect.succeed(entry.value) : Cache.get(lookups, key)
    },
    evict: (key) =>
      Effect.suspend(() => {
        evictions++
        entries.delete(key)
        return Cache.invalidate(lookups, key)
      }),
    evictWhere: (isEvicted) =>
      Effect.suspend(() => {
        evictions++
        entries.deleteWhere(({ value }) => isEvicted(value))
        // It is not known yet what they return.
        return Cache.invalidateAll(lookups)
      }),
    evictAll: Effect.suspend(() => {
      evictions++
      entries.clear()
      return Cache.invalidateAll(lookups)
    })
  }
  return result
})
