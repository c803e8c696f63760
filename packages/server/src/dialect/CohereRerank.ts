/**
 * Reranks in Cohere's shapes, POST `/v2/rerank` and POST `/v1/rerank`: what they are as a POST
 * `/rerank`, and its response in their shapes.
 */
import type * as CohereRerank from "@model-gateway/core/CohereRerank"
import type { BadRequest, Issue } from "@model-gateway/core/GatewayError"
import * as Rerank from "@model-gateway/core/Rerank"
import { Effect, Schema } from "effect"
import { invalid } from "../internal/Issues.ts"

type RerankRequest = typeof Rerank.Request.Type

const isDocument = Schema.is(Rerank.Document)

/** Clients of Cohere name its models without a provider. */
const modelOf = (isModel: (id: string) => boolean, model: string): string => {
  const ofCohere = `cohere/${model}`
  return !isModel(model) && isModel(ofCohere) ? ofCohere : model
}

/** A request in version 2. */
export const toRequest = (
  isModel: (id: string) => boolean,
  { documents, max_tokens_per_doc, model, query, top_n }: typeof CohereRerank.Request.Type
): RerankRequest => ({
  model: modelOf(isModel, model),
  query,
  documents,
  ...(top_n == null ? {} : { top_n }),
  ...(max_tokens_per_doc == null ? {} : { provider: { options: { cohere: { max_tokens_per_doc } } } })
})

const problemOf = (text: string, fields: ReadonlyArray<string>): string | undefined => {
  if (text === "") return `Expected a text in one of the ranked fields: ${fields.join(", ")}`
  return isDocument(text) ? undefined : "Expected ranked fields of at most 1 MiB of UTF-8 together"
}

/** A request in version 1. Fails if a document has none of the ranked fields. */
export const toRequestV1 = (
  isModel: (id: string) => boolean,
  { documents, model, query, rank_fields, top_n }: typeof CohereRerank.RequestV1.Type
): Effect.Effect<RerankRequest, BadRequest> => {
  // A repeated name would multiply the size of the texts.
  const fields = [...new Set(rank_fields ?? ["text"])]
  const issues: Array<Issue> = []
  const texts = documents.map((document, index) => {
    if (typeof document === "string") return document
    const text = fields.flatMap((field) => (Object.hasOwn(document, field) ? [document[field] ?? ""] : [])).join("\n")
    const message = problemOf(text, fields)
    if (message !== undefined) issues.push({ path: `documents.${index}`, message })
    return text
  })
  if (issues.length > 0) return Effect.fail(invalid(issues))
  return Effect.succeed({
    model: modelOf(isModel, model),
    query,
    documents: texts,
    ...(top_n == null ? {} : { top_n })
  })
}

const metaOf = (
  version: CohereRerank.Meta["api_version"]["version"],
  { usage = {} }: Rerank.Response,
  warnings: Rerank.Response["warnings"]
): CohereRerank.Meta => {
  const { search_units, total_tokens } = usage
  const tokens = total_tokens === undefined ? {} : { input_tokens: total_tokens }
  return {
    api_version: { version },
    billed_units: search_units === undefined ? tokens : { search_units },
    ...(total_tokens === undefined ? {} : { tokens: { input_tokens: total_tokens } }),
    ...(warnings === undefined ? {} : { warnings })
  }
}

/** What version 2 asked for and did not get. Only the provider `cohere` gets the limit. */
export const ignored = (
  { max_tokens_per_doc }: typeof CohereRerank.Request.Type,
  { provider = "" }: Rerank.Response
): ReadonlyArray<string> =>
  max_tokens_per_doc == null || provider === "cohere"
    ? []
    : [`max_tokens_per_doc: the provider ${provider} takes none, so it was ignored.`]

/** The response in version 2, with these warnings. */
export const toResponse = (
  response: Rerank.Response,
  warnings: Rerank.Response["warnings"]
): CohereRerank.Response => ({
  id: response.id,
  results: response.results.map(({ index, relevance_score }) => ({ index, relevance_score })),
  meta: metaOf("2", response, warnings)
})

/** The response in version 1. */
export const toResponseV1 = (
  { documents, return_documents }: typeof CohereRerank.RequestV1.Type,
  response: Rerank.Response
): CohereRerank.ResponseV1 => {
  const documentOf = (index: number) => {
    const document = documents[index] ?? ""
    return { document: typeof document === "string" ? { text: document } : document }
  }
  return {
    id: response.id,
    results: response.results.map(({ index, relevance_score }) => ({
      ...(return_documents === true ? documentOf(index) : {}),
      index,
      relevance_score
    })),
    meta: metaOf("1", response, response.warnings)
  }
}
