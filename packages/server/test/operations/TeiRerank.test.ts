// A rerank through the whole service and the adapter of Text Embeddings Inference, against a double
// on a socket.
import { NodeHttpClient } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Response } from "@model-gateway/core/Rerank"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import * as Tei from "@model-gateway/providers/Tei"
import { Context, Effect, Layer, Redacted, Schema } from "effect"
import type { Double as UpstreamDouble } from "@model-gateway/test-doubles/Double"
import { start as startTeiDouble } from "@model-gateway/test-doubles/plain/Tei"
import { KeyStore } from "../../src/access/KeyStore.ts"
import * as TestLedger from "../accounting/TestLedger.ts"
import { envelopeOf, inSet, post } from "../TestEnvelope.ts"
import { layer, TestGateway } from "../TestGateway.ts"

const path = "/api/v1/rerank"

class Double extends Context.Service<Double, UpstreamDouble>()("test/Double") {}

const layerDouble = Layer.effect(
  Double,
  Effect.acquireRelease(
    Effect.promise(() => startTeiDouble({ keys: [] })),
    (double) => Effect.promise(() => double.close())
  )
)

const offers = Effect.flatMap(Double, ({ url }) =>
  Tei.adapter.offers({ name: "tei", baseUrl: url, credential: gatewayCredential() }, Tei.adapter.models)
)

const gateway = Layer.unwrap(Effect.map(offers, (offers) => layer(undefined, [offers]))).pipe(
  Layer.provideMerge(layerDouble),
  Layer.provide(NodeHttpClient.layerUndici)
)

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Response))

it.layer(gateway, { excludeTestServices: true })("POST /rerank through Text Embeddings Inference", (it) => {
  it.effect("serves every id that begins with tei/, free of charge, in as many calls as it takes [spec E8]", () =>
    Effect.gen(function* () {
      const { state } = yield* Double
      const { workspace } = yield* TestGateway
      const { key, plain } = yield* (yield* KeyStore).create({
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        name: "test",
        limit: null
      })
      const documents = [...Array.from({ length: 64 }, () => "coffee"), "green tea"]
      const request = { model: "tei/BAAI/bge-reranker-base", query: "green tea", documents, top_n: 1 }
      const answer = yield* post(path, request, { key: Redacted.value(plain) })
      inSet("rerank", answer)
      const { id, ...rest } = decode(answer.text)
      expect(rest).toEqual({
        model: "tei/BAAI/bge-reranker-base",
        provider: "tei",
        results: [{ index: 64, relevance_score: 1, document: { text: "green tea" } }],
        usage: { total_tokens: 64 * 3 + 4, cost: 0 }
      })
      expect(state.requests.map(({ url }) => url)).toEqual(["/rerank", "/rerank", "/rerank"])
      expect(yield* TestLedger.usageOf({ keyHash: key.hash })).toMatchObject([
        { id, model: "tei/BAAI/bge-reranker-base", provider: "tei", reserved: 0, cost: 0 }
      ])
      const other = yield* post(path, { ...request, model: "teiX/a" }, { key: Redacted.value(plain) })
      expect(envelopeOf(other).error.code).toBe(404)
    })
  )
})
