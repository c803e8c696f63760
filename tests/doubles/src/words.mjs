/** How doubles of rerankers count and rank. */

/** Words and punctuation: fewer tokens than bytes, as with any tokenizer. */
export const tokens = (text) => text.match(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}]/gu)?.map((token) => token.toLowerCase()) ?? []

/** The share of the query's words that a document has, slightly less for later documents. */
export const rank = ({ documents, query }) => {
  const words = new Set(tokens(query))
  return documents
    .map((text, index) => {
      const found = new Set(tokens(text).filter((token) => words.has(token)))
      return { index, relevance_score: found.size / Math.max(1, words.size) / (1 + index / 1e6) }
    })
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
}

/** The tokens of all documents, and of the query once for each. */
export const tokensOfPairs = ({ documents, query }) =>
  documents.reduce((sum, text) => sum + tokens(text).length + tokens(query).length, 0)

export const isCount = (value) => Number.isSafeInteger(value) && value >= 1

/** The key of `Authorization: Bearer`. */
export const bearerOf = ({ headers }) => /^bearer ([\x21-\x7e]+)$/i.exec(headers.authorization ?? "")?.[1]

/** The JSON of a request, or undefined if it is no object. */
export const objectOf = ({ text }) => {
  try {
    const body = JSON.parse(text)
    return typeof body === "object" && body !== null && !Array.isArray(body) ? body : undefined
  } catch {
    return undefined
  }
}
