/**
 * Jina AI's rerank models.
 *
 * Protocol and errors: https://api.jina.ai/redoc. Models, limits and prices:
 * https://jina.ai/reranker.
 *
 * `jina-reranker-v2-base-multilingual` is a cross-encoder: it scores each document on its own, so
 * that scores of several calls can be compared. `jina-reranker-v3` reads the documents of a call
 * together, so that its scores cannot: https://jina.ai/models/jina-reranker-v3.
 *
 * @since 0.1.0
 */
import { Schema } from "effect"
import type { Adapter } from "./Adapter.ts"
import * as Catalogue from "./Catalogue.ts"
import { isPerToken, rerankOffers } from "./internal/rerankOffers.ts"
import type { RerankModel } from "./Model.ts"
import { OutOfCredit, type Reason, UnknownModel } from "./ProviderError.ts"
import * as Ranking from "./Ranking.ts"
import type { RerankRequest } from "./Rerank.ts"
import type * as UpstreamHttp from "./UpstreamHttp.ts"

// Request mapping

const documentsPerCall = 2048

/** The context of `jina-reranker-v3`, the largest. */
const mostTokens = { query: 131_072, pair: 131_072 }

const toBody = (model: RerankModel, { options, query }: RerankRequest, { documents, top_n }: Ranking.Part) =>
  // The options come first, so that they cannot replace what the request says.
  Object.assign({}, options, { model: model.upstreamId, query, documents, top_n, return_documents: false })

// Response mapping

const Response = Schema.Struct({
  results: Schema.Array(Ranking.Result),
  usage: Schema.optionalKey(Schema.NullOr(Schema.Struct({ total_tokens: Schema.optionalKey(Ranking.Tokens) })))
})

// Error mapping

/** Jina puts its own code beside the message. */
const reasonOf = ({ codes, model, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (codes.includes("AUTHZ_INSUFFICIENT_BALANCE") || codes.includes("AUTHZ_RESOURCE_LIMIT_EXCEEDED")) {
    return new OutOfCredit()
  }
  return status === 400 && codes.includes("INPUT_MODEL_NOT_FOUND") ? new UnknownModel({ model }) : undefined
}

// Offers

/**
 * Jina AI: `JINA_API_KEY`, `JINA_BASE_URL`.
 *
 * `parameters` of a model: see `Ranking.Parameters`. Default: 2,048 documents per call, the most
 * that Jina takes. `sizePerCall` is in tokens; default: no limit. Set `independentScores` to false
 * for a model that reads its documents together.
 *
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "jina",
  title: "Jina AI",
  variables: { apiKey: "JINA_API_KEY", baseUrl: "JINA_BASE_URL" },
  defaultBaseUrl: "https://api.jina.ai/v1",
  credential: "required",
  kinds: ["rerank"],
  models: Catalogue.of("jina"),
  offers: rerankOffers({
    isModel: isPerToken,
    expected: "must be a rerank model with a price per token",
    reasonOf,
    limits: { documentsPerCall },
    mostTokens,
    toBody,
    response: Response,
    toRanked: ({ results, usage }) => ({ results, total_tokens: usage?.total_tokens })
  })
}
