/**
 * Limits the request rate of a key.
 *
 * The algorithm is the token bucket of Effect's `RateLimiter`. A key may use its whole quota at
 * once and regains it evenly, one request every `window / requests`. There are no window borders.
 * Several processes share a limit if they share the limiter's store.
 */
import { Context, Data, Duration, Effect, Layer } from "effect"
import { RateLimiter } from "effect/persistence/RateLimiter"
import type { Rate } from "../GatewayServerConfig.ts"
import { StorageError } from "../storage/sql/StorageError.ts"

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
  }
>()("@model-gateway/server/access/RateLimits") {}

/** Whole seconds, rounded up, with a tolerance for sums of fractions. */
const seconds = (millis: number): number => Math.max(0, Math.ceil((millis - 1e-3) / 1000))

/** Makes the limits of keys over the limiter in the context. */
export const make = Effect.fnUntraced(function* (rate: Rate) {
  const limiter = yield* RateLimiter
  const limit = Math.max(1, Math.floor(rate.requests))
  const window = Duration.toMillis(rate.window)

  const statusOf = (remaining: number, fullIn: number): RateStatus => ({
    limit,
    windowSeconds: seconds(window),
    remaining,
    resetSeconds: seconds(fullIn)
  })

  return RateLimits.of({
    request: (keyHash) =>
      limiter.consume({ algorithm: "token-bucket", key: `request:${keyHash}`, limit, window: rate.window }).pipe(
        Effect.matchEffect({
          onSuccess: ({ remaining, resetAfter }) => Effect.succeed(statusOf(remaining, Duration.toMillis(resetAfter))),
          onFailure: ({ reason }): Effect.Effect<never, RateLimited | StorageError> => {
            if (reason._tag === "RateLimitStoreError") {
              return Effect.fail(
                new StorageError({
                  operation: "RateLimits.request",
                  message: "The store of rate limits does not answer.",
                  retryable: true,
                  cause: reason
                })
              )
            }
            const next = Duration.toMillis(reason.retryAfter)
            const retryAfter = Math.max(1, seconds(next))
            return Effect.fail(
              new RateLimited({
                // The bucket is empty: it is full when the rest of the window has passed, too.
                status: statusOf(0, next + window - window / limit),
                retryAfter,
                message: `rate limit exceeded: try again in ${retryAfter} s`
              })
            )
          }
        })
      )
  })
})

/** The limits with this rate, over the limiter in the context. */
export const layer = (rate: Rate): Layer.Layer<RateLimits, never, RateLimiter> => Layer.effect(RateLimits, make(rate))
