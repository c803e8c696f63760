import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Jina from "../src/Jina.ts"
import type { RerankModel } from "@model-gateway/offers/Model"
import { start as startJinaDouble } from "@model-gateway/test-doubles/plain/Jina"
import {
  failureOf,
  offered,
  quoteEnough,
  reasonText,
  request,
  rerankSuite,
  type Subject,
  texts,
  undici
} from "./support/rerankSuite.ts"

const subject: Subject = {
  adapter: Jina.adapter,
  start: startJinaDouble,
  path: "/v1",
  bodyOf: (results) => ({ results, usage: { total_tokens: 9 } }),
  scorePath: "results.0.relevance_score"
}

const v3: RerankModel = {
  kind: "rerank",
  publicId: "jina/jina-reranker-v3",
  upstreamId: "jina-reranker-v3",
  name: "Jina Reranker v3",
  pricing: { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 },
  parameters: { independentScores: false }
}

const sentBody = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ documents: Schema.Array(Schema.String), top_n: Schema.Int }))
)

describe("Jina", () => {
  rerankSuite(subject)

  it.live("sends what the request says", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      const options = { truncation: false }
      yield* run({ ...request, top_n: 2, options })
      assert.deepStrictEqual(JSON.parse(double.state.requests[0]?.text ?? ""), {
        model: "jina-reranker-v2-base-multilingual",
        query: "green tea",
        documents: ["coffee", "green tea leaves", "black tea"],
        top_n: 2,
        truncation: false,
        return_documents: false
      })
    }).pipe(undici)
  )

  it.live("charges the tokens that Jina reports, and an estimate if it reports none", () =>
    Effect.gen(function* () {
      const { double, offer, run } = yield* offered(subject)
      double.next({ body: { results: [], usage: { total_tokens: 2_000_001 } } })
      assert.deepStrictEqual<unknown>((yield* run(request)).charge, {
        cost: 100_001,
        usage: { total_tokens: 2_000_001 }
      })
      const long = { ...request, documents: texts(100, "tea ".repeat(100)) }
      for (const usage of [undefined, null, {}]) {
        double.next({ body: { results: [], usage } })
        const { charge } = yield* run(long)
        assert.deepStrictEqual(charge.usage, {})
        assert.strictEqual(charge.cost, Math.ceil(offer.quote(long) / 4))
      }
    }).pipe(undici)
  )

  it.live("never quotes less than Jina bills", () =>
    Effect.gen(function* () {
      const words = "tea ".repeat(10_000)
      yield* quoteEnough(yield* offered(subject), { query: words, documents: texts(20, words) })
    }).pipe(undici)
  )

  it.live("splits more than 2,048 documents, and merges the rankings", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      const documents = [...texts(4096, "coffee"), { text: "green tea" }]
      const { answer, charge } = yield* run({ ...request, documents, top_n: 2 })
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [4096, 0]
      )
      assert.deepStrictEqual(
        double.state.requests
          .map(({ text }) => {
            const body = sentBody(text)
            return [body.documents.length, body.top_n]
          })
          .toSorted(([a = 0], [b = 0]) => b - a),
        [
          [2048, 2],
          [2048, 2],
          [1, 1]
        ]
      )
      // Each document has 2 tokens for the query, and 1 or 2 of its own.
      assert.deepStrictEqual(charge.usage, { total_tokens: 4096 * 3 + 4 })
    }).pipe(undici)
  )

  it.live("refuses more documents than one call of a listwise model takes", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject, {}, v3)
      const error = yield* Effect.flip(run({ ...request, documents: texts(2049, "tea") }))
      assert.strictEqual(
        reasonText(error.reason),
        'InputTooLarge: the model "jina/jina-reranker-v3" ranks at most 2048 documents per request'
      )
      assert.deepStrictEqual(double.state.requests, [])
    }).pipe(undici)
  )

  it.live("ranks images by URL and in base64 beside texts, and quotes enough for them [spec L4]", () =>
    Effect.gen(function* () {
      const m0 = Jina.adapter.models.find(({ upstreamId }) => upstreamId === "jina-reranker-m0")
      if (m0?.kind !== "rerank") return assert.fail("no multimodal model")
      const { double, offer, run } = yield* offered(subject, {}, m0)
      assert.isTrue(offer.capabilities.image_documents)
      const pixels = Buffer.from("a small picture").toString("base64")
      const documents = [
        { text: "coffee" },
        { image: "https://example.com/green/tea.png" },
        { image: `data:image/png;base64,${pixels}` }
      ]
      const { answer, charge } = yield* run({ ...request, documents, top_n: 1 })
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [1]
      )
      assert.deepInclude(JSON.parse(double.state.requests[0]?.text ?? ""), {
        model: "jina-reranker-m0",
        documents: [{ text: "coffee" }, { image: "https://example.com/green/tea.png" }, { image: pixels }]
      })
      assert.isAtLeast(charge.usage["total_tokens"] ?? 0, 2 * 768)
      assert.isAtLeast(offer.quote({ ...request, documents }), charge.cost)
      // 10,240 tokens for an image, of which a million cost 50,000 micro-credits.
      assert.strictEqual(Number(offer.quote({ ...request, documents: [{ image: pixels }] })), 512)

      const both = yield* Effect.flip(run({ ...request, documents: [{ text: "a" }, { text: "b", image: pixels }] }))
      assert.strictEqual(
        reasonText(both.reason),
        "InvalidRequest: documents.1: jina/jina-reranker-m0 takes a text or an image in a document, not both"
      )
      assert.lengthOf(double.state.requests, 1)
    }).pipe(undici)
  )

  it.live("merges the rankings of images in several calls", () =>
    Effect.gen(function* () {
      const m0: RerankModel = {
        ...v3,
        upstreamId: "jina-reranker-m0",
        parameters: { documentsPerCall: 2, imageTokens: 9 }
      }
      const { double, run } = yield* offered(subject, {}, m0)
      const images = ["coffee", "milk", "black", "tea", "green"].map((name) => ({
        image: `https://example.com/${name}.png`
      }))
      const { answer } = yield* run({ query: "green", documents: images, top_n: 1 })
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [4]
      )
      assert.lengthOf(double.state.requests, 3)
    }).pipe(undici)
  )

  it.live("maps Jina's own codes", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [number, string, string]> = [
        [403, "AUTHZ_INSUFFICIENT_BALANCE", "OutOfCredit: the account at the provider is out of credit"],
        [403, "AUTHZ_RESOURCE_LIMIT_EXCEEDED", "OutOfCredit: the account at the provider is out of credit"],
        [403, "AUTHZ_OTHER", "Unauthorized: the provider rejected its credentials"],
        [400, "INPUT_MODEL_NOT_FOUND", "UnknownModel: unknown model jina-reranker-v2-base-multilingual"],
        [400, "INPUT_OTHER", "InvalidRequest: the input is odd"]
      ]
      for (const [status, code, expected] of cases) {
        const { reason } = yield* failureOf(subject, { status, body: { code, detail: "the input is odd" } })
        assert.strictEqual(reasonText(reason), expected)
      }
      const { run } = yield* offered(subject)
      const { reason } = yield* Effect.flip(run({ ...request, documents: [] }))
      assert.strictEqual(reasonText(reason), "InvalidRequest: documents: List should have at least 1 item")
    }).pipe(undici)
  )

  it("lists the scores of a listwise model as dependent", () => {
    const dependent = Jina.adapter.models.filter(({ parameters }) => parameters?.["independentScores"] === false)
    assert.deepStrictEqual(
      dependent.map(({ upstreamId }) => upstreamId),
      ["jina-reranker-v3"]
    )
  })
})
