import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { FreeModelDays } from "../../src/accounting/FreeModelDays.ts"
import { databases } from "../TestDatabases.ts"

const late = Date.UTC(2026, 10, 20, 23, 59, 30)

describe.each(databases)("FreeModelDays on $name", ({ layer }) => {
  it.effect("counts to the limit, then reports when the next day starts, and resets with it", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(late)
      yield* Effect.gen(function* () {
        const days = yield* FreeModelDays
        expect(yield* days.take("k", 2)).toMatchObject({ limit: 2, used: 1, remaining: 1 })
        expect(yield* days.take("k", 2)).toMatchObject({ used: 2, remaining: 0 })
        expect(yield* Effect.flip(days.take("k", 2))).toMatchObject({
          _tag: "FreeModelDayUsedUp",
          used: 2,
          limit: 2,
          retryAfter: 30
        })
        expect(yield* days.take("other", 2)).toMatchObject({ limit: 2, used: 1, remaining: 1 })
        yield* TestClock.adjust("30 seconds")
        expect(yield* days.take("k", 2)).toMatchObject({ used: 1, remaining: 1 })
      }).pipe(Effect.provide(layer))
    })
  )

  it.effect("undoes a count on the day that it was counted", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(late)
      yield* Effect.gen(function* () {
        const days = yield* FreeModelDays
        const taken = yield* days.take("k", 2)
        yield* days.giveBack(taken)
        const yesterday = yield* days.take("k", 2)
        expect(yesterday).toMatchObject({ used: 1 })
        yield* TestClock.adjust("30 seconds")
        yield* days.take("k", 2)
        yield* days.giveBack(yesterday)
        expect(yield* days.take("k", 2)).toMatchObject({ used: 2 })
      }).pipe(Effect.provide(layer))
    })
  )

  it.effect("admits exactly the limit when all requests come at once, and none if it is zero", () =>
    Effect.gen(function* () {
      const days = yield* FreeModelDays
      const take = (limit: number) =>
        days.take("k", limit).pipe(
          Effect.as(1),
          Effect.catchTag("FreeModelDayUsedUp", () => Effect.succeed(0))
        )
      expect(yield* take(0)).toBe(0)
      const results = yield* Effect.all(
        Array.from({ length: 60 }, () => take(40)),
        { concurrency: "unbounded" }
      )
      expect(results.reduce<number>((sum, one) => sum + one, 0)).toBe(40)
    }).pipe(Effect.provide(layer))
  )

  it.effect("purges counts after two days, of any number of keys", () =>
    Effect.gen(function* () {
      const days = yield* FreeModelDays
      yield* TestClock.adjust("12 hours")
      yield* Effect.forEach(Array.from({ length: 250 }), (_, n) => days.take(`k${n}`, 5))
      yield* TestClock.adjust("1 day")
      expect(yield* days.purge).toBe(0)
      yield* days.take("k0", 5)
      yield* TestClock.adjust("1 day")
      // The request of the second day has already deleted the first count of its key.
      expect(yield* days.purge).toBe(249)
      yield* days.take("k0", 5)
      expect(yield* days.purge).toBe(0)
      expect(yield* days.take("k0", 5)).toMatchObject({ limit: 5, used: 2, remaining: 3 })
    }).pipe(Effect.provide(layer))
  )
})
