import type { Recorded } from "./Double.mjs"

/** A request to rank. */
export interface Ranking {
  readonly query: string
  readonly documents: ReadonlyArray<string>
}

export declare const tokens: (text: string) => ReadonlyArray<string>

/** The share of the query's words that a document has, slightly less for later documents. */
export declare const rank: (
  ranking: Ranking
) => ReadonlyArray<{ readonly index: number; readonly relevance_score: number }>

/** The tokens of all documents, and of the query once for each. */
export declare const tokensOfPairs: (ranking: Ranking) => number

export declare const isCount: (value: unknown) => boolean

/** The key of `Authorization: Bearer`. */
export declare const bearerOf: (request: Recorded) => string | undefined

/** The JSON of a request, or undefined if it is no object. */
export declare const objectOf: (request: Recorded) => Readonly<Record<string, unknown>> | undefined
