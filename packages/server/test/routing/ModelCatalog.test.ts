import { describe, expect, it } from "@effect/vitest"
import { gatewayCredential, type RerankOffer } from "@model-gateway/offers/Offer"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect } from "effect"
import { make } from "../../src/routing/ModelCatalog.ts"

const offer = (publicId: string): RerankOffer => ({
  kind: "rerank",
  publicId,
  upstreamId: publicId,
  provider: "test",
  name: publicId,
  isFree: false,
  credential: gatewayCredential(),
  pricing: { unit: "search_unit", microCredits: 1 },
  capabilities: { image_documents: false },
  quote: () => MicroCredits.make(1),
  run: () => Effect.never
})

describe("ModelCatalog", () => {
  const catalog = make([offer("tei/*"), offer("tei/org/*"), offer("tei/known"), offer("other/model")])

  it("finds the id itself before the longest prefix", () => {
    const found = (id: string) => catalog.rerank(id)?.id
    expect(["tei/known", "tei/BAAI/bge", "tei/x", "tei/org/a", "tei/org/a/b", "other/model"].map(found)).toEqual([
      "tei/known",
      "tei/*",
      "tei/*",
      "tei/org/*",
      "tei/org/*",
      "other/model"
    ])
    expect(
      ["tei", "tei/", "teix/a", "other/x", "/x", "", "/", "*"].map(found).filter((id) => id !== undefined)
    ).toEqual([])
  })

  it("lists a prefix once, and knows the kind of its ids", () => {
    expect(catalog.all.map(({ id }) => id)).toEqual(["tei/*", "tei/org/*", "tei/known", "other/model"])
    expect(catalog.kindsOf("tei/anything")).toEqual(["rerank"])
    expect(catalog.kindsOf("video/anything")).toEqual([])
    expect(catalog.video("tei/anything")).toBeUndefined()
  })
})
