/**
 * Limits the request rate of a key, and delays responses to an address that keeps failing to
 * authenticate.
 *
 * The algorithm is GCRA, a token bucket in one number: the time until the bucket is full again. A
 * key may use its whole quota at once and regains it evenly, one request every `window / requests`.
 * There are no window borders. The number is kept in a {@link RateLimitStore}, so several processes
 * can share a limit.
 */
import { Context, Data, Duration, Effect, Layer } from "effect"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { type RateLimitScope, RateLimitStore } from "./RateLimitStore.ts"

/** At most `requests` at once, refilled evenly over `window`. */
export interface RatePolicy {
  readonly requests: number
  readonly window: Duration.Input
}

/**
 * The caller's current rate limit. `limit` and `windowSeconds` are the policy's. `resetSeconds` is
 * the time until the whole quota is available, rounded up.
 */
export interface RateStatus {
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  readonly resetSeconds: number
}

/** Too many requests (status 429). `retryAfter` is in whole seconds, at least 1. */
export class RateLimited extends Data.TaggedError("RateLimited")<{
  readonly status: RateStatus
  readonly retryAfter: number
  readonly message: string
}> {}

/** The rate limiter. */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Counts a request of the key and returns its rate limit status. */
    readonly request: (keyHash: string) => Effect.Effect<RateStatus, RateLimited | StorageError>
    /**
     * Counts a failed authentication of the address and returns by how many milliseconds to delay
     * the response: 0 for the first, more for each recent failure, at most {@link maxDelay}.
     */
    readonly authenticationFailed: (address: string) => Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/admission/RateLimits") {}

/** The longest delay after a failed authentication, in milliseconds. */
export const maxDelay = 2000

/** The two policies. */
export interface Options {
  /** Requests of one key. Default: 600 per minute. */
  readonly requests?: RatePolicy | undefined
  /**
   * Failed authentications of one address after which further ones are delayed by {@link maxDelay}.
   * Default: 30 per minute.
   */
  readonly failedAuthentications?: RatePolicy | undefined
}

interface Policy {
  readonly limit: number
  readonly window: number
  /** Milliseconds in which one request is regained. */
  readonly interval: number
}

const policyOf = (policy: RatePolicy): Policy => {
  const limit = Math.max(1, Math.floor(policy.requests))
  const window = Math.max(1, Duration.toMillis(Duration.fromInputUnsafe(policy.window)))
  return { limit, window, interval: window / limit }
}

/** Tolerance in milliseconds for sums of fractions. */
const noise = 1e-3

const seconds = (millis: number): number => Math.ceil((millis - noise) / 1000)

const statusOf = (policy: Policy, fullIn: number): RateStatus => ({
  limit: policy.limit,
  windowSeconds: seconds(policy.window),
  remaining: Math.min(policy.limit, Math.max(0, Math.floor((policy.window - fullIn + noise) / policy.interval))),
  resetSeconds: Math.max(0, seconds(fullIn))
})

/** Makes the limiter over the store in the context. */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const store = yield* RateLimitStore
  const requests = policyOf(options?.requests ?? { requests: 600, window: "1 minute" })
  const failures = policyOf(options?.failedAuthentications ?? { requests: 30, window: "1 minute" })

  const take = (scope: RateLimitScope, { interval, window }: Policy, key: string) =>
    store.take({ scope, key, interval, window: window + noise })

  return RateLimits.of({
    request: Effect.fnUntraced(function* (keyHash: string) {
      const { fullIn, taken } = yield* take("request", requests, keyHash)
      const status = statusOf(requests, fullIn)
      if (taken) return status
      const retryAfter = Math.max(1, seconds(fullIn + requests.interval - requests.window))
      return yield* new RateLimited({
        status,
        retryAfter,
        message: `rate limit exceeded: try again in ${retryAfter} s`
      })
    }),
    authenticationFailed: (address) =>
      Effect.map(take("authentication", failures, address), ({ fullIn, taken }) =>
        // The failure just counted adds nothing: the first response is not delayed.
        taken ? (maxDelay * (fullIn - failures.interval)) / failures.window : maxDelay
      )
  })
})

/** The limiter with these policies, over the store in the context. */
export const layer = (options?: Options): Layer.Layer<RateLimits, never, RateLimitStore> =>
  Layer.effect(RateLimits, make(options))
