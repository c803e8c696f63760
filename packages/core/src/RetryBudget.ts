/**
 * Limits the retries of all calls of a client together, so that retries do not make an outage
 * worse: while most calls fail, most of them are attempted only once.
 *
 * The budget is a token bucket. A retry takes one token. A successful call returns part of a token,
 * and tokens also refill slowly over time, so that an idle client can retry again. If the bucket is
 * empty, the call is not retried and fails with its last error.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/**
 * @category models
 * @since 0.1.0
 */
export interface RetryBudget {
  /** Takes a token for one retry. Returns false if none is left. */
  readonly take: Effect.Effect<boolean>
  /** Records a successful call. */
  readonly deposit: () => void
}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The size of the bucket: the number of retries before any refill. Default: 20. */
  readonly capacity?: number | undefined
  /** Tokens returned by each success. Default: 0.1, which is one retry for ten successes. */
  readonly perSuccess?: number | undefined
  /** Tokens refilled per second. Default: 0.5. */
  readonly perSecond?: number | undefined
}

/**
 * Makes a budget with a full bucket.
 *
 * @category constructors
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
      // Ten deposits of 0.1 sum to slightly under 1.
      if (tokens < 1 - 1e-9) return false
      tokens -= 1
      return true
    }),
    deposit: () => {
      if (tokens < capacity) tokens = Math.min(capacity, tokens + perSuccess)
    }
  }
}
