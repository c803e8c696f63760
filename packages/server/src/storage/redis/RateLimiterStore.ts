/**
 * Rate limits that all processes share through Redis.
 *
 * A request must be within the count in Redis and within this process's own count. The own count is
 * never behind: it has every request of this process, and follows the count in Redis down. So it
 * refuses nothing that Redis would grant, as long as Redis keeps its count. While Redis does not
 * answer, it goes on from what Redis counted last. When a Redis comes back that has lost its
 * counts, no request is granted that this process has granted before. However often Redis comes and
 * goes, a process grants at most the limit, and the limit once more for each window that passes.
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
import * as MonotonicTime from "../../internal/MonotonicTime.ts"
import * as Metrics from "../../observability/Metrics.ts"
import * as TokenBuckets from "../memory/TokenBuckets.ts"
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
 * Token buckets in Redis and in this process. The other algorithms are Effect's own, in Redis only.
 */
export const layer: Layer.Layer<RateLimiterStore, never, Redis.Redis | RedisConnection> = Layer.effect(
  RateLimiterStore,
  Effect.gen(function* () {
    const prefix = `${(yield* RedisConnection).prefix}rate:`
    const takeShared = (yield* Redis.Redis).eval(tokenBucket)
    const own = TokenBuckets.make()
    return RateLimiterStore.of({
      ...(yield* makeStoreRedis({ prefix })),
      tokenBucket: Effect.fnUntraced(function* ({ allowOverflow, key, limit, refillRate, tokens }) {
        const now = yield* MonotonicTime.millis
        const rule: TokenBuckets.Rule = { key, limit, interval: Duration.toMillis(refillRate) }
        const isRefused = (left: number): boolean => left < 0 && !allowOverflow
        // Taken before Redis answers, so that requests at the same time count each other.
        const ownState = own.take(rule, tokens, allowOverflow, now)
        if (isRefused(ownState[0])) return ownState
        return yield* takeShared(prefix + key, tokens, limit, rule.interval, allowOverflow ? 1 : 0).pipe(
          Effect.map(([leftText, elapsedText]) => {
            const [left, elapsed] = [Number(leftText), Number(elapsedText)]
            const refused = isRefused(left)
            if (refused) own.giveBack(rule, tokens)
            own.lower(rule, [refused ? left + tokens : left, elapsed], now)
            return [left, elapsed] as const
          }),
          Effect.catch(() => Effect.as(Metrics.redisMissed("rate_limit"), ownState))
        )
      })
    })
  })
)
