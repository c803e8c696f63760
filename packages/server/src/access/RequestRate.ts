/** Counts a request against its key's rate limit. */
import { TooManyRequests } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { orUnavailable } from "../http/Failures.ts"
import type { RequestRecord } from "../http/RequestContext.ts"
import type { RateLimits, RateStatus } from "./RateLimits.ts"

const setRateHeaders = ({ headers }: RequestRecord, status: RateStatus): void => {
  headers["ratelimit"] = `"default";r=${status.remaining};t=${status.resetSeconds}`
  headers["ratelimit-policy"] = `"default";q=${status.limit};w=${status.windowSeconds}`
}

/**
 * Counts a request of the key and sets the `RateLimit` headers of its response. Above the limit it
 * fails with a 429 with `retry_after`.
 */
export const make =
  (limits: RateLimits["Service"]) =>
  (keyHash: string, record: RequestRecord): Effect.Effect<void, TooManyRequests> =>
    Effect.matchEffect(orUnavailable(limits.request(keyHash)), {
      onSuccess: (status) => {
        setRateHeaders(record, status)
        return Effect.void
      },
      onFailure: ({ message, retryAfter, status }) => {
        setRateHeaders(record, status)
        return Effect.fail(new TooManyRequests({ error: { message, metadata: { retry_after: retryAfter } } }))
      }
    })
