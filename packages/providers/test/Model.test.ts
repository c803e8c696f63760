import { assert, describe, it } from "@effect/vitest"
import { cost, searchUnits } from "../src/Model.ts"

describe("Model", () => {
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
    assert.strictEqual(cost({ unit: "second", microCredits }, seconds), expected)
  })
})
