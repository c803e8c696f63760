/** What a ranking shows besides the scores. */
import { csvRow } from "../shared/files.ts"

interface Result {
  readonly index: number
  readonly relevance_score: number
}

/** A document in its order. */
export interface Ranked {
  /** Counted from 1. */
  readonly rank: number
  /** Where the document was in the input, counted from 1. */
  readonly from: number
  /** How many places it went up. Negative: down. */
  readonly change: number
  readonly score: number
  readonly index: number
}

/** The ranks of results, which are the most relevant first. */
export const rank = (results: ReadonlyArray<Result>): ReadonlyArray<Ranked> =>
  results.map(({ index, relevance_score }, position) => ({
    rank: position + 1,
    from: index + 1,
    change: index - position,
    score: relevance_score,
    index
  }))

/** The change in words: "up 3", "down 1", "same". */
export const changeText = (change: number): string =>
  change === 0 ? "same" : change > 0 ? `up ${change}` : `down ${-change}`

/** Without accents and in lower case. */
const folded = (text: string): string => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase()

const word = /[\p{L}\p{N}\p{M}]+/gu

/** The words of a query that can be marked: those of two characters or more. */
export const wordsOf = (query: string): ReadonlySet<string> =>
  new Set([...query.matchAll(word)].map(([found]) => folded(found)).filter((found) => found.length > 1))

/** A piece of a text. */
export interface Piece {
  readonly text: string
  readonly isMarked: boolean
}

/** Splits a text at the words of a query. */
export const mark = (text: string, words: ReadonlySet<string>): ReadonlyArray<Piece> => {
  const pieces: Array<Piece> = []
  let done = 0
  for (const { 0: found, index } of text.matchAll(word)) {
    if (!words.has(folded(found))) continue
    if (index > done) pieces.push({ text: text.slice(done, index), isMarked: false })
    pieces.push({ text: found, isMarked: true })
    done = index + found.length
  }
  if (done < text.length) pieces.push({ text: text.slice(done), isMarked: false })
  return pieces
}

/** The ranking as CSV. `other`: the rank and score of each document with a second model. */
export const toCsv = (
  ranked: ReadonlyArray<Ranked>,
  textOf: (index: number) => string,
  other?: ReadonlyMap<number, Ranked>
): string =>
  [
    csvRow(["rank", "score", "position", "change", ...(other === undefined ? [] : ["rank_2", "score_2"]), "document"]),
    ...ranked.map(({ change, from, index, rank, score }) =>
      csvRow([
        rank,
        score,
        from,
        change,
        ...(other === undefined ? [] : [other.get(index)?.rank ?? "", other.get(index)?.score ?? ""]),
        textOf(index)
      ])
    )
  ].join("\r\n")
