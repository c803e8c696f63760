/**
 * Jina AI's rerank models.
 *
 * Protocol and errors: https://api.jina.ai/redoc. Models, limits and prices:
 * https://jina.ai/reranker.
 *
 * `jina-reranker-v2-base-multilingual` is a cross-encoder: it scores each document on its own, so
 * that scores of several calls can be compared. `jina-reranker-v3` reads the documents of a call
 * together, so that its scores cannot: https://jina.ai/models/jina-reranker-v3. `jina-reranker-m0`
 * reads images too, and scores each document on its own: https://jina.ai/models/jina-reranker-m0.
 * `jina-colbert-v2` compares the tokens of the query with those of each document:
 * https://jina.ai/models/jina-colbert-v2.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { Schema } from "effect"
import type { Adapter } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import { isPerToken, rerankOffers } from "./internal/rerankOffers.ts"
import type { RerankModel } from "@model-gateway/offers/Model"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { OutOfCredit, type Reason, UnknownModel } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankDocument, RerankRequest } from "@model-gateway/offers/Rerank"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Request mapping

const documentsPerCall = 2048

/** The context of `jina-reranker-v3`, the largest. */
const maxTokens = { query: 131_072, pair: 131_072 }

const passthrough: Passthrough.Declaration = {
  documented: ["truncation"],
  refused: { request: ["query", "documents", "top_n"], response: ["return_documents", "return_embeddings"] }
}

const dataUri = /^data:image\/[\w.+-]+;base64,/

/** Jina takes a URL, or base64 without the head of a `data:` URI. */
const toDocument = ({ image, text = "" }: RerankDocument) =>
  image === undefined ? { text } : { image: image.replace(dataUri, "") }

/** Beside images, Jina takes texts as objects. All of a list have the same form. */
const toDocuments = (documents: ReadonlyArray<RerankDocument>) =>
  documents.some(({ image }) => image !== undefined)
    ? documents.map(toDocument)
    : documents.map(({ text = "" }) => text)

/** Jina's documents are a text or an image. */
const issueOf = ({ publicId }: RerankModel, { documents }: RerankRequest): Issue | undefined => {
  const both = documents.findIndex(({ image, text }) => image !== undefined && text !== undefined)
  return both < 0
    ? undefined
    : { path: `documents.${both}`, message: `${publicId} takes a text or an image in a document, not both` }
}

const toBody = (model: RerankModel, request: RerankRequest, { documents, start, top_n }: Ranking.Part) =>
  Object.assign({}, request.options, {
    model: model.upstreamId,
    query: request.query,
    documents: toDocuments(request.documents.slice(start, start + documents.length)),
    top_n,
    return_documents: false
  })

// Response mapping

const Response = Schema.Struct({
  results: Schema.Array(Ranking.Result),
  usage: nullable(Schema.Struct({ total_tokens: Schema.optionalKey(Ranking.Tokens) }))
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
 * for a model that reads its documents together, and `imageTokens` for one that reads images.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "jina",
  title: "Jina AI",
  variables: { apiKey: "JINA_API_KEY", baseUrl: "JINA_BASE_URL" },
  defaultBaseUrl: "https://api.jina.ai/v1",
  credential: "required",
  kinds: ["rerank"],
  ...Catalog.of("jina"),
  offers: rerankOffers({
    isModel: isPerToken,
    expected: "must be a rerank model with a price per token",
    reasonOf,
    limits: { documentsPerCall, sendsImages: true },
    maxTokens,
    passthrough,
    issueOf,
    toBody,
    response: Response,
    toRanked: ({ results, usage }) => ({ results, total_tokens: usage?.total_tokens })
  })
}
