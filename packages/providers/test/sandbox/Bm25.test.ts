import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { rank, words } from "../../src/sandbox/Bm25.ts"

const order = (query: string, documents: ReadonlyArray<string>, top_n?: number) =>
  Effect.map(rank(query, documents, top_n), ({ results }) => results.map((result) => result.index))

describe("Bm25.words", () => {
  it.each([
    ["plain text, in ASCII: 2nd try!", ["plain", "text", "in", "ascii", "2nd", "try"]],
    ["The Café's MENÜ", ["the", "cafe", "s", "menu"]],
    ["cafe\u0301", ["cafe"]],
    ["Ｆｕｌｌ ｗｉｄｔｈ", ["full", "width"]],
    ["Ёлка и йод", ["ёлка", "и", "йод"]],
    ["हिन्दी में", ["हिन्दी", "में"]],
    ["한국어 단어", ["한국어", "단어"]],
    ["東京都に住む", ["東京", "都", "に", "住む"]],
    ["ภาษาไทย", ["ภาษา", "ไทย"]],
    ["“quoted” – dashed…", ["quoted", "dashed"]],
    ["👍 ⁉", []],
    ["", []]
  ])("of %j", (text, expected) => {
    assert.deepStrictEqual([...words(text)], expected)
  })
})

describe("Bm25.rank", () => {
  it.effect("puts the document with the query's rarer words first", () =>
    Effect.gen(function* () {
      const documents = [
        "How billing works in your account",
        "Reset a forgotten password in your account",
        "Delete your account",
        "Your password policy"
      ]
      assert.deepStrictEqual(yield* order("forgotten password", documents), [1, 3, 0, 2])
    })
  )

  it.effect("prefers the shorter of two documents that hold the same words", () =>
    Effect.gen(function* () {
      const documents = ["green tea and a long tale of how it is grown, picked, rolled and dried", "green tea"]
      assert.deepStrictEqual(yield* order("green tea", documents), [1, 0])
    })
  )

  it.effect("counts a word that is there twice, but less than twice", () =>
    Effect.gen(function* () {
      const { results } = yield* rank("tea", ["tea cup", "tea tea", "milk cup"])
      const score = (index: number) => results.find((result) => result.index === index)?.relevance_score ?? 0
      assert.isAbove(score(1), score(0))
      assert.isBelow(score(1), 2 * score(0))
      assert.strictEqual(score(2), 0)
    })
  )

  it.effect("leaves equal documents in the order they came in", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* order("tea", ["milk", "tea", "milk", "tea"]), [1, 3, 0, 2])
    })
  )

  it.effect.each([
    { what: "letters of another case", query: "green TEA", document: "Green tea" },
    { what: "digits", query: "route 66", document: "Route 66!" },
    {
      what: "words longer than any in a dictionary",
      query: `${"long".repeat(20)}est`,
      document: `a ${"LONG".repeat(20)}est word`
    }
  ])("finds $what, and scores plain text as it does text beside a word of another script", ({ document, query }) =>
    Effect.gen(function* () {
      const other = [`${"long".repeat(20)}er roads`, "nothing of it"]
      const plain = yield* rank(query, [document, `the ${other[0]} x`, `and ${other[1]} x`])
      const beside = yield* rank(query, [document, `the ${other[0]} я`, `and ${other[1]} я`])
      assert.deepStrictEqual(plain, beside)
      assert.deepStrictEqual(
        plain.results.map(({ index, relevance_score }) => [index, relevance_score > 0]),
        [
          [0, true],
          [1, false],
          [2, false]
        ]
      )
    })
  )

  it.effect("gives at most top_n, and all when there are fewer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* order("tea", ["milk", "tea", "water"], 1), [1])
      assert.deepStrictEqual(yield* order("tea", ["milk", "tea"], 10), [1, 0])
    })
  )

  it.effect("scores between 0 and 1, whatever the input", () =>
    Effect.gen(function* () {
      const documents = ["", "tea", "tea ".repeat(500), "東京 tea", "!!!"]
      for (const query of ["tea", "tea tea 東京", "!!!", ""]) {
        for (const { relevance_score } of (yield* rank(query, documents)).results) {
          assert.isTrue(Number.isFinite(relevance_score) && relevance_score >= 0 && relevance_score <= 1)
        }
      }
      assert.deepStrictEqual((yield* rank("tea", [""])).results, [{ index: 0, relevance_score: 0 }])
    })
  )

  it.effect("counts the words of query and documents", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* rank("green tea", ["a cup of tea", "milk"])).total_tokens, 7)
    })
  )

  it.effect("ranks megabytes like a few words, and lets others work meanwhile", () =>
    Effect.gen(function* () {
      const filler = "lorem ipsum dolor ".repeat(60_000)
      const ranking = yield* Effect.forkChild(
        rank(`needle ${filler}`, [filler, `${filler}needle`, "東京都".repeat(50_000)])
      )
      let turns = 0
      while (ranking.pollUnsafe() === undefined) {
        turns++
        yield* Effect.yieldNow
      }
      const { results, total_tokens } = yield* Fiber.join(ranking)
      assert.isAbove(turns, 20)
      assert.deepStrictEqual(
        results.map((result) => result.index),
        [1, 0, 2]
      )
      assert.isAbove(total_tokens, 3 * 180_000)
    })
  )
})
