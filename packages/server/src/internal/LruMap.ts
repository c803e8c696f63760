/**
 * A bounded map that evicts the least recently used entry.
 *
 * Effect's `Cache` is not used here: its operations are effects, and a connection looks up its
 * statement, a request its key, and a limiter reads and writes a bucket, in one step in which no
 * fiber runs between.
 *
 * `docs/extend/bounds.md` has the capacity of each such map.
 *
 * It relies on `Map` keeping insertion order: using an entry moves it to the end, so the first
 * entry is the one to evict. The newest entry is not moved: when the only entry of a `Map` is
 * deleted, V8 allocates a smaller table.
 */

/** A bounded map. Every operation but `deleteWhere` takes constant time. */
export interface LruMap<K, V> {
  /** Returns the value and marks it as used. */
  readonly get: (key: K) => V | undefined
  readonly set: (key: K, value: V) => void
  readonly delete: (key: K) => void
  /** Deletes the entries whose value is one of these. It looks at each entry. */
  readonly deleteWhere: (isDeleted: (value: V) => boolean) => void
  readonly clear: () => void
}

/** Makes an empty {@link LruMap} with at most `capacity` entries. */
export const make = <K, V>(capacity: number): LruMap<K, V> => {
  const entries = new Map<K, V>()
  /** The key of the last entry, unless it was deleted. */
  let newest: K | undefined
  const put = (key: K, value: V) => {
    if (key !== newest) {
      entries.delete(key)
      if (entries.size >= capacity) {
        for (const oldest of entries.keys()) {
          entries.delete(oldest)
          break
        }
      }
      newest = key
    }
    entries.set(key, value)
  }
  return {
    get: (key) => {
      const value = entries.get(key)
      if (value !== undefined && key !== newest) put(key, value)
      return value
    },
    set: put,
    delete: (key) => {
      entries.delete(key)
      if (key === newest) newest = undefined
    },
    deleteWhere: (isDeleted) => {
      newest = undefined
      for (const [key, value] of entries) if (isDeleted(value)) entries.delete(key)
    },
    clear: () => {
      newest = undefined
      entries.clear()
    }
  }
}
