/**
 * Token buckets in bounded memory. Times are monotonic milliseconds: a change of the system clock
 * neither refills a bucket nor locks it.
 */
import * as LruMap from "../../internal/LruMap.ts"

/** Size of the store. */
export interface Options {
  /**
   * Keys of each kind; the kind is the text before the first colon. The least recently used key of
   * the kind is evicted first. Default: 100,000.
   */
  readonly capacity?: number | undefined
}

/** A bucket that regains one token every `interval` milliseconds, up to `limit`. */
export interface Rule {
  readonly key: string
  readonly limit: number
  readonly interval: number
}

/** The tokens that are left, and the milliseconds since the last one was regained. */
export type State = readonly [left: number, elapsedMillis: number]

/** Buckets by key. A key without a bucket has a full one. */
export interface TokenBuckets {
  /**
   * Takes tokens and returns what is left. Below 0, nothing was taken, except with `allowOverflow`.
   */
  readonly take: (rule: Rule, tokens: number, allowOverflow: boolean, now: number) => State
  /** Puts tokens back. */
  readonly giveBack: (rule: Rule, tokens: number) => void
  /**
   * Lowers the bucket to a state that was counted elsewhere, not before `now`, if that is lower.
   */
  readonly lower: (rule: Rule, state: State, now: number) => void
}

interface Bucket {
  readonly tokens: number
  /** When the last whole token was regained. */
  readonly refilledAt: number
}

/**
 * When the bucket was empty, or will have been, if nothing else is taken. The later, the lower it
 * is.
 */
const emptyAt = ({ refilledAt, tokens }: Bucket, interval: number): number => refilledAt - tokens * interval

/** Makes buckets. */
export const make = (options?: Options): TokenBuckets => {
  const capacity = options?.capacity ?? 100_000
  const kinds = new Map<string, LruMap.LruMap<string, Bucket>>()

  const bucketsOf = (key: string): LruMap.LruMap<string, Bucket> => {
    const colon = key.indexOf(":")
    const kind = colon < 0 ? key : key.slice(0, colon)
    const known = kinds.get(kind)
    if (known !== undefined) return known
    kinds.set(kind, LruMap.make<string, Bucket>(capacity))
    return bucketsOf(key)
  }

  return {
    take: ({ interval, key, limit }, tokens, allowOverflow, now) => {
      const buckets = bucketsOf(key)
      const before = buckets.get(key) ?? { tokens: limit, refilledAt: now }
      const regained = Math.floor((now - before.refilledAt) / interval)
      const available = Math.min(limit, before.tokens + regained)
      const refilledAt = available >= limit ? now : before.refilledAt + regained * interval
      const left = available - tokens
      buckets.set(key, { tokens: left >= 0 || allowOverflow ? left : available, refilledAt })
      return [left, now - refilledAt]
    },
    giveBack: ({ key, limit }, tokens) => {
      const buckets = bucketsOf(key)
      const before = buckets.get(key)
      if (before !== undefined) buckets.set(key, { ...before, tokens: Math.min(limit, before.tokens + tokens) })
    },
    lower: ({ interval, key, limit }, [left, elapsed], now) => {
      const buckets = bucketsOf(key)
      const own = buckets.get(key) ?? { tokens: limit, refilledAt: now }
      const other = { tokens: left, refilledAt: now - elapsed }
      if (emptyAt(other, interval) > emptyAt(own, interval)) buckets.set(key, other)
    }
  }
}
