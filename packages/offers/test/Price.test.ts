import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as Model from "../src/Model.ts"
import * as Price from "../src/Price.ts"

const description = { publicId: "a/b", upstreamId: "b", name: "B" }

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

  it("of a video may be per million tokens of video", () => {
    const price = { video_tokens: [{ audio: true, credits: 2.4 }, { credits: 1.2 }] }
    const pricing = Price.toPricing(price)
    assert.deepStrictEqual(pricing, {
      unit: "video_token",
      prices: [{ audio: true, microCredits: 2_400_000 }, { microCredits: 1_200_000 }]
    })
    if (pricing === undefined) return assert.fail("no pricing")
    assert.deepStrictEqual(Price.fromPricing(pricing), price)
    assert.strictEqual(Model.make("video", description, pricing)?.kind, "video")
    assert.isUndefined(Model.make("transcription", description, pricing))
    assert.isUndefined(Price.toPricing({ video_tokens: 7, second: 1 }))
    assert.isUndefined(Price.toPricing({ video_tokens: 7, output_tokens: 1 }))
  })
})
