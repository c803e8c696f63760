/**
 * Voyage AI's rerank models.
 *
 * Protocol and limits: https://docs.voyageai.com/reference/reranker-api. Errors:
 * https://docs.voyageai.com/docs/error-codes. Prices: https://docs.voyageai.com/docs/pricing.
 *
 * Its models are cross-encoders that score each document on its own, so that scores of several
 * calls can be compared: https://docs.voyageai.com/docs/reranker.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import { isPerToken, rerankOffers } from "./internal/rerankOffers.ts"
import type { RerankModel } from "@model-gateway/offers/Model"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { InputTooLarge, Overloaded, type Reason, UnknownModel } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Request mapping

/** Voyage counts the tokens of the query once for each document. */
const perCall = { documentsPerCall: 1000, sizePerCall: 600_000 }

/** Of `rerank-2.5`, the largest. Voyage cuts the rest off. */
const maxTokens = { query: 8000, pair: 32_000 }

const passthrough: Passthrough.Declaration = {
  documented: ["truncation"],
  refused: { request: ["query", "documents", "top_k", "top_n"], response: ["return_documents"] }
}

const toBody = (model: RerankModel, { options, query }: RerankRequest, { documents, top_n }: Ranking.Part) =>
  Object.assign({}, options, { model: model.upstreamId, query, documents, top_k: top_n, return_documents: false })

// Response mapping

const Response = Schema.Struct({
  data: Schema.Array(Ranking.Result),
  usage: nullable(Schema.Struct({ total_tokens: Schema.optionalKey(Ranking.Tokens) }))
})

// Error mapping

/** Voyage has no codes. A 400 stands for several cases. */
const reasonOf = ({ message, model, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (status === 502) return new Overloaded({})
  if (status !== 400 || message === undefined) return undefined
  if (/\bmodel\b.{0,80}\bnot supported\b/i.test(message)) return new UnknownModel({ model })
  return /\b(?:exceeds?|max(?:imum)? allowed|too (?:large|long|many))\b/i.test(message)
    ? new InputTooLarge({ message })
    : undefined
}

// Offers

/**
 * Voyage AI: `VOYAGE_API_KEY`, `VOYAGE_BASE_URL`.
 *
 * `parameters` of a model: see `Ranking.Parameters`. Defaults: 1,000 documents and 600,000 tokens
 * (`sizePerCall`) per call, the most that Voyage takes for its current models.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "voyage",
  title: "Voyage AI",
  variables: { apiKey: "VOYAGE_API_KEY", baseUrl: "VOYAGE_BASE_URL" },
  defaultBaseUrl: "https://api.voyageai.com/v1",
  credential: "required",
  kinds: ["rerank"],
  ...Catalog.of("voyage"),
  offers: rerankOffers({
    isModel: isPerToken,
    expected: "must be a rerank model with a price per token",
    reasonOf,
    limits: perCall,
    maxTokens,
    passthrough,
    toBody,
    response: Response,
    toRanked: ({ data, usage }) => ({ results: data, total_tokens: usage?.total_tokens })
  })
}
