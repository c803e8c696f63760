import { assert, describe, it, vi } from "@effect/vitest"
import * as Timer from "@model-gateway/core/unstable/Timer"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Latch } from "effect"
import { TestClock } from "effect/testing"

const limit = Timer.within({ duration: "1 second", orElse: () => Effect.succeed("late") })

class Word extends Context.Service<Word, string>()("Word") {}

describe("within", () => {
  it.effect("has the result of an effect that ends in time", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(limit(Effect.delay(Effect.succeed("done"), 999)))
      yield* TestClock.adjust(999)
      assert.strictEqual(yield* Fiber.join(fiber), "done")
    })
  )

  it.effect("has the result, the failure and the defect of an effect that does not wait", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* limit(Effect.succeed("done")), "done")
      assert.strictEqual(yield* Effect.flip(limit(Effect.fail("wrong"))), "wrong")
      const exit = yield* Effect.exit(limit(Effect.die("broken")))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    })
  )

  it.effect("interrupts an effect that is late, and waits until it has cleaned up", () =>
    Effect.gen(function* () {
      const events: Array<string> = []
      const cleanUp = Effect.delay(
        Effect.sync(() => events.push("cleaned up")),
        500
      )
      const fiber = yield* Effect.forkChild(
        Effect.tap(limit(Effect.onInterrupt(Effect.never, () => cleanUp)), (result) =>
          Effect.sync(() => events.push(result))
        )
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(events, [])
      yield* TestClock.adjust(500)
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(events, ["cleaned up", "late"])
    })
  )

  it.effect("can fail an effect that is late", () =>
    Effect.gen(function* () {
      const fails = Timer.within({ duration: "1 second", orElse: () => Effect.fail("late") })
      const fiber = yield* Effect.forkChild(Effect.flip(fails(Effect.never)))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(fiber), "late")
    })
  )

  it.effect("interrupts the effect when it is interrupted itself", () =>
    Effect.gen(function* () {
      const interrupted = yield* Deferred.make<void>()
      const started = yield* Latch.make()
      const effect = Effect.andThen(started.open, Effect.never)
      const fiber = yield* Effect.forkChild(
        limit(Effect.onInterrupt(effect, () => Deferred.succeed(interrupted, undefined)))
      )
      yield* started.await
      const exit = yield* Effect.andThen(Fiber.interrupt(fiber), Fiber.await(fiber))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
      assert.isTrue(yield* Deferred.isDone(interrupted))
    })
  )

  it.effect("runs the effect with the services of its caller", () =>
    Effect.gen(function* () {
      const seen = yield* limit(Effect.andThen(Effect.yieldNow, Word))
      assert.strictEqual(seen, "pears")
    }).pipe(Effect.provideService(Word, "pears"))
  )

  it.live("limits by the system's clock with a timer that it stops when the effect ends", () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    return Effect.gen(function* () {
      const latch = yield* Latch.make()
      const ended = yield* Effect.forkChild(limit(Effect.as(latch.await, "done")), { startImmediately: true })
      const late = yield* Effect.forkChild(limit(Effect.never), { startImmediately: true })
      const interrupted = yield* Effect.forkChild(limit(Effect.never), { startImmediately: true })
      assert.strictEqual(vi.getTimerCount(), 3)
      yield* latch.open
      assert.strictEqual(yield* Fiber.join(ended), "done")
      yield* Fiber.interrupt(interrupted)
      assert.strictEqual(vi.getTimerCount(), 1)
      vi.advanceTimersByTime(1000)
      assert.strictEqual(yield* Fiber.join(late), "late")
    }).pipe(Effect.ensuring(Effect.sync(() => vi.useRealTimers())))
  })

  describe("within another limit", () => {
    const timers = (nested: Effect.Effect<string>) =>
      Effect.gen(function* () {
        vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
        const fiber = yield* Effect.forkChild(limit(nested), { startImmediately: true })
        const count = vi.getTimerCount()
        vi.advanceTimersByTime(2000)
        return { count, result: yield* Fiber.join(fiber) }
      }).pipe(Effect.ensuring(Effect.sync(() => vi.useRealTimers())))

    const sooner = Timer.within({ duration: 999, orElse: () => Effect.succeed("sooner") })
    const later = Timer.within({ duration: "2 seconds", orElse: () => Effect.succeed("later") })

    it.live("has no timer of its own if the other one ends earlier", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* timers(later(Effect.never)), { count: 1, result: "late" })
      })
    )

    it.live("has one if it ends earlier itself", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* timers(sooner(Effect.never)), { count: 2, result: "sooner" })
        assert.deepStrictEqual(yield* timers(sooner(later(Effect.never))), { count: 2, result: "sooner" })
      })
    )

    it.live("has one where the other one cannot interrupt it", () =>
      Effect.gen(function* () {
        const interrupted: Array<string> = []
        const last = later(Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted.push("by its own"))))
        assert.deepStrictEqual(yield* timers(Effect.uninterruptible(last)), { count: 2, result: "late" })
        assert.deepStrictEqual(interrupted, ["by its own"])
        const apart = Effect.flatMap(Effect.forkDetach(last, { startImmediately: true }), Fiber.join)
        assert.strictEqual((yield* timers(apart)).count, 2)
        assert.deepStrictEqual(interrupted, ["by its own", "by its own"])
      })
    )
  })
})
