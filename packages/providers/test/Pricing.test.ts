import { assert, describe, it } from "@effect/vitest"
import { cost, perUnit, searchUnits } from "../src/Pricing.ts"

describe("Pricing", () => {
  it.each([
    [1, 1],
    [100, 1],
    [101, 2],
    [200, 2],
    [201, 3]
  ])("%i documents are %i search units", (documents, units) => {
    assert.strictEqual(searchUnits(documents), units)
  })

  it.each([
    [100, 0.3, 30],
    [100, 1.504, 151],
    [100, 0.29, 29],
    [10_000, 5, 50_000],
    [0, 12.5, 0]
  ])("%i micro-credits a second for %d seconds cost %i", (microCredits, seconds, expected) => {
    assert.strictEqual(cost(microCredits, seconds), expected)
  })

  it("publishes the highest of several prices for a unit, and no unit that the API lacks", () => {
    assert.deepStrictEqual(perUnit({ unit: "search_unit", microCredits: 1000 }), { search_unit: 1000 })
    assert.deepStrictEqual(
      perUnit({ unit: "second", prices: [{ resolution: "720p", microCredits: 5 }, { microCredits: 9 }] }),
      { second: 9 }
    )
    assert.deepStrictEqual(perUnit({ unit: "token", inputMicroCredits: 1, outputMicroCredits: 2 }), {})
  })
})
