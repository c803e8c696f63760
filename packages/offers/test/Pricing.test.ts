import { assert, describe, it } from "@effect/vitest"
import { cost, perUnit, type PerVideo, searchUnits, videoCost } from "../src/Pricing.ts"

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

  it("publishes the highest of several prices for a unit, and no unit that it does not charge by", () => {
    assert.deepStrictEqual(perUnit({ unit: "search_unit", microCredits: 1000 }), { search_unit: 1000 })
    assert.deepStrictEqual(
      perUnit({ unit: "second", prices: [{ resolution: "720p", microCredits: 5 }, { microCredits: 9 }] }),
      { second: 9 }
    )
    assert.deepStrictEqual(perUnit({ unit: "token", inputMicroCredits: 1, outputMicroCredits: 2 }), {
      prompt: 1,
      completion: 2
    })
    assert.deepStrictEqual(perUnit({ unit: "video", prices: [{ microCredits: 3 }, { microCredits: 7 }] }), {
      request: 7
    })
    assert.deepStrictEqual(perUnit({ unit: "video_token", prices: [{ microCredits: 3 }, { microCredits: 7 }] }), {
      completion: 7
    })
  })

  it("charges a video the first price that matches, and the highest if none does", () => {
    const pricing: PerVideo = {
      unit: "second",
      prices: [
        { resolution: "720p", audio: true, microCredits: 40 },
        { resolution: "720p", microCredits: 20 },
        { resolution: "4K", microCredits: 60 }
      ]
    }
    const seconds = 5
    assert.strictEqual(videoCost(pricing, { seconds, resolution: "720p", audio: true }), 200)
    assert.strictEqual(videoCost(pricing, { seconds, resolution: "720p" }), 100)
    assert.strictEqual(videoCost(pricing, { seconds, resolution: "1080p" }), 300)
    assert.strictEqual(videoCost(pricing, { seconds }), 300)
    assert.strictEqual(videoCost({ unit: "video", prices: [{ microCredits: 7 }] }, { seconds }), 7)
    assert.strictEqual(videoCost({ unit: "second", microCredits: 7 }, { seconds, resolution: "4K" }), 35)
    const perToken: PerVideo = {
      unit: "video_token",
      prices: [{ audio: true, microCredits: 2_400_000 }, { microCredits: 1_200_000 }]
    }
    assert.strictEqual(videoCost(perToken, { seconds, tokens: 108_000, audio: true }), 259_200)
    assert.strictEqual(videoCost(perToken, { seconds, tokens: 1 }), 2)
  })
})
