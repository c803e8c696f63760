/**
 * Rate limits that all processes share through Redis.
 *
 * One script per request reads, refills and takes from a token bucket, so that processes cannot
 * count at the same time. It measures by the clock of Redis: Effect's own script takes the clock of
 * the caller, and a process whose clock is ahead would refill the bucket for all, or lock it for
 * the others.
 *
 * A bucket is a hash that expires once it is full. A refused request writes only if the
 * clock was set back, so that the bucket refills from then on.
 */
import { Duration, Effect, Layer } from "effect"
import { makeStoreRedis, RateLimiterStore } from "effect/persistence/RateLimiter"
import * as Redis from "effect/persistence/Redis"
import * as Metrics from "../../observability/Metrics.ts"
import { RedisConnection } from "./RedisConnection.ts"

const tokenBucket = Redis.script(
  (key: string, tokens: number, limit: number, refillMillis: number, overflow: 0 | 1) => [
    key,
    tokens,
    limit,
    refillMillis,
    overflow
  ],
  {
    numberOfKeys: 1,
    lua: `
local tokens, limit, interval = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call("TIME")
local now = time[1] * 1000 + time[2] / 1000
local bucket = redis.call("HMGET", KEYS[1], "tokens", "refilledAt")
local available = tonumber(bucket[1]) or limit
local stored = tonumber(bucket[2]) or now
-- If the clock was set back, the current interval begins again.
local refilledAt = math.min(stored, now)

local regained = math.floor((now - refilledAt) / interval)
available = math.min(limit, available + regained)
refilledAt = refilledAt + regained * interval
if available >= limit then refilledAt = now end

local left = available - tokens
local isTaken = left >= 0 or ARGV[4] == "1"
if isTaken or stored > now then
  local kept = isTaken and left or available
  local fullIn = (limit - kept) * interval - (now - refilledAt)
  -- 17 significant digits keep both numbers exact.
  redis.call("HSET", KEYS[1], "tokens", string.format("%.17g", kept), "refilledAt", string.format("%.17g", refilledAt))
  redis.call("PEXPIRE", KEYS[1], string.format("%.0f", math.max(1, math.ceil(fullIn))))
end
return { string.format("%.17g", left), string.format("%.17g", now - refilledAt) }
`
  }
).withReturnType<readonly [left: string, elapsedMillis: string]>()

/**
 * Token buckets in Redis. While it does not answer, they are those of the store in the context. The
 * other algorithms are Effect's own, without that.
 */
export const layer: Layer.Layer<RateLimiterStore, never, RateLimiterStore | Redis.Redis | RedisConnection> =
  Layer.effect(
    RateLimiterStore,
    Effect.gen(function* () {
      const own = yield* RateLimiterStore
      const prefix = `${(yield* RedisConnection).prefix}rate:`
      const take = (yield* Redis.Redis).eval(tokenBucket)
      return RateLimiterStore.of({
        ...(yield* makeStoreRedis({ prefix })),
        tokenBucket: (options) => {
          const { allowOverflow, key, limit, refillRate, tokens } = options
          return take(prefix + key, tokens, limit, Duration.toMillis(refillRate), allowOverflow ? 1 : 0).pipe(
            Effect.map(([left, elapsed]) => [Number(left), Number(elapsed)] as const),
            Effect.catch(() => Effect.andThen(Metrics.redisMissed("rate_limit"), own.tokenBucket(options)))
          )
        }
      })
    })
  )
