import { describe, expect, it } from "@effect/vitest"
import { Clock, Duration, Effect } from "effect"
import { clockAhead } from "../../TestStorage.ts"
import * as TestRedis from "./TestRedis.ts"

const hour = 3_600_000

/** Runs an effect as if half an hour had passed for this process, beside what Redis is told. */
const halfAnHourLater = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Clock.clockWith((clock) => {
    const nanos = (BigInt(hour) / 2n) * 1_000_000n
    return Effect.provideService(effect, Clock.Clock, {
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
      currentTimeMillis: clock.currentTimeMillis,
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
      currentTimeNanos: clock.currentTimeNanos,
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe() + nanos,
      monotonicTimeNanos: Effect.map(clock.monotonicTimeNanos, (now) => now + nanos),
      sleep: (duration) => clock.sleep(duration)
    })
  })

describe.skipIf(TestRedis.isMissing)("RateLimiterStore on Redis", () => {
  it.live("lets exactly the limit pass in a burst over two processes", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const [first, second] = yield* Effect.all([TestRedis.process(redis.url), TestRedis.process(redis.url)])
      const taken = yield* Effect.forEach(
        Array.from({ length: 500 }, (_, i) => (i % 2 === 0 ? first : second)),
        (process) => process.take("request:k", 100),
        { concurrency: "unbounded" }
      )
      expect(taken.filter((passed) => passed)).toHaveLength(100)
      expect(yield* first.take("request:other", 1)).toBe(true)
      expect(yield* second.take("request:other", 1)).toBe(false)
      expect([yield* first.missed("rate_limit"), yield* second.missed("rate_limit")]).toEqual([0, 0])
    })
  )

  it.live("regains one request after the other, evenly", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const { limiter } = yield* TestRedis.process(redis.url)
      const take = limiter.consume({ algorithm: "token-bucket", key: "request:k", limit: 2, window: "1 hour" })
      expect(yield* take).toMatchObject({ remaining: 1, resetAfter: Duration.minutes(30) })
      expect((yield* take).remaining).toBe(0)
      const { reason } = yield* Effect.flip(take)
      if (reason._tag !== "RateLimitExceeded") return expect.fail(reason._tag)
      expect(Duration.toMinutes(reason.retryAfter)).toBeGreaterThan(29)
      expect(Duration.toMinutes(reason.retryAfter)).toBeLessThanOrEqual(30)
      // Half an hour passes.
      yield* TestRedis.run(redis, "HINCRBYFLOAT", "model-gateway:rate:request:k", "refilledAt", String(-hour / 2))
      expect((yield* halfAnHourLater(take)).remaining).toBe(0)
      expect((yield* Effect.flip(halfAnHourLater(take))).reason._tag).toBe("RateLimitExceeded")
    })
  )

  it.live("neither refills nor locks a key for a process whose clock is an hour ahead or behind", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const { take } = yield* TestRedis.process(redis.url)
      expect(yield* Effect.all([take("request:k", 2), take("request:k", 2)])).toEqual([true, true])
      expect(yield* clockAhead(hour)(take("request:k", 2))).toBe(false)
      expect(yield* clockAhead(hour)(take("request:other", 2))).toBe(true)
      expect(yield* clockAhead(-hour)(take("request:other", 2))).toBe(true)
      expect(yield* take("request:other", 2)).toBe(false)
    })
  )

  it.live("locks no key when the clock of Redis is set back", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const { limiter } = yield* TestRedis.process(redis.url)
      const key = "model-gateway:rate:request:k"
      yield* TestRedis.run(redis, "HSET", key, "tokens", "0", "refilledAt", String(Date.now() + hour))
      const take = limiter.consume({ algorithm: "token-bucket", key: "request:k", limit: 2, window: "1 hour" })
      expect((yield* Effect.flip(take)).reason).toMatchObject({
        _tag: "RateLimitExceeded",
        retryAfter: Duration.minutes(30)
      })
      // Half an hour passes.
      yield* TestRedis.run(redis, "HINCRBYFLOAT", key, "refilledAt", String(-hour / 2))
      expect((yield* halfAnHourLater(take)).remaining).toBe(0)
    })
  )

  it.live("keeps every key no longer than the window, and a refused request does not prolong it", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const { take } = yield* TestRedis.process(redis.url)
      yield* Effect.forEach(
        Array.from({ length: 50 }, (_, i) => `request:${i}`),
        (key) => take(key, 3)
      )
      const keys = (yield* TestRedis.run(redis, "KEYS", "*")).split("\n").filter((key) => !key.endsWith("probe"))
      expect(keys).toHaveLength(50)
      for (const key of keys) {
        const left = Number(yield* TestRedis.run(redis, "PTTL", key))
        expect(left).toBeGreaterThan(0)
        expect(left).toBeLessThanOrEqual(hour / 3)
      }
      yield* Effect.all([take("request:0", 3), take("request:0", 3)])
      const key = "model-gateway:rate:request:0"
      yield* TestRedis.run(redis, "PEXPIRE", key, "5000")
      expect(yield* take("request:0", 3)).toBe(false)
      expect(Number(yield* TestRedis.run(redis, "PTTL", key))).toBeLessThanOrEqual(5000)
    })
  )

  it.live("grants a key its limit once, however often Redis restarts without its counts", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const process = yield* TestRedis.process(redis.url)
      const granted = Effect.map(
        Effect.forEach(Array.from({ length: 5 }), () => process.take("request:k", 10), { concurrency: "unbounded" }),
        (taken) => taken.filter((passed) => passed).length
      )
      let sum = yield* granted
      for (let flap = 0; flap < 4; flap++) {
        yield* Effect.promise(redis.kill)
        sum += yield* granted
        yield* Effect.promise(redis.start)
        yield* process.until(true)
        sum += yield* granted
      }
      expect(sum).toBe(10)
    })
  )

  it.live("goes on from the count of all processes when Redis is killed", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const [first, second] = yield* Effect.all([TestRedis.process(redis.url), TestRedis.process(redis.url)])
      yield* Effect.forEach(Array.from({ length: 6 }), () => first.take("request:k", 10))
      expect(yield* second.take("request:k", 10)).toBe(true)
      yield* Effect.promise(redis.kill)
      const taken = yield* Effect.forEach(Array.from({ length: 10 }), () => second.take("request:k", 10))
      expect(taken.filter((passed) => passed)).toHaveLength(3)
    })
  )

  it.live("does not count a request that Redis has refused", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const [first, second] = yield* Effect.all([TestRedis.process(redis.url), TestRedis.process(redis.url)])
      const take = (process: typeof first) =>
        process.limiter.consume({ algorithm: "token-bucket", key: "request:k", limit: 2, window: "1 hour" })
      yield* take(first)
      yield* take(first)
      expect((yield* Effect.flip(take(second))).reason._tag).toBe("RateLimitExceeded")
      yield* TestRedis.run(redis, "HINCRBYFLOAT", "model-gateway:rate:request:k", "refilledAt", String(-hour / 2))
      expect((yield* halfAnHourLater(take(second))).remaining).toBe(0)
    })
  )
})
