import { describe, expect, it } from "vitest"
import { simulatedStatus } from "../../src/parts/simulators.ts"
import { abilitiesOf, priceOf, search, type Shown } from "../../src/play/shared/models.ts"

const model = (id: string, change: Partial<Shown> = {}): Shown => ({
  id,
  name: id,
  providers: ["sandbox"],
  is_free: false,
  pricing: { prompt: "0", completion: "0" },
  capabilities: {},
  ...change
})

describe("the search for a model", () => {
  const models = [
    model("cohere/rerank-v3.5", { name: "Rerank 3.5", providers: ["cohere", "bedrock"] }),
    model("jina/multimodal", { providers: ["jina"], capabilities: { image_documents: true } }),
    model("sandbox/status-429")
  ]
  const found = (text: string) => {
    const { models: some, simulators } = search(models, text)
    return [...some, ...simulators].map(({ id }) => id)
  }

  it("looks at name, provider, price and abilities, and wants every word", () => {
    expect(found("BEDROCK rerank")).toEqual(["cohere/rerank-v3.5"])
    expect(found("images")).toEqual(["jina/multimodal"])
    expect(found("bedrock images")).toEqual([])
  })

  it("keeps the simulators of errors apart", () => {
    expect(search(models, "").simulators.map(({ id }) => id)).toEqual(["sandbox/status-429"])
    expect(["sandbox/status-429", "sandbox/bm25"].map(simulatedStatus)).toEqual([429, undefined])
  })
})

it("prices have their unit", () => {
  const price = (change: Partial<Shown>) => priceOf(model("a/b", change))
  expect(price({ is_free: true })).toBe("free")
  expect(price({ pricing: { prompt: "0", completion: "0", search_unit: "0.002" } })).toBe("0.002 a search unit")
  expect(price({ pricing: { prompt: "0.000000025", completion: "0" } })).toBe("0.025 a million tokens read")
})

it("abilities are words", () => {
  const capabilities = { resolutions: ["720p", "1080p"] as const, max_duration: 8, generate_audio: true }
  expect(abilitiesOf(model("a/b", { capabilities }))).toEqual(["720p, 1080p", "up to 8 s", "sound"])
})
