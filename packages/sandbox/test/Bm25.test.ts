import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { rank, words } from "../src/Bm25.ts"

/** How often the event loop comes to others while the effect runs. */
const turnsDuring = Effect.fnUntraced(function* <A>(effect: Effect.Effect<A>) {
  const fiber = yield* Effect.forkChild(effect)
  let turns = 0
  while (fiber.pollUnsafe() === undefined) {
    turns++
    yield* Effect.yieldNow
  }
  return { turns, answer: yield* Fiber.join(fiber) }
})

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

  it.effect("prefers the shorter of two documents with the same words", () =>
    Effect.gen(function* () {
      const documents = ["green tea and a long tale of how it is grown, picked, rolled and dried", "green tea"]
      assert.deepStrictEqual(yield* order("green tea", documents), [1, 0])
    })
  )

  it.effect("scores a word that occurs twice higher, but less than twice as high", () =>
    Effect.gen(function* () {
      const { results } = yield* rank("tea", ["tea cup", "tea tea", "milk cup"])
      const score = (index: number) => results.find((result) => result.index === index)?.relevance_score ?? 0
      assert.isAbove(score(1), score(0))
      assert.isBelow(score(1), 2 * score(0))
      assert.strictEqual(score(2), 0)
    })
  )

  it.effect("keeps documents with equal scores in their order", () =>
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

  it.effect("returns at most top_n results, and all if there are fewer", () =>
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

  it.effect("ranks megabytes like a few words, and yields to other work meanwhile", () =>
    Effect.gen(function* () {
      const filler = "lorem ipsum dolor ".repeat(60_000)
      const { answer, turns } = yield* turnsDuring(
        rank(`needle ${filler}`, [filler, `${filler}needle`, "東京都".repeat(50_000)])
      )
      const { results, total_tokens } = answer
      assert.isAbove(turns, 20)
      assert.deepStrictEqual(
        results.map((result) => result.index),
        [1, 0, 2]
      )
      assert.isAbove(total_tokens, 3 * 180_000)
    })
  )

  /**
   * Inputs on which a careless implementation takes long: by folding, by segmenting, or by the
   * number of words.
   */
  const hostile = {
    "combining marks": "\u0301\u0316",
    "combining marks of many classes": "\u0316\u0301\u0345\u0327\u05b0",
    "marks that appear by folding": "\uff9e\u0301",
    "letters with thirty marks": `a${"\u0301\u0316".repeat(15)}`,
    "characters that fold to eighteen": "\ufdfa",
    "Hangul letters": "\u1100\u1161\u11a8",
    "one word of Han": "東",
    "one word of Thai": "ภาษาไทย",
    "one word of Khmer": "ភាសាខ្មែរ",
    "one word of Cyrillic": "я",
    "words of one letter in many scripts": "a東 я한ก ",
    "Han among Latin": `東${"a".repeat(24)}`,
    "lone surrogates": "\ud800",
    "surrogate pairs": "\u{1d400}\u{10400}",
    joiners: "\u0915\u094d\u200d"
  }
  const length = 131_072
  const long = (pattern: string) => pattern.repeat(Math.ceil(length / pattern.length)).slice(0, length)
  const seconds = (text: string) =>
    Effect.map(Effect.timed(rank("a 東", [text])), ([duration]) => Duration.toSeconds(duration))

  it.live.each(Object.entries(hostile))("reads %s in a time like that of plain Russian", ([, pattern]) =>
    Effect.gen(function* () {
      const plain = Math.min(yield* seconds(long("и я ")), yield* seconds(long("и я ")))
      const text = long(pattern)
      // A pause of the machine can lengthen one run, hence the best of several. Time that grows
      // with the square of the length would be some hundred times that of plain text.
      let best = Infinity
      for (let run = 0; run < 5 && best > 20 * plain; run++) best = Math.min(best, yield* seconds(text))
      assert.isBelow(best, 20 * plain)
    })
  )

  it.effect.each(Object.entries(hostile))("pauses while it reads %s", ([, pattern]) =>
    Effect.gen(function* () {
      const { turns } = yield* turnsDuring(rank("a", [long(pattern)]))
      assert.isAbove(turns, length / 4096 / 2)
    })
  )

  it.effect("pauses while it scores many documents with many words of the query", () =>
    Effect.gen(function* () {
      const query = Array.from({ length: 4000 }, (_, at) => at.toString(36)).join(" ")
      const documents = Array.from({ length: 200 }, () => query)
      const { answer, turns } = yield* turnsDuring(rank(query, documents))
      assert.strictEqual(answer.results.length, 200)
      const reading = (query.length * 201) / 32_768
      assert.isAbove(turns, reading + 20)
    })
  )

  it.effect("cuts long text only where words end", () =>
    Effect.gen(function* () {
      const sentence = "東京都に住む人々は、毎日電車で通勤している。"
      const text = sentence.repeat(500)
      const { results, total_tokens } = yield* rank("東京", [text])
      assert.strictEqual(total_tokens, 1 + words(text).length)
      assert.isAbove(results[0]?.relevance_score ?? 0, 0.5)
    })
  )
})
