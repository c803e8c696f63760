import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import type { RerankModel } from "@model-gateway/offers/Model"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import * as Tei from "../src/Tei.ts"
import {
  failureOf,
  key,
  offered,
  reasonText,
  request,
  rerankSuite,
  type Subject,
  texts,
  undici
} from "./support/rerankSuite.ts"
import { start as startTeiDouble } from "@model-gateway/test-doubles/plain/Tei"

const subject: Subject = {
  adapter: Tei.adapter,
  start: startTeiDouble,
  path: "",
  bodyOf: (results) => results.map(({ relevance_score, ...result }) => ({ ...result, score: relevance_score })),
  scorePath: "0.score"
}

const priced: RerankModel = {
  kind: "rerank",
  publicId: "tei/bge",
  upstreamId: "bge",
  name: "BGE",
  pricing: { unit: "token", inputMicroCredits: 1_000_000, outputMicroCredits: 0 }
}

describe("Tei", () => {
  rerankSuite(subject)

  it.live("sends the texts, and no model", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      yield* run({ ...request, top_n: 2 })
      yield* run({ ...request, options: { truncate: false } })
      const body = {
        query: "green tea",
        texts: ["coffee", "green tea leaves", "black tea"],
        return_text: false
      }
      assert.deepStrictEqual(
        double.state.requests.map(({ text }): unknown => JSON.parse(text)),
        [
          { truncate: true, ...body },
          { truncate: false, ...body }
        ]
      )
    }).pipe(undici)
  )

  it.live("calls a server that needs no key", () =>
    Effect.gen(function* () {
      const open = { ...subject, start: () => startTeiDouble({ keys: [] }) }
      const { double, run } = yield* offered(open, { credential: gatewayCredential() })
      yield* run(request)
      assert.isUndefined(double.state.requests[0]?.headers["authorization"])
    }).pipe(undici)
  )

  it.live("maps logits into 0…1 in the same order", () =>
    Effect.gen(function* () {
      const { run } = yield* offered(subject)
      const { answer: scores } = yield* run(request)
      const { answer: logits } = yield* run({ ...request, options: { raw_scores: true } })
      assert.deepStrictEqual(
        logits.results.map(({ index }) => index),
        scores.results.map(({ index }) => index)
      )
      assert.isTrue(logits.results.every(({ relevance_score }) => relevance_score >= 0 && relevance_score <= 1))
      // Logits also if all of them lie in 0…1, as those of the first documents may.
      const { double, run: again } = yield* offered(subject)
      double.next({ body: [{ index: 0, score: 0 }] })
      const { answer } = yield* again({ ...request, options: { raw_scores: true } })
      assert.deepStrictEqual(answer.results, [{ index: 0, relevance_score: 0.5 }])
    }).pipe(undici)
  )

  it.live("is free of charge, and reports the tokens of the header", () =>
    Effect.gen(function* () {
      const { offer, run } = yield* offered(subject)
      assert.strictEqual(offer.quote(request), 0)
      assert.isFalse(offer.isFree)
      assert.deepStrictEqual<unknown>((yield* run(request)).charge, { cost: 0, usage: { total_tokens: 12 } })
    }).pipe(undici)
  )

  it.live("charges the price of a settings file, per token or per search unit", () =>
    Effect.gen(function* () {
      const { double, offer, run } = yield* offered(subject, {}, priced)
      assert.deepStrictEqual<unknown>((yield* run(request)).charge, { cost: 12, usage: { total_tokens: 12 } })
      assert.isAtLeast(offer.quote(request), 12)
      double.next({ body: [] })
      const unreported = yield* run(request)
      assert.deepStrictEqual<unknown>(unreported.charge, { cost: Math.ceil(offer.quote(request) / 4), usage: {} })

      const byUnit: RerankModel = { ...priced, pricing: { unit: "search_unit", microCredits: 500 } }
      const units = yield* offered(subject, {}, byUnit)
      const many = { ...request, documents: texts(101, "tea") }
      assert.strictEqual(units.offer.quote(many), 1000)
      assert.deepStrictEqual<unknown>((yield* units.run(many)).charge, {
        cost: 1000,
        usage: { search_units: 2, total_tokens: 303 }
      })
    }).pipe(undici)
  )

  it.live("splits by 32 texts and by 2,000,000 bytes, as the server's limits are by default", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject)
      const documents = [...texts(64, "tea"), { text: "green tea" }]
      const { answer, charge } = yield* run({ ...request, documents })
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [64, ...Array.from({ length: 64 }, (_, index) => index).toSorted((a, b) => (a % 32) - (b % 32) || a - b)]
      )
      assert.deepStrictEqual(charge.usage, { total_tokens: 64 * 3 + 4 })
      assert.strictEqual(double.state.requests.length, 3)

      // Escaped, each of them takes 600,000 bytes.
      yield* run({ query: '"'.repeat(10_000), documents: texts(4, '"\u0000'.repeat(75_000)) })
      const sizes = double.state.requests.slice(3).map(({ bytes }) => bytes.length)
      assert.deepStrictEqual(
        sizes.map((size) => size <= 2_000_000),
        [true, true]
      )
    }).pipe(undici)
  )

  it.live("reports too many texts and too long ones as too large, so that another server is tried", () =>
    Effect.gen(function* () {
      const tooMany = yield* offered(subject, {}, { ...priced, parameters: { documentsPerCall: 64 } })
      const many = yield* Effect.flip(tooMany.run({ ...request, documents: texts(33, "tea") }))
      assert.strictEqual(reasonText(many.reason), "InputTooLarge: batch size 33 > maximum allowed batch size 32")
      const { run } = yield* offered(subject)
      const long = { ...request, documents: texts(1, "tea ".repeat(511)), options: { truncate: false } }
      const { canFallBack, reason, status } = yield* Effect.flip(run(long))
      assert.include(
        reasonText(reason),
        "InputTooLarge: Input validation error: `inputs` must have less than 512 tokens"
      )
      assert.deepStrictEqual([canFallBack, status], [true, 422])
    }).pipe(undici)
  )

  it.live("takes at most 64 of the server's permits, of which a call takes one for each text", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject, { timeLimit: Duration.millis(500) })
      double.always({ fault: "hang" })
      const { reason } = yield* Effect.flip(run({ ...request, documents: texts(500, "tea") }))
      assert.strictEqual(reason._tag, "Timeout")
      assert.lengthOf(double.state.requests, 2)
    }).pipe(undici)
  )

  it.live("says that a part of a failed request may be billed", () =>
    Effect.gen(function* () {
      const { double, run } = yield* offered(subject, {}, { ...priced, parameters: { concurrency: 1 } })
      const documents = texts(65, "tea")
      double.next({ status: 429 })
      const first = yield* Effect.flip(run({ ...request, documents }))
      assert.deepStrictEqual([first.reason._tag, first.isPartlyBilled], ["Overloaded", undefined])
      // A failed call stops the others.
      assert.strictEqual(double.state.requests.length, 1)
      double.next({ body: [] }, { status: 429 })
      const second = yield* Effect.flip(run({ ...request, documents }))
      assert.deepStrictEqual([second.reason._tag, second.status, second.isPartlyBilled], ["Overloaded", 429, true])
      assert.strictEqual(double.state.requests.length, 3)
    }).pipe(undici)
  )

  it.live("maps the server's error types", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [number, unknown, string]> = [
        [429, { error: "Model is overloaded", error_type: "Overloaded" }, "Overloaded: the provider is overloaded"],
        [503, { error: "Unhealthy", error_type: "unhealthy" }, "Unavailable: the provider is not available"],
        [424, { error: "Inference failed", error_type: "Backend" }, "BadResponse: status 424"],
        [424, { error: "model is not a re-ranker model", error_type: "Backend" }, "UnknownModel: unknown model *"],
        [422, { error: "Tokenization error", error_type: "Tokenizer" }, "InvalidRequest: Tokenization error"],
        [
          422,
          { error: "batch size 64 > maximum allowed batch size 32", error_type: "Validation" },
          "InputTooLarge: batch size 64 > maximum allowed batch size 32"
        ],
        [
          413,
          {
            error: "Input validation error: `inputs` must have less than 512 tokens. Given: 785",
            error_type: "Validation"
          },
          "InputTooLarge: Input validation error: `inputs` must have less than 512 tokens. Given: 785"
        ]
      ]
      for (const [status, body, expected] of cases) {
        const { reason } = yield* failureOf(subject, { status, body })
        assert.strictEqual(reasonText(reason), expected)
      }
      const { run } = yield* offered(subject)
      const { reason } = yield* Effect.flip(run({ ...request, documents: [{ text: "x".repeat(2_000_001) }] }))
      assert.strictEqual(reasonText(reason), "InputTooLarge: the input is too large for the provider")
      const wrong = { id: "tenant", secret: Redacted.make(`${key}x`) }
      assert.strictEqual((yield* Effect.flip(run(request, wrong))).reason._tag, "Unauthorized")
    }).pipe(undici)
  )
})
