/**
 * Voyage AI's rerank models.
 *
 * Protocol and limits: https://docs.voyageai.com/reference/reranker-api. Errors:
 * https://docs.voyageai.com/docs/error-codes. Prices: https://docs.voyageai.com/docs/pricing.
 *
 * Its models are cross-encoders that score each document on its own, so that scores of several
 * calls can be compared: https://docs.voyageai.com/docs/reranker.
 *
 * MongoDB serves the same API: https://www.mongodb.com/docs/api/doc/atlas-embedding-and-reranking-api.
 * Each of the two addresses takes its own keys only, which Voyage's own SDK tells apart by their
 * prefix, too: https://github.com/voyage-ai/voyageai-python/blob/main/voyageai/util.py.
 *
 * @since 0.1.0
 */
import { Effect, Redacted, Schema } from "effect"
import type { Adapter, Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import { isPerToken, rerankOffers } from "./internal/rerankOffers.ts"
import type { RerankModel } from "@model-gateway/offers/Model"
import type { Credential, Offer } from "@model-gateway/offers/Offer"
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

const defaultBaseUrl = "https://api.voyageai.com/v1"

const atlasBaseUrl = "https://ai.mongodb.com/v1"

/** Keys of MongoDB Atlas begin with `al-`, those of Voyage with `pa-`. */
const isOfAtlas = ({ secret }: Credential): boolean => secret !== undefined && Redacted.value(secret).startsWith("al-")

const offersAt = rerankOffers({
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

/** Whether the base URL is one of the two public ones, so that the credential decides. */
const isPublic = (baseUrl: string): boolean => [defaultBaseUrl, atlasBaseUrl].includes(baseUrl.replace(/\/$/, ""))

/** An offer that calls the address of the credential, which may be a caller's own. */
const byCredential = (voyage: Offer, atlas: Offer | undefined): Offer =>
  voyage.kind === "rerank" && atlas?.kind === "rerank"
    ? {
        ...voyage,
        run: (request: RerankRequest, credential: Credential) =>
          (isOfAtlas(credential) ? atlas : voyage).run(request, credential)
      }
    : voyage

/**
 * Voyage AI: `VOYAGE_API_KEY`, `VOYAGE_BASE_URL`.
 *
 * With either of the two public addresses as the base URL, a call goes to the one that its key is
 * for: `al-…` to MongoDB's, any other to Voyage's. Any other base URL gets all calls.
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
  defaultBaseUrl,
  addressOf: ({ baseUrl, credential }) =>
    credential === undefined || !isPublic(baseUrl) ? baseUrl : isOfAtlas(credential) ? atlasBaseUrl : defaultBaseUrl,
  credential: "required",
  kinds: ["rerank"],
  ...Catalog.of("voyage"),
  offers: (upstream: Upstream, models) =>
    isPublic(upstream.baseUrl)
      ? Effect.zipWith(
          offersAt({ ...upstream, baseUrl: defaultBaseUrl }, models),
          offersAt({ ...upstream, baseUrl: atlasBaseUrl }, models),
          (voyage, atlas) => voyage.map((offer, at) => byCredential(offer, atlas[at]))
        )
      : offersAt(upstream, models)
}
