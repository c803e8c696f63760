import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Price from "../src/Price.ts"

describe("Price", () => {
  it("gives back the number of the file, with its digits", () => {
    for (const second of [0, 0.1, 0.00543381, 0.0000076, 0.0000308333, 1e-12, 123_456.789_012, 1_000_000]) {
      const pricing = Price.toPricing({ second })
      assert.deepStrictEqual(pricing && Price.fromPricing(pricing), { second })
    }
  })

  it("counts in micro-credits, which may be fractions, without a float error", () => {
    assert.deepStrictEqual(Price.toPricing({ search_unit: 0.00543381 }), { unit: "search_unit", microCredits: 5433.81 })
    assert.deepStrictEqual(Price.toPricing({ input_tokens: 0.07 }), {
      unit: "token",
      inputMicroCredits: 70_000,
      outputMicroCredits: 0
    })
    assert.deepStrictEqual(Price.toPricing({ video: [{ resolution: "1080p", credits: 1.1 }, { credits: 1e-7 }] }), {
      unit: "video",
      prices: [{ resolution: "1080p", microCredits: 1_100_000 }, { microCredits: 0.1 }]
    })
  })

  it("has units that go together", () => {
    assert.isUndefined(Price.toPricing({}))
    assert.isUndefined(Price.toPricing({ second: 1, video: 1 }))
    assert.isUndefined(Price.toPricing({ search_unit: 1, input_tokens: 1 }))
    assert.isDefined(Price.toPricing({ input_tokens: 1, output_tokens: 1 }))
  })

  it("has numbers from 0 to a million only", () => {
    const isPrice = Schema.is(Price.Price)
    assert.isTrue(isPrice({ second: 1_000_000 }))
    for (const second of [-1e-9, 1_000_001, Number.NaN, Infinity, "1", null, []]) assert.isFalse(isPrice({ second }))
  })
})
