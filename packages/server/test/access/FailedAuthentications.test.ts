import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer } from "effect"
import * as RateLimiter from "effect/persistence/RateLimiter"
import { TestClock } from "effect/testing"
import * as FailedAuthentications from "../../src/access/FailedAuthentications.ts"
import * as RateLimiterStore from "../../src/storage/memory/RateLimiterStore.ts"

const limiter = RateLimiter.layer.pipe(Layer.provide(RateLimiterStore.layer()))

const rate = { requests: 1, window: Duration.hours(1) }

/** Forks this many failures of the address and returns how many get a response at once. */
const answeredAtOnce = Effect.fnUntraced(function* (
  failed: (address: string) => Effect.Effect<void>,
  address: string,
  count: number
) {
  const fibers = yield* Effect.forEach(Array.from({ length: count }), () => Effect.forkChild(failed(address)))
  yield* Effect.yieldNow
  return fibers.filter((fiber) => fiber.pollUnsafe() !== undefined).length
})

describe("FailedAuthentications", () => {
  it.effect("delays few answers at a time, for one address and in all, and answers the others at once", () =>
    Effect.gen(function* () {
      const failed = yield* FailedAuthentications.make(rate, { perAddress: 2, total: 3 })
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 10)).toBe(8)
      expect(yield* answeredAtOnce(failed, "192.0.2.2", 10)).toBe(9)
      yield* TestClock.adjust(FailedAuthentications.maxDelay)
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 10)).toBe(8)
    }).pipe(Effect.provide(limiter))
  )

  it.effect("gives the place of a caller who has disconnected to the next one", () =>
    Effect.gen(function* () {
      const failed = yield* FailedAuthentications.make(rate, { perAddress: 1, total: 1 })
      yield* failed("192.0.2.1")
      const gone = yield* Effect.forkChild(failed("192.0.2.1"), { startImmediately: true })
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 1)).toBe(1)
      yield* Fiber.interrupt(gone)
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 1)).toBe(0)
    }).pipe(Effect.provide(limiter))
  )

  it.effect("delays nothing while the store of limits does not answer", () =>
    Effect.gen(function* () {
      const failed = yield* FailedAuthentications.make(rate)
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 3)).toBe(3)
    }).pipe(
      Effect.provide(
        RateLimiter.layer.pipe(
          Layer.provide(
            Layer.effect(
              RateLimiter.RateLimiterStore,
              Effect.map(RateLimiter.RateLimiterStore, (store) => ({
                ...store,
                tokenBucket: () =>
                  Effect.fail(
                    new RateLimiter.RateLimiterError({
                      reason: new RateLimiter.RateLimitStoreError({ message: "down" })
                    })
                  )
              }))
            )
          ),
          Layer.provide(RateLimiter.layerStoreMemory)
        )
      )
    )
  )

  it.effect("delays an address by more with each recent failure, up to 2 seconds, and forgets failures evenly", () =>
    Effect.gen(function* () {
      const failed = yield* FailedAuthentications.make({ requests: 4, window: Duration.minutes(1) })
      const delaysOf = Effect.fnUntraced(function* (address: string, count: number) {
        const fibers = yield* Effect.forEach(Array.from({ length: count }), () =>
          Effect.forkChild(Effect.timed(failed(address)), { startImmediately: true })
        )
        yield* TestClock.adjust("2 seconds")
        const answers = yield* Fiber.joinAll(fibers)
        return answers.map(([took]) => Math.round(Duration.toMillis(took)))
      })
      expect(yield* delaysOf("192.0.2.1", 6)).toEqual([0, 500, 1000, 1500, 2000, 2000])
      expect(yield* delaysOf("192.0.2.2", 1)).toEqual([0])
      yield* TestClock.adjust("26 seconds")
      expect(yield* delaysOf("192.0.2.1", 1)).toEqual([1000])
      yield* TestClock.adjust("58 seconds")
      expect(yield* delaysOf("192.0.2.1", 1)).toEqual([0])
    }).pipe(Effect.provide(limiter))
  )
})
