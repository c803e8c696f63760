import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Layer } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import { layer, RateLimits } from "../../src/access/RateLimits.ts"
import * as RateLimiterStore from "../../src/storage/memory/RateLimiterStore.ts"

const limits = (requests: number, seconds: number) =>
  layer({ requests, window: Duration.seconds(seconds) }).pipe(
    Layer.provide(RateLimiter.layer),
    Layer.provide(RateLimiterStore.layer())
  )

/** A store that does not answer. */
const layerDown = Layer.effect(
  RateLimiter.RateLimiterStore,
  Effect.map(RateLimiter.RateLimiterStore, (store) => ({
    ...store,
    tokenBucket: () =>
      Effect.fail(
        new RateLimiter.RateLimiterError({ reason: new RateLimiter.RateLimitStoreError({ message: "down" }) })
      )
  }))
).pipe(Layer.provide(RateLimiter.layerStoreMemory))

const refused = (key: string) => Effect.flatMap(RateLimits, (rates) => Effect.flip(rates.request(key)))

describe("RateLimits", () => {
  it.effect("admits a whole quota at once, reports the status, and then when to retry", () =>
    Effect.gen(function* () {
      const rates = yield* RateLimits
      const seen = yield* Effect.forEach([1, 2, 3], () => rates.request("k"))
      expect(seen).toEqual([
        { limit: 3, windowSeconds: 60, remaining: 2, resetSeconds: 20 },
        { limit: 3, windowSeconds: 60, remaining: 1, resetSeconds: 40 },
        { limit: 3, windowSeconds: 60, remaining: 0, resetSeconds: 60 }
      ])
      const error = yield* refused("k")
      expect(error).toMatchObject({
        _tag: "RateLimited",
        retryAfter: 20,
        status: { limit: 3, remaining: 0, resetSeconds: 60 }
      })
      expect(error.message).toMatch(/^rate limit exceeded/)
    }).pipe(Effect.provide(limits(3, 60)))
  )

  it.effect("admits exactly one request after the reported time, and none earlier", () =>
    Effect.gen(function* () {
      const rates = yield* RateLimits
      yield* Effect.forEach([1, 2, 3], () => rates.request("k"))
      yield* TestClock.adjust("19999 millis")
      expect(yield* refused("k")).toMatchObject({ retryAfter: 1 })
      yield* TestClock.adjust("1 millis")
      expect((yield* rates.request("k")).remaining).toBe(0)
      expect((yield* refused("k"))._tag).toBe("RateLimited")
      yield* TestClock.adjust("1 minute")
      expect((yield* rates.request("k")).remaining).toBe(2)
    }).pipe(Effect.provide(limits(3, 60)))
  )

  it.effect("accumulates nothing beyond the quota", () =>
    Effect.gen(function* () {
      const rates = yield* RateLimits
      yield* TestClock.adjust("1 hour")
      yield* Effect.forEach([1, 2, 3], () => rates.request("k"))
      expect((yield* refused("k"))._tag).toBe("RateLimited")
    }).pipe(Effect.provide(limits(3, 60)))
  )

  it.effect("does not lose a request to fractions of milliseconds", () =>
    Effect.gen(function* () {
      const rates = yield* RateLimits
      for (let i = 6; i >= 0; i--) expect((yield* rates.request("k")).remaining).toBe(i)
      expect((yield* refused("k"))._tag).toBe("RateLimited")
    }).pipe(Effect.provide(limits(7, 1)))
  )

  it.effect("counts each key separately", () =>
    Effect.gen(function* () {
      const rates = yield* RateLimits
      yield* rates.request("a")
      expect((yield* rates.request("b")).remaining).toBe(0)
      expect((yield* refused("a"))._tag).toBe("RateLimited")
    }).pipe(Effect.provide(limits(1, 60)))
  )

  it.effect("locks no key out when the system clock is set back by 40 days", () =>
    Effect.gen(function* () {
      const rates = yield* RateLimits
      yield* TestClock.setTime(Date.UTC(2026, 0, 1))
      yield* Effect.forEach([1, 2, 3], () => rates.request("k"))
      yield* TestClock.setTime(Date.UTC(2026, 0, 1) - 40 * 86_400_000)
      expect(yield* refused("k")).toMatchObject({ retryAfter: 20 })
      yield* TestClock.adjust("20 seconds")
      expect((yield* rates.request("k")).remaining).toBe(0)
    }).pipe(Effect.provide(limits(3, 60)))
  )

  it.effect("fails as storage does while the store of limits does not answer", () =>
    Effect.gen(function* () {
      expect(yield* refused("k")).toMatchObject({ _tag: "StorageError", retryable: true })
    }).pipe(
      Effect.provide(
        layer({ requests: 1, window: Duration.minutes(1) }).pipe(
          Layer.provide(RateLimiter.layer),
          Layer.provide(layerDown)
        )
      )
    )
  )
})
