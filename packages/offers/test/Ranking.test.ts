import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { RerankModel } from "../src/Model.ts"
import * as Ranking from "../src/Ranking.ts"

const model: RerankModel = {
  kind: "rerank",
  publicId: "example/rank",
  upstreamId: "rank",
  name: "Example",
  pricing: { unit: "token", inputMicroCredits: 1, outputMicroCredits: 0 }
}

describe("Ranking", () => {
  it("splits documents in their order, by number and by size", () => {
    const lengths = (documents: ReadonlyArray<string>, documentsPerCall: number, sizePerCall: number) =>
      Ranking.split(documents, { documentsPerCall, sizePerCall }, 2, (text) => text.length).map(
        ({ documents, start, top_n }) => [start, documents.length, top_n]
      )
    const documents = ["aa", "bb", "cccccc", "d", "ee"]
    assert.deepStrictEqual(lengths(documents, 10, 100), [[0, 5, 2]])
    assert.deepStrictEqual(lengths(documents, 2, 100), [
      [0, 2, 2],
      [2, 2, 2],
      [4, 1, 1]
    ])
    assert.deepStrictEqual(lengths(documents, 10, 4), [
      [0, 2, 2],
      [2, 1, 1],
      [3, 2, 2]
    ])
    assert.deepStrictEqual(lengths([], 10, 4), [[0, 0, 0]])
  })

  it("keeps scores from 0 to 1, and maps all others with the sigmoid", () => {
    const scores = (...values: ReadonlyArray<number>) =>
      Ranking.normalize(values.map((relevance_score, index) => ({ index, relevance_score }))).map(
        ({ relevance_score }) => relevance_score
      )
    assert.deepStrictEqual(scores(1, 0.7, 0), [1, 0.7, 0])
    assert.deepStrictEqual(scores(0), [0])
    assert.deepStrictEqual(scores(), [])
    const logits = scores(1000, 3, 0.5, -3, -1000)
    assert.deepStrictEqual([logits[0], logits[4]], [1, 0])
    assert.deepStrictEqual(
      logits,
      logits.toSorted((a, b) => b - a)
    )
    assert.closeTo(logits[1] ?? 0, 0.9526, 1e-4)
  })

  it("keeps probabilities within 0 to 1, and maps logits even if all lie there", () => {
    const scores = (kind: Ranking.Scores, ...values: ReadonlyArray<number>) =>
      Ranking.normalize(
        values.map((relevance_score, index) => ({ index, relevance_score })),
        kind
      ).map(({ relevance_score }) => relevance_score)
    assert.deepStrictEqual(scores("probability", 1.000_000_1, 0.7, -0.1), [1, 0.7, 0])
    assert.deepStrictEqual(scores("logit", 0), [0.5])
    assert.closeTo(scores("logit", 0.9)[0] ?? 0, 0.7109, 1e-4)
  })

  it("sorts results, and keeps the order of equal scores", () => {
    const results = [0.1, 0.5, 0.3, 0.5].map((relevance_score, index) => ({ index, relevance_score }))
    assert.deepStrictEqual(
      Ranking.normalize(results).map(({ index }) => index),
      [1, 3, 2, 0]
    )
  })

  it("finds a score that has no place in an order or in JSON", () => {
    for (const relevance_score of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      assert.strictEqual(Ranking.flawOf([{ index: 0, relevance_score }], 2), "a score that is not a finite number")
    }
  })

  it("rejects an index that no document has", () => {
    for (const index of [-1, 0.5, 2, Number.NaN]) {
      assert.strictEqual(Ranking.flawOf([{ index, relevance_score: 1 }], 2), "an index without a document")
    }
    assert.isUndefined(Ranking.flawOf([{ index: 1, relevance_score: 1 }], 2))
  })

  it.effect("gives a document the same score with every top_n, of one call and of several", () =>
    Effect.gen(function* () {
      const documents = ["a", "b", "c", "d"]
      const logits = [0.2, 0.9, -3, 0.4]
      for (const documentsPerCall of [4, 1]) {
        for (const scores of [undefined, "logit", "probability"] as const) {
          const parameters = { documentsPerCall, ...(scores === undefined ? {} : { scores }) }
          const limits = yield* Ranking.limitsOf({ ...model, parameters }, { documentsPerCall: 9 })
          const offer = Ranking.offer({
            upstream: { name: "example", baseUrl: "", credential: { id: "gateway" } },
            model,
            limits,
            maxTokens: { query: 10, pair: 20 },
            // As upstreams do, which sort, and return no more than they are asked for.
            call: (_, part) =>
              Effect.succeed({
                results: Ranking.sorted(
                  part.documents.map((_, index) => ({ index, relevance_score: logits[part.start + index] ?? 0 }))
                ).slice(0, part.top_n)
              })
          })
          const scoresWith = Effect.fnUntraced(function* (top_n: number) {
            const request = { query: "q", documents: documents.map((text) => ({ text })), top_n }
            const { answer } = yield* offer.run(request, { id: "gateway" })
            return answer.results.map(({ relevance_score }) => relevance_score)
          })
          const all = yield* scoresWith(4)
          assert.lengthOf(all, 4)
          for (const top_n of [1, 2, 3]) assert.deepStrictEqual(yield* scoresWith(top_n), all.slice(0, top_n))
        }
      }
    })
  )

  it.effect("runs a few calls at a time, and maps the merged scores together", () =>
    Effect.gen(function* () {
      const limits = yield* Ranking.limitsOf(model, { documentsPerCall: 1 })
      assert.strictEqual(limits.concurrency, 4)
      let running = 0
      let most = 0
      const call = ({ start }: Ranking.Part) =>
        Effect.gen(function* () {
          most = Math.max(most, ++running)
          yield* Effect.sleep("1 second")
          running--
          // Of these only the second lies outside of 0…1.
          return { results: [{ index: 0, relevance_score: start === 1 ? 3 : start / 100 }], total_tokens: 2 }
        })
      const parts = Ranking.split(["a", "b", "c", "d", "e", "f"], limits)
      const fiber = yield* Effect.forkChild(
        Ranking.rank({ documents: 6, top_n: 3, publicId: "m" }, parts, limits, call)
      )
      yield* TestClock.adjust("2 seconds")
      const { results, search_units, total_tokens } = yield* Fiber.join(fiber)
      assert.deepStrictEqual([most, total_tokens, search_units], [4, 12, undefined])
      assert.deepStrictEqual(
        results.map(({ index }) => index),
        [1, 5, 4]
      )
      assert.closeTo(results[1]?.relevance_score ?? 0, 1 / (1 + Math.exp(-0.05)), 1e-9)
    })
  )

  it.effect("names the parameter of a model that is wrong", () =>
    Effect.gen(function* () {
      const wrong: ReadonlyArray<readonly [RerankModel["parameters"] & {}, string]> = [
        [{ documentsPerCall: 0 }, "documentsPerCall"],
        [{ concurrency: "many" }, "concurrency"],
        [{ documents: 5 }, "documents"]
      ]
      for (const [parameters, field] of wrong) {
        const error = yield* Effect.flip(Ranking.limitsOf({ ...model, parameters }, { documentsPerCall: 1 }))
        assert.include(error.message, field)
      }
      const limits = yield* Ranking.limitsOf({ ...model, parameters: { documentsPerCall: 5 } }, { documentsPerCall: 1 })
      assert.strictEqual(limits.documentsPerCall, 5)
    })
  )
})
