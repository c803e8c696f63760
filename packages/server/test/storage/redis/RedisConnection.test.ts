import { describe, expect, it } from "@effect/vitest"
import { type Duration, Effect, Exit, Scope } from "effect"
import type { RedisServer } from "@model-gateway/test-services/Redis"
import * as TestRedis from "./TestRedis.ts"

type Process = Effect.Success<ReturnType<typeof TestRedis.process>>

const available = /^Redis at 127\.0\.0\.1:\d+ is available/
const notAvailable = /^Redis at 127\.0\.0\.1:\d+ is not available \(.+\)\. Until it is, this process counts/

/** Twenty requests at once against a limit of three, in one process. */
const burst = (process: Process, key: string) =>
  Effect.map(
    Effect.forEach(Array.from({ length: 20 }), () => process.take(key, 3), { concurrency: "unbounded" }),
    (taken) => taken.filter((passed) => passed).length
  )

/**
 * Two processes share a limit, count by themselves after `stopRedis`, and share it again after
 * `restoreRedis`.
 */
const outage = Effect.fnUntraced(function* (
  redis: RedisServer,
  stopRedis: Effect.Effect<unknown>,
  restoreRedis: Effect.Effect<unknown>,
  timeLimit?: Duration.Input
) {
  const process = TestRedis.process(redis.url, timeLimit)
  const processes = yield* Effect.all([process, process])
  const [first, second] = processes
  expect((yield* burst(first, "request:before")) + (yield* burst(second, "request:before"))).toBe(3)
  yield* stopRedis
  expect([yield* burst(first, "request:during"), yield* burst(second, "request:during")]).toEqual([3, 3])
  for (const process of processes) {
    // Redis is not asked for those that this process refuses.
    expect(yield* process.missed("rate_limit")).toBe(3)
    yield* process.until(false)
    expect(process.logs).toEqual([expect.stringMatching(available), expect.stringMatching(notAvailable)])
  }
  yield* restoreRedis
  yield* Effect.all([first.until(true), second.until(true)])
  expect((yield* burst(first, "request:after")) + (yield* burst(second, "request:after"))).toBe(3)
  for (const process of processes) {
    expect(yield* process.missed("rate_limit")).toBe(3)
    expect(process.logs).toHaveLength(3)
    expect(process.logs[2]).toMatch(available)
  }
})

describe.skipIf(TestRedis.isMissing)("RedisConnection", () => {
  it.live("limits by itself while Redis is killed, says so once, and uses it when it is there again", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      yield* outage(redis, Effect.promise(redis.kill), Effect.promise(redis.start))
    })
  )

  it.live("limits by itself while Redis is out of memory", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server("--maxmemory-policy", "noeviction")
      yield* outage(
        redis,
        TestRedis.run(redis, "CONFIG", "SET", "maxmemory", "1"),
        TestRedis.run(redis, "CONFIG", "SET", "maxmemory", "0")
      )
    })
  )

  it.live("limits by itself while Redis is a replica that accepts no writes", () =>
    Effect.gen(function* () {
      const primary = yield* TestRedis.server()
      const redis = yield* TestRedis.server()
      yield* outage(
        redis,
        TestRedis.run(redis, "REPLICAOF", "127.0.0.1", String(primary.port)),
        TestRedis.run(redis, "REPLICAOF", "NO", "ONE")
      )
    })
  )

  it.live("limits by itself while Redis is stopped, and only the first requests wait for it", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      yield* outage(redis, Effect.sync(redis.pause), Effect.sync(redis.resume), "1 second")
      const process = yield* TestRedis.process(redis.url, "1 second")
      redis.pause()
      const started = performance.now()
      // If each of them waited for Redis, 200 requests would take 200 seconds.
      for (let i = 0; i < 200; i++) yield* process.take(`request:${i}`, 1)
      expect(performance.now() - started).toBeLessThan(10_000)
    })
  )

  it.live("closes while Redis is stopped", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const scope = yield* Scope.make()
      const process = yield* Scope.provide(TestRedis.process(redis.url), scope)
      redis.pause()
      const waiting = yield* Effect.forkChild(process.take("request:k", 1))
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      expect(waiting.pollUnsafe()).not.toBe(null)
    })
  )

  it.live("loads its scripts again after they were flushed", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      const process = yield* TestRedis.process(redis.url)
      expect(yield* process.take("request:k", 2)).toBe(true)
      yield* TestRedis.run(redis, "SCRIPT", "FLUSH")
      expect(yield* process.take("request:k", 2)).toBe(true)
      expect(yield* process.take("request:k", 2)).toBe(false)
      expect(yield* process.missed("rate_limit")).toBe(0)
    })
  )

  it.live("starts without Redis, and uses it when it is there", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      yield* Effect.promise(redis.stop)
      const process = yield* TestRedis.process(redis.url)
      expect(process.logs).toEqual([expect.stringMatching(notAvailable)])
      expect(yield* process.report).toEqual({
        status: "degraded",
        parts: {
          rate_limits: {
            status: "degraded",
            message: "Redis is not available. Rate limits and circuits are counted per process."
          }
        }
      })
      expect(yield* burst(process, "request:k")).toBe(3)
      yield* Effect.promise(redis.start)
      yield* process.until(true)
      yield* process.take("request:other", 3)
      expect(yield* TestRedis.run(redis, "EXISTS", "model-gateway:rate:request:other")).toBe("1")
      expect(process.logs).toEqual([expect.stringMatching(notAvailable), expect.stringMatching(available)])
    })
  )

  it.live("starts while Redis is stopped", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server()
      redis.pause()
      const process = yield* TestRedis.process(redis.url)
      expect(yield* process.connection.problem).toBe("no reply while connecting")
      expect(yield* burst(process, "request:k")).toBe(3)
      redis.resume()
      yield* process.until(true)
    })
  )

  it.live("limits by itself with a wrong password, and never shows it", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server("--requirepass", "right")
      const process = yield* TestRedis.process(`redis://:guessed-7@127.0.0.1:${redis.port}`)
      expect(yield* process.connection.problem).toMatch(/^WRONGPASS/)
      expect(process.logs).toEqual([expect.stringMatching(notAvailable)])
      expect(yield* burst(process, "request:k")).toBe(3)
      yield* TestRedis.run(redis, "-a", "right", "CONFIG", "SET", "requirepass", "guessed-7")
      yield* process.until(true)
      expect(process.logs.join("\n")).not.toContain("guessed-7")
    })
  )

  it.live("uses the user, the password and the database of the URL", () =>
    Effect.gen(function* () {
      const redis = yield* TestRedis.server("--user", "gateway", "on", ">p%40ss", "~*", "+@all")
      const process = yield* TestRedis.process(`redis://gateway:p%2540ss@127.0.0.1:${redis.port}/3`)
      expect(yield* process.take("request:k", 1)).toBe(true)
      expect(yield* process.connection.problem).toBe(undefined)
      const keys = yield* TestRedis.run(redis, "--user", "gateway", "-a", "p%40ss", "-n", "3", "KEYS", "*rate*")
      expect(keys).toContain("model-gateway:rate:request:k")
    })
  )
})
