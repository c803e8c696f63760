import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as FailedAuthentications from "../../src/access/FailedAuthentications.ts"
import { StorageError } from "../../src/storage/sql/StorageError.ts"
import { layer, maxDelay, RateLimits } from "../../src/admission/RateLimits.ts"
import { layerMemory, RateLimitStore } from "../../src/admission/RateLimitStore.ts"

const limits = layer({ failedAuthentications: { requests: 1, window: "1 hour" } })

/** Forks so many failures of the address and answers how many are answered at once. */
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
      const failed = FailedAuthentications.make(yield* RateLimits, { perAddress: 2, total: 3 })
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 10)).toBe(8)
      expect(yield* answeredAtOnce(failed, "192.0.2.2", 10)).toBe(9)
      yield* TestClock.adjust(maxDelay)
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 10)).toBe(8)
    }).pipe(Effect.provide(Layer.provide(limits, layerMemory())))
  )

  it.effect("lets the next one wait in the place of a caller who is gone", () =>
    Effect.gen(function* () {
      const failed = FailedAuthentications.make(yield* RateLimits, { perAddress: 1, total: 1 })
      yield* failed("192.0.2.1")
      const gone = yield* Effect.forkChild(failed("192.0.2.1"), { startImmediately: true })
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 1)).toBe(1)
      yield* Fiber.interrupt(gone)
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 1)).toBe(0)
    }).pipe(Effect.provide(Layer.provide(limits, layerMemory())))
  )

  it.effect("delays nothing while the store of limits does not answer", () =>
    Effect.gen(function* () {
      const failed = FailedAuthentications.make(yield* RateLimits)
      expect(yield* answeredAtOnce(failed, "192.0.2.1", 3)).toBe(3)
    }).pipe(
      Effect.provide(
        Layer.provide(
          limits,
          Layer.succeed(RateLimitStore, {
            take: () => Effect.fail(new StorageError({ operation: "test", message: "down", retryable: true }))
          })
        )
      )
    )
  )
})
