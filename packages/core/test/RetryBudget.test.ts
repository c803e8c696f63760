import { describe, expect, it } from "@effect/vitest"
import { Gateway, RetryBudget, RetryPolicy } from "@model-gateway/core"
import { Effect, Schedule } from "effect"
import { TestClock } from "effect/testing"
import * as Stub from "./stub.ts"

/** How many retries the budget gives at this moment. */
const drain = (budget: RetryBudget.RetryBudget) =>
  Effect.gen(function* () {
    let taken = 0
    while (yield* budget.take) taken++
    return taken
  })

describe("RetryBudget", () => {
  it.effect("allows twenty retries at once, then none", () =>
    Effect.gen(function* () {
      expect(yield* drain(RetryBudget.make())).toBe(20)
    })
  )

  it.effect("is refilled by successes: one retry for ten of them", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.make({ capacity: 3, perSuccess: 0.25, perSecond: 0 })
      expect(yield* drain(budget)).toBe(3)
      for (let i = 0; i < 3; i++) budget.deposit()
      expect(yield* budget.take).toBe(false)
      budget.deposit()
      expect(yield* budget.take).toBe(true)
      expect(yield* budget.take).toBe(false)
    })
  )

  it.effect("is refilled by time", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.make({ perSecond: 0.5 })
      yield* drain(budget)
      yield* TestClock.adjust("1999 millis")
      expect(yield* budget.take).toBe(false)
      yield* TestClock.adjust("1 millis")
      expect(yield* budget.take).toBe(true)
      expect(yield* budget.take).toBe(false)
    })
  )

  it.effect("never has more tokens than its capacity", () =>
    Effect.gen(function* () {
      const budget = RetryBudget.make({ capacity: 2 })
      for (let i = 0; i < 1000; i++) budget.deposit()
      expect(yield* drain(budget)).toBe(2)
      yield* TestClock.adjust("1 day")
      expect(yield* drain(budget)).toBe(2)
    })
  )
})

describe("the budget of a client", () => {
  const immediately = Effect.provideService(
    RetryPolicy.RetryPolicy,
    RetryPolicy.make({ schedule: () => Schedule.forever })
  )

  it.effect("is shared by all its calls, which limits retries during an outage", () => {
    const stub = Stub.make(() => "cut")
    return Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      const attempts = Effect.forEach(
        [gateway.currentKey, gateway.listModels(), gateway.currentKey, gateway.listModels()],
        (call) =>
          Effect.map(Effect.flip<unknown, { readonly attempts: number }, never>(call), (error) => error.attempts)
      )
      expect(yield* attempts).toEqual([4, 3, 1, 1])
      expect(stub.sent).toHaveLength(9)
      // A call that is not retried for lack of budget fails with its own error.
      expect(yield* Effect.flip(gateway.currentKey)).toMatchObject({ _tag: "TransportError", attempts: 1 })
    }).pipe(stub.run({ retryBudget: { capacity: 5, perSecond: 0 } }), immediately)
  })

  it.effect("is refilled by successes", () => {
    let down = true
    const stub = Stub.make(() => (down ? "cut" : Stub.json({ data: Stub.keyRecord })))
    return Effect.gen(function* () {
      const { currentKey } = yield* Gateway.Gateway
      expect(yield* Effect.flip(currentKey)).toMatchObject({ attempts: 3 })
      expect(yield* Effect.flip(currentKey)).toMatchObject({ attempts: 1 })
      down = false
      yield* Effect.replicateEffect(currentKey, 4, { discard: true })
      down = true
      expect(yield* Effect.flip(currentKey)).toMatchObject({ attempts: 2 })
    }).pipe(stub.run({ retryBudget: { capacity: 2, perSuccess: 0.25, perSecond: 0 } }), immediately)
  })

  it.effect("can be one that others use, too", () => {
    const stub = Stub.make(() => "cut")
    const retryBudget = RetryBudget.make({ capacity: 2, perSecond: 0 })
    return Effect.gen(function* () {
      const { currentKey } = yield* Gateway.Gateway
      expect(yield* retryBudget.take).toBe(true)
      expect(yield* Effect.flip(currentKey)).toMatchObject({ attempts: 2 })
      expect(yield* retryBudget.take).toBe(false)
    }).pipe(stub.run({ retryBudget }), immediately)
  })

  it.effect("is not shared between clients", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 2; i++) {
        const stub = Stub.make(() => "cut")
        const call = Effect.flatMap(Gateway.Gateway, ({ currentKey }) => Effect.flip(currentKey))
        expect(yield* call.pipe(stub.run({ retryBudget: { capacity: 1 } }), immediately)).toMatchObject({ attempts: 2 })
      }
    })
  )
})
