/**
 * How often a key may ask, and how often an address may fail to authenticate.
 */
import { Context, Data, type Duration, type Effect } from "effect"

/** At most `requests` at once, refilled evenly over `window`. */
export interface RatePolicy {
  readonly requests: number
  readonly window: Duration.Input
}

/** Where a caller stands. `limit` and `windowSeconds` are the policy's; `resetSeconds` is the time until all of it is there again, rounded up. */
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

/** The store of limits does not answer (status 503 or 500). */
export class RateLimitUnavailable extends Data.TaggedError("RateLimitUnavailable")<{
  readonly message: string
  readonly cause?: unknown
}> {}

/** The rate limiter. */
export class RateLimits extends Context.Service<
  RateLimits,
  {
    /** Counts a request of the key and tells where it stands. */
    readonly request: (keyHash: string) => Effect.Effect<RateStatus, RateLimited | RateLimitUnavailable>
    /** Whether this address has failed so often that it is answered without a lookup. Counts nothing. */
    readonly isBlocked: (address: string) => Effect.Effect<boolean, RateLimitUnavailable>
    /** Counts a failed authentication of the address. */
    readonly authenticationFailed: (address: string) => Effect.Effect<void, RateLimitUnavailable>
  }
>()("@model-gateway/server/rates/RateLimits") {}
