/** Counts a request against its key's rate limit. */
import { TooManyRequests } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { currentCaller } from "../access/Caller.ts"
import { orUnavailable } from "../http/Failures.ts"
import { RequestContext } from "../http/RequestContext.ts"
import { RateLimits, type RateStatus } from "./RateLimits.ts"

const setRateHeaders = (status: RateStatus) =>
  Effect.map(RequestContext, ({ headers }) => {
    headers["ratelimit"] = `"default";r=${status.remaining};t=${status.resetSeconds}`
    headers["ratelimit-policy"] = `"default";q=${status.limit};w=${status.windowSeconds}`
  })

/**
 * Counts the request against its key's rate limit, once, and sets the `RateLimit` headers. Above
 * the limit it fails with a 429 with `retry_after`. For every operation that has a 429, paid or
 * not.
 */
export const make = (limits: RateLimits["Service"]): Effect.Effect<void, TooManyRequests, RequestContext> =>
  Effect.gen(function* () {
    const record = yield* RequestContext
    if (record.isCounted) return
    record.isCounted = true
    const { key } = yield* currentCaller
    const status = yield* orUnavailable(limits.request(key.hash)).pipe(
      Effect.catchTag("RateLimited", (limited) =>
        Effect.andThen(
          setRateHeaders(limited.status),
          new TooManyRequests({
            error: { message: limited.message, metadata: { retry_after: limited.retryAfter } }
          })
        )
      )
    )
    yield* setRateHeaders(status)
  })

/** {@link make} over the limits in the context. */
export const withinRate: Effect.Effect<void, TooManyRequests, RateLimits | RequestContext> = Effect.flatMap(
  RateLimits,
  make
)
