/**
 * How often a key may ask, and how often an address may fail to authenticate.
 *
 * The algorithm is GCRA, a token bucket in one number: the instant at which the bucket will be full again. A key may use its whole quota at once and gets it back evenly, one
 * request every `window / requests`; nothing happens at window borders. The number lives in a {@link RateLimitStore}, so the limit can be shared by several processes.
 */
import { Clock, Context, Data, Duration, Effect, Layer } from "effect"
import { RateLimitStore, type RateLimitUnavailable } from "./RateLimitStore.ts"

export { RateLimitUnavailable } from "./RateLimitStore.ts"

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

/** The two policies. */
export interface Options {
  /** Requests of one key. Default 600 a minute. */
  readonly requests?: RatePolicy | undefined
  /** Failed authentications of one address. Default 30 a minute. */
  readonly failedAuthentications?: RatePolicy | undefined
}

interface Policy {
  readonly limit: number
  readonly window: number
  /** Milliseconds in which one request comes back. */
  readonly interval: number
}

const policyOf = (policy: RatePolicy): Policy => {
  const limit = Math.max(1, Math.floor(policy.requests))
  const window = Math.max(1, Duration.toMillis(Duration.fromInputUnsafe(policy.window)))
  return { limit, window, interval: window / limit }
}

/** Milliseconds by which sums of fractions of milliseconds may be off. */
const noise = 1e-3

const seconds = (millis: number): number => Math.ceil((millis - noise) / 1000)

const statusOf = (policy: Policy, fullAt: number, now: number): RateStatus => {
  const used = Math.max(0, fullAt - now)
  return {
    limit: policy.limit,
    windowSeconds: seconds(policy.window),
    remaining: Math.min(policy.limit, Math.max(0, Math.floor((policy.window - used + noise) / policy.interval))),
    resetSeconds: Math.max(0, seconds(used))
  }
}

/** Makes the limiter over the store of the context. */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const store = yield* RateLimitStore
  const requests = policyOf(options?.requests ?? { requests: 600, window: "1 minute" })
  const failures = policyOf(options?.failedAuthentications ?? { requests: 30, window: "1 minute" })

  return RateLimits.of({
    request: Effect.fnUntraced(function* (keyHash: string) {
      const now = yield* Clock.currentTimeMillis
      const { interval, window } = requests
      const { fullAt, taken } = yield* store.take({
        scope: "request",
        key: keyHash,
        interval,
        window: window + noise,
        now
      })
      const status = statusOf(requests, fullAt, now)
      if (taken) return status
      const retryAfter = Math.max(1, seconds(fullAt + interval - window - now))
      return yield* new RateLimited({
        status,
        retryAfter,
        message: `rate limit exceeded: try again in ${retryAfter} s`
      })
    }),
    isBlocked: Effect.fnUntraced(function* (address: string) {
      const now = yield* Clock.currentTimeMillis
      return statusOf(failures, yield* store.read("authentication", address), now).remaining === 0
    }),
    authenticationFailed: Effect.fnUntraced(function* (address: string) {
      const now = yield* Clock.currentTimeMillis
      const { interval, window } = failures
      yield* store.take({ scope: "authentication", key: address, interval, window: window + noise, now })
    })
  })
})

/** The limiter with these policies, over the store of the context. */
export const layer = (options?: Options): Layer.Layer<RateLimits, never, RateLimitStore> =>
  Layer.effect(RateLimits, make(options))
