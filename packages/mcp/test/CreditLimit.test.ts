import { expect, it } from "@effect/vitest"
import * as CreditLimit from "../src/CreditLimit.ts"
import { Effect } from "effect"

it.effect("refuses a paid call without credits, however cheap, and allows a free one", () =>
  Effect.gen(function* () {
    const limit = CreditLimit.make(0.001)
    yield* (yield* limit.reserve(0.001)).settle(0.001)
    const error = yield* Effect.flip(limit.reserve(1e-13))
    expect(error.message).toContain("0.001 of 0.001 credits are spent")
    yield* limit.reserve(0)
    expect(yield* limit.status).toEqual({ spent: 0.001, reserved: 0, limit: 0.001, remaining: 0 })
  })
)
