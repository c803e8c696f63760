// Images as documents, through the whole service and the adapter of Jina AI, against a double on a
// socket.
import { NodeHttpClient } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import * as Models from "@model-gateway/core/Models"
import { Response } from "@model-gateway/core/Rerank"
import * as Jina from "@model-gateway/providers/Jina"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import type { Double as UpstreamDouble } from "@model-gateway/test-doubles/Double"
import { start as startJinaDouble } from "@model-gateway/test-doubles/plain/Jina"
import { inSet, issuePaths, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const key = "jina-secret-0123456789"

class Double extends Context.Service<Double, UpstreamDouble>()("test/Double") {}

const layerDouble = Layer.effect(
  Double,
  Effect.acquireRelease(
    Effect.promise(() => startJinaDouble({ keys: [key] })),
    (double) => Effect.promise(() => double.close())
  )
)

const offers = Effect.flatMap(Double, ({ url }) =>
  Jina.adapter.offers(
    { name: "jina", baseUrl: `${url}/v1`, credential: gatewayCredential(Redacted.make(key)) },
    Jina.adapter.models
  )
)

const gateway = Layer.unwrap(Effect.map(offers, (offers) => layer(undefined, [offers]))).pipe(
  Layer.provideMerge(layerDouble),
  Layer.provide(NodeHttpClient.layerUndici)
)

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response))
const decodeModels = Schema.decodeUnknownSync(Schema.fromJsonString(Models.ListResponse))

const linked = "https://example.com/green/tea.png"
const inline = `data:image/png;base64,${Buffer.from("a small picture").toString("base64")}`

it.layer(gateway, { excludeTestServices: true })("POST /rerank with images", (it) => {
  it.effect("ranks them beside texts, echoes them, and charges what the provider counts [spec L4 E8]", () =>
    Effect.gen(function* () {
      const documents = ["coffee", { image: linked }, { image: inline }]
      const answer = yield* post("/api/v1/rerank", { model: "jina/jina-reranker-m0", query: "green tea", documents })
      inSet("rerank", answer)
      const { results, usage } = decode(answer.text)
      expect(results[0]).toMatchObject({ index: 1, document: { image: linked } })
      expect(results.find(({ index }) => index === 2)?.document).toEqual({ image: inline })
      expect(usage?.total_tokens).toBeGreaterThan(2 * 768)
      expect(usage).not.toHaveProperty("search_units")
    })
  )

  it.effect("refuses them without a call where the model ranks text only, or takes one of both [spec L4]", () =>
    Effect.gen(function* () {
      const { state } = yield* Double
      const before = state.requests.length
      const refused = (model: string, document: object) =>
        Effect.map(post("/api/v1/rerank", { model, query: "tea", documents: ["a", document] }), (answer) => [
          answer.status,
          issuePaths(answer)
        ])
      expect(yield* refused("jina/jina-reranker-v3", { image: linked })).toEqual([400, ["documents.1.image"]])
      expect(yield* refused("jina/jina-reranker-m0", { text: "tea", image: linked })).toEqual([400, ["documents.1"]])
      expect(state.requests).toHaveLength(before)
    })
  )

  it.effect("GET /models says which models read them", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const { data } = decodeModels((yield* ask("/api/v1/models")).text)
      const inputs = data.map(({ architecture, id }) => [id, architecture.input_modalities])
      expect(inputs).toContainEqual(["jina/jina-reranker-m0", ["text", "image"]])
      expect(inputs).toContainEqual(["jina/jina-reranker-v3", ["text"]])
    })
  )
})
