import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import * as Voyage from "../src/Voyage.ts"
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
import { start as startVoyageDouble } from "@model-gateway/test-doubles/plain/Voyage"

const subject: Subject = {
  adapter: Voyage.adapter,
  start: startVoyageDouble,
  path: "/v1",
  bodyOf: (data) => ({ object: "list", data, usage: { total_tokens: 9 } }),
  scorePath: "data.0.relevance_score"
}

describe("Voyage", () => {
  rerankSuite(subject)

  it.live("sends what the request says, under Voyage's names", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      yield* run({ ...request, top_n: 2, options: { truncation: false } })
      assert.deepStrictEqual(JSON.parse(double.state.requests[0]?.text ?? ""), {
        model: "rerank-2.5",
        query: "green tea",
        documents: ["coffee", "green tea leaves", "black tea"],
        top_k: 2,
        truncation: false,
        return_documents: false
      })
      const { reason } = yield* Effect.flip(run({ ...request, options: { colour: "green" } }))
      assert.strictEqual(reasonText(reason), "InvalidRequest: Argument 'colour' is not supported by our API.")
    }).pipe(undici)
  )

  it.live("charges the tokens that Voyage reports", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      // 1 and 3 and 2 tokens, and 2 of the query for each.
      assert.deepStrictEqual<unknown>((yield* run(request)).charge, { cost: 1, usage: { total_tokens: 12 } })
      double.next({ body: { data: [], usage: { total_tokens: 600_000 } } })
      assert.deepStrictEqual<unknown>((yield* run(request)).charge, { cost: 30_000, usage: { total_tokens: 600_000 } })
      for (const total_tokens of [-1, 0.5, "9", 1e300]) {
        double.next({ body: { data: [], usage: { total_tokens } } })
        const { reason } = yield* Effect.flip(run(request))
        assert.strictEqual(reasonText(reason), "BadResponse: JSON of another form at usage.total_tokens")
      }
    }).pipe(undici)
  )

  it.live("never quotes less than Voyage bills, nor for what Voyage cuts off", () =>
    Effect.gen(function* () {
      const calls = yield* offered(subject)
      const { offer } = calls
      yield* quoteEnough(calls)
      // 32,000 tokens for each document, at 0.05 micro-credits.
      const endless = { query: "tea ".repeat(100_000), documents: texts(10, "tea ".repeat(100_000)) }
      assert.strictEqual(offer.quote(endless), 16_000)
    }).pipe(undici)
  )

  it.effect("calls the address that a key is for, the gateway's or a caller's own", () =>
    Effect.gen(function* () {
      const called: Array<readonly [string, string | undefined]> = []
      const client = HttpClient.make((request, url) => {
        called.push([url.href, request.headers["authorization"]])
        return Effect.succeed(HttpClientResponse.fromWeb(request, Response.json({ data: [] })))
      })
      const keyOf = (key: string) => ({ id: key, secret: Redacted.make(key) })
      const call = Effect.fnUntraced(
        function* (baseUrl: string, own: string, callers?: string) {
          const upstream = { name: "voyage", baseUrl, credential: gatewayCredential(Redacted.make(own)) }
          const [offer] = yield* Voyage.adapter.offers(upstream, Voyage.adapter.models)
          if (offer?.kind !== "rerank") return assert.fail("no rerank offer")
          yield* offer.run(request, callers === undefined ? upstream.credential : keyOf(callers))
        },
        Effect.provideService(HttpClient.HttpClient, client)
      )
      const voyage = "https://api.voyageai.com/v1"
      const atlas = "https://ai.mongodb.com/v1"
      yield* call(voyage, "pa-1")
      yield* call(voyage, "al-1")
      yield* call(voyage, "pa-1", "al-2")
      yield* call(voyage, "al-1", "pa-2")
      yield* call(atlas, "al-1")
      yield* call(atlas, "al-1", "pa-2")
      // A proxy of the operator takes all keys.
      yield* call("https://proxy.internal/voyage", "al-1")
      assert.deepStrictEqual(called, [
        [`${voyage}/rerank`, "Bearer pa-1"],
        [`${atlas}/rerank`, "Bearer al-1"],
        [`${atlas}/rerank`, "Bearer al-2"],
        [`${voyage}/rerank`, "Bearer pa-2"],
        [`${atlas}/rerank`, "Bearer al-1"],
        [`${voyage}/rerank`, "Bearer pa-2"],
        ["https://proxy.internal/voyage/rerank", "Bearer al-1"]
      ])
    })
  )

  it.live("splits by documents and by tokens", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      yield* run({ ...request, documents: texts(1001, "tea") })
      assert.strictEqual(double.state.requests.length, 2)
      const documents = [...texts(500, "tea ".repeat(500)), { text: "green tea" }]
      const { answer } = yield* run({ ...request, documents, top_n: 1 })
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [500]
      )
      // 2,025 bytes for each pair of 500 documents.
      assert.strictEqual(double.state.requests.length, 4)
    }).pipe(undici)
  )

  it.live("maps the cases of a 400", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [number, string, string]> = [
        [400, "Model rerank-9 is not supported. Supported models are …", "UnknownModel: unknown model rerank-2.5"],
        [
          400,
          "The max allowed tokens per submitted batch is 600000. Your batch has 700000 tokens.",
          "InputTooLarge: The max allowed tokens per submitted batch is 600000. Your batch has 700000 tokens."
        ],
        [
          400,
          "The number of documents cannot exceed 1000.",
          "InputTooLarge: The number of documents cannot exceed 1000."
        ],
        [400, "The query must be a string.", "InvalidRequest: The query must be a string."],
        [403, "Your IP address is forbidden.", "Unauthorized: the provider rejected its credentials"],
        [502, "", "Overloaded: the provider is overloaded"]
      ]
      for (const [status, detail, expected] of cases) {
        const { reason } = yield* failureOf(subject, { status, body: { detail } })
        assert.strictEqual(reasonText(reason), expected)
      }
    }).pipe(undici)
  )
})
