import { describe, expect, it } from "@effect/vitest"
import { Data, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Background from "../../src/internal/Background.ts"

class Failed extends Data.TaggedError("Failed")<{ readonly message: string }> {}

describe("Background.layer", () => {
  it.effect("runs at the start and then at the interval, also after a failure, until the layer closes", () =>
    Effect.gen(function* () {
      let runs = 0
      const work = Effect.suspend(() => (++runs === 1 ? Effect.fail(new Failed({ message: "no" })) : Effect.void))
      yield* Effect.gen(function* () {
        yield* Effect.yieldNow
        expect(runs).toBe(1)
        yield* TestClock.adjust("59 seconds")
        expect(runs).toBe(1)
        yield* TestClock.adjust("1 second")
        expect(runs).toBe(2)
        yield* TestClock.adjust("1 minute")
        expect(runs).toBe(3)
      }).pipe(Effect.provide(Background.layer({ work, every: "1 minute", failure: "It failed" })))
      yield* TestClock.adjust("1 hour")
      expect(runs).toBe(3)
    })
  )
})
