/**
 * Bounds the retries of all calls of a client together, so that an outage is not
 * answered with a storm: when most calls fail, most of them are tried once.
 *
 * A bucket of tokens. A retry takes one; a call that succeeds gives a part of one
 * back, and time gives back a little, so that a quiet client is not left without
 * retries for ever. An empty bucket means no retry: the call fails with the error
 * it has.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * @since 0.1.0
 */
export interface RetryBudget {
  /** Takes a token for a retry; false where there is none. */
  readonly take: Effect.Effect<boolean>
  /** Tells of a call that succeeded. */
  readonly deposit: () => void
}

/**
 * @since 0.1.0
 */
export interface Options {
  /** Retries that may be made at once, from a full bucket. Default 20. */
  readonly capacity?: number | undefined
  /** Tokens that a success gives back. Default 0.1: in the long run one retry for ten successes. */
  readonly perSuccess?: number | undefined
  /** Tokens that a second gives back. Default 0.5. */
  readonly perSecond?: number | undefined
}

/**
 * A full bucket.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): RetryBudget => {
  const capacity = options.capacity ?? 20
  const perSuccess = options.perSuccess ?? 0.1
  const perSecond = options.perSecond ?? 0.5
  let tokens = capacity
  let refilledAt: bigint | undefined
  return {
    take: Effect.map(Clock.currentTimeNanos, (now) => {
      if (refilledAt !== undefined && now > refilledAt) {
        tokens = Math.min(capacity, tokens + (Number(now - refilledAt) / 1e9) * perSecond)
      }
      refilledAt = now
      // Ten tenths make a whole one, though floats say a little less.
      if (tokens < 1 - 1e-9) return false
      tokens -= 1
      return true
    }),
    deposit: () => {
      if (tokens < capacity) tokens = Math.min(capacity, tokens + perSuccess)
    }
  }
}
