/**
 * Ranks documents by Okapi BM25 over Unicode words.
 *
 * Words are runs of letters, marks and digits, compared without case, width or Latin accents. For
 * scripts without spaces (Han, kana, Thai, Lao, Khmer, Myanmar) the words come from
 * `Intl.Segmenter`, which is about fifty times slower and therefore used only there.
 *
 * A score is the fraction, from 0 to 1, of the maximum that the query allows. It is 0 exactly when
 * the document contains no word of the query.
 *
 * @since 0.1.0
 */
import { Effect } from "effect"

/** BM25's k1: how soon further occurrences of a word stop counting. */
const k1 = 1.2
/** BM25's b: how much long documents are penalized. */
const b = 0.75

const nonAscii = /[\u0080-\uffff]/
const asciiWord = /[a-z0-9]+/g
const anyRun = /[a-z0-9\u0080-\uffff]+/g
const unicodeWord = /[\p{L}\p{M}\p{N}]+/gu
const latinAccent = /(\p{Script=Latin})[\u0300-\u036f]+/gu
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

/**
 * More than 30 marks in a row. Normalization sorts each run of marks, in time that grows with the
 * square of its length. Runs are therefore cut to the length that the Stream-Safe Text Format of
 * Unicode (UAX 15) allows. Normalization also makes marks of the two halfwidth marks of katakana.
 */
const excessMarks = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu

const segmenter = new Intl.Segmenter("und", { granularity: "word" })
const noWords: ReadonlyArray<string> = []

/**
 * The words of a text, in order, folded for comparison.
 *
 * @example
 * ```ts
 * import { words } from "@model-gateway/sandbox/Bm25"
 *
 * words("The Café's 2nd menu") // ["the", "cafe", "s", "2nd", "menu"]
 * words("東京都に住む") // ["東京", "都", "に", "住む"]
 * ```
 *
 * @category converting
 * @since 0.1.0
 */
export const words = (text: string): ReadonlyArray<string> => {
  const lower = text.toLowerCase()
  if (!nonAscii.test(lower)) return lower.match(asciiWord) ?? noWords
  // Folding costs about thirty times as much as matching, so only the few runs that need it are
  // folded.
  const found: Array<string> = []
  for (const run of lower.match(anyRun) ?? noWords) {
    if (!nonAscii.test(run)) found.push(run)
    else for (const word of fold(run).match(unicodeWord) ?? noWords) found.push(word)
  }
  return segmented(found)
}

const fold = (run: string): string => {
  const bounded = run.length > 30 ? run.replace(excessMarks, "$1") : run
  return bounded.normalize("NFKD").replace(latinAccent, "$1").normalize("NFC").toLowerCase()
}

/**
 * Splits the words that may contain several. They are segmented in one call, because each call has
 * a high fixed cost.
 */
const segmented = (found: ReadonlyArray<string>): ReadonlyArray<string> => {
  const joined = found.filter((word) => unspaced.test(word))
  if (joined.length === 0) return found
  // A line break is always a boundary.
  const segments = segmenter.segment(joined.join("\n"))[Symbol.iterator]()
  return found.flatMap((word) => {
    if (!unspaced.test(word)) return word
    const parts: Array<string> = []
    for (let next = segments.next(); next.done !== true && next.value.segment !== "\n"; next = segments.next()) {
      parts.push(next.value.segment)
    }
    return parts
  })
}

/** For each ASCII character, 1 if it is part of a word. */
const inWord = Uint8Array.from({ length: 128 }, (_, code) => words(String.fromCharCode(code)).length)

/** Calls `use` for each word of an ASCII text. */
const eachAsciiWord = (text: string, use: (start: number, end: number) => void): void => {
  for (let at = 0; at < text.length; at++) {
    const start = at
    while (at < text.length && inWord[text.charCodeAt(at)] === 1) at++
    if (at > start) use(start, at)
  }
}

/**
 * A hash, below 256, of a word's first character without case and its length. Most words of a
 * document have the hash of no word of the query, so that no string is made to look them up.
 */
const hash = (first: number, length: number): number => ((first & 31) + 32 * length) & 255

/**
 * @category models
 * @since 0.1.0
 */
export interface Ranking {
  /** Best first. Equal scores are in the order of the documents. */
  readonly results: ReadonlyArray<{ readonly index: number; readonly relevance_score: number }>
  /** Number of words in the query and all documents. */
  readonly total_tokens: number
}

interface Index {
  /** Adds a document, or the next part of it. */
  readonly add: (document: number, text: string) => void
  /** How many distinct words the query has. */
  readonly terms: number
  /**
   * Adds a term's contribution to the scores, once all documents are added. Returns how many
   * documents contain it.
   */
  readonly score: (term: number) => number
  /** The ranking, once every term is scored. */
  readonly ranking: (top_n: number) => Ranking
}

const makeIndex = (query: ReadonlyArray<string>, documents: number): Index => {
  const terms = new Map<string, number>()
  const weights: Array<number> = []
  for (const word of query) {
    const term = terms.get(word)
    if (term === undefined) {
      terms.set(word, weights.length)
      weights.push(1)
    } else {
      weights[term] = (weights[term] ?? 0) + 1
    }
  }
  // For each term, the documents that contain it and how often: [document, count, document, count,
  // …]. A table of terms by documents would take gigabytes for a long query over many documents.
  const postings: Array<Array<number>> = weights.map(() => [])
  const hashes = new Uint8Array(256)
  for (const word of terms.keys()) hashes[hash(word.charCodeAt(0), word.length)] = 1
  const lengths = Array<number>(documents).fill(0)
  let total = 0
  const scores = Array<number>(documents).fill(0)
  let most = 0

  const count = (document: number, word: string): void => {
    const term = terms.get(word)
    const list = term === undefined ? undefined : postings[term]
    if (list === undefined) return
    if (list[list.length - 2] === document) list[list.length - 1] = (list[list.length - 1] ?? 0) + 1
    else list.push(document, 1)
  }

  return {
    add(document, text) {
      let length = 0
      if (nonAscii.test(text)) {
        const found = words(text)
        for (const word of found) count(document, word)
        length = found.length
      } else {
        eachAsciiWord(text, (start, end) => {
          if (hashes[hash(text.charCodeAt(start), end - start)] === 1) {
            count(document, text.slice(start, end).toLowerCase())
          }
          length++
        })
      }
      lengths[document] = (lengths[document] ?? 0) + length
      total += length
    },
    terms: postings.length,
    score(term) {
      const list = postings[term] ?? []
      const average = total / documents || 1
      const matches = list.length / 2
      const rarity = Math.log(1 + (documents - matches + 0.5) / (matches + 0.5)) * (weights[term] ?? 0) * (k1 + 1)
      most += rarity
      for (let at = 0; at < list.length; at += 2) {
        const document = list[at] ?? 0
        const count = list[at + 1] ?? 0
        const length = (lengths[document] ?? 0) / average
        scores[document] = (scores[document] ?? 0) + (rarity * count) / (count + k1 * (1 - b + b * length))
      }
      return matches
    },
    ranking(top_n) {
      const results = scores.map((score, index) => ({
        index,
        relevance_score: most === 0 ? 0 : score / most
      }))
      results.sort((left, right) => right.relevance_score - left.relevance_score || left.index - right.index)
      return {
        results: top_n < results.length ? results.slice(0, top_n) : results,
        total_tokens: query.length + total
      }
    }
  }
}

/** ASCII characters processed without yielding: about a millisecond of work. */
const slice = 32_768
/** The same for other text, which must be folded and possibly segmented. */
const foldedSlice = 4096
/** The cost of folding a character, in ASCII characters. */
const foldingCost = slice / foldedSlice
/** Requests with at most this many characters are ranked without yielding. */
const small = 8192

/**
 * Certain word boundaries. Symbols are excluded, because some fold to letters: "™" becomes "tm".
 */
const boundary = /[\p{P}\p{Z}\p{Cc}]/u

/** The last position up to `end` where the text can be cut without splitting a word. */
const cut = (text: string, start: number, end: number): number => {
  if (end >= text.length) return text.length
  for (let at = end; at > start; at--) {
    if (boundary.test(text.charAt(at))) return at
  }
  // No boundary found: cut anywhere except inside a surrogate pair.
  const code = text.charCodeAt(end)
  return code >= 0xdc00 && code <= 0xdfff ? end - 1 : end
}

/**
 * Ranks texts against a query. A small request is ranked at once, by the call itself. A large one
 * yields to other fibers after each millisecond or so of work, so that the event loop stays free
 * for other requests. The work grows in proportion to the length of the input, whatever its
 * contents.
 *
 * @param top_n how many results to give; all when left out
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { rank } from "@model-gateway/sandbox/Bm25"
 *
 * const program = Effect.gen(function* () {
 *   const { results } = yield* rank("forgotten password", ["Billing", "Reset a forgotten password"])
 *   return results[0]?.index // 1
 * })
 * ```
 *
 * @category running
 * @since 0.1.0
 */
export const rank = (query: string, documents: ReadonlyArray<string>, top_n?: number): Effect.Effect<Ranking> => {
  let size = query.length + documents.length
  for (const document of documents) size += document.length
  const limit = top_n ?? documents.length
  return size <= small ? Effect.succeed(rankAtOnce(query, documents, limit)) : rankInSlices(query, documents, limit)
}

const rankAtOnce = (query: string, documents: ReadonlyArray<string>, top_n: number): Ranking => {
  const index = makeIndex(words(query), documents.length)
  for (let at = 0; at < documents.length; at++) index.add(at, documents[at] ?? "")
  for (let term = 0; term < index.terms; term++) index.score(term)
  return index.ranking(top_n)
}

const rankInSlices = Effect.fnUntraced(function* (query: string, documents: ReadonlyArray<string>, top_n: number) {
  let worked = 0
  /** Whether to yield after this much more work. */
  const work = (amount: number): boolean => {
    worked += amount
    if (worked < slice) return false
    worked %= slice
    return true
  }

  const eachSlice = Effect.fnUntraced(function* (text: string, use: (slice: string) => void) {
    for (let start = 0; start < text.length;) {
      const plain = !nonAscii.test(text.slice(start, start + slice))
      const end = cut(text, start, start + (plain ? slice : foldedSlice))
      use(text.slice(start, end))
      if (work((end - start) * (plain ? 1 : foldingCost))) yield* Effect.yieldNow
      start = end
    }
  })

  const queryWords: Array<string> = []
  yield* eachSlice(query, (slice) => {
    for (const word of words(slice)) queryWords.push(word)
  })
  const index = makeIndex(queryWords, documents.length)
  for (const [at, text] of documents.entries()) {
    yield* eachSlice(text, (slice) => index.add(at, slice))
    if (work(1)) yield* Effect.yieldNow
  }
  for (let term = 0; term < index.terms; term++) {
    if (work(1 + index.score(term))) yield* Effect.yieldNow
  }
  return index.ranking(top_n)
})
