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
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { type Adapter, InvalidModel, type Upstream } from "./Adapter.ts"
import * as Catalogue from "./Catalogue.ts"
import type { RerankModel } from "./Model.ts"
import type { RerankOffer } from "./Offer.ts"
import { InputTooLarge, Overloaded, type Reason, UnknownModel } from "./ProviderError.ts"
import * as Ranking from "./Ranking.ts"
import type { RerankRequest } from "./Rerank.ts"
import * as UpstreamHttp from "./UpstreamHttp.ts"

// Request mapping

/** Voyage counts the tokens of the query once for each document. */
const perCall = { documentsPerCall: 1000, sizePerCall: 600_000 }

/** Of `rerank-2.5`, the largest. Voyage cuts the rest off. */
const mostTokens = { query: 8000, pair: 32_000 }

const toBody = (model: RerankModel, { options, query }: RerankRequest, { documents, top_n }: Ranking.Part) =>
  // The options come first, so that they cannot replace what the request says.
  Object.assign({}, options, { model: model.upstreamId, query, documents, top_k: top_n, return_documents: false })

// Response mapping

const Response = Schema.Struct({
  data: Schema.Array(Ranking.Result),
  usage: Schema.optionalKey(Schema.NullOr(Schema.Struct({ total_tokens: Schema.optionalKey(Ranking.Tokens) })))
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

const offer = (http: UpstreamHttp.UpstreamHttp, upstream: Upstream, model: RerankModel) =>
  Effect.map(Ranking.limitsOf(model, perCall), (limits): RerankOffer =>
    Ranking.offer({
      upstream,
      model,
      limits,
      mostTokens,
      call: (request, part, credential) =>
        http
          .json(
            {
              request: HttpClientRequest.post("rerank").pipe(
                HttpClientRequest.acceptJson,
                HttpClientRequest.bodyJsonUnsafe(toBody(model, request, part))
              ),
              credential,
              model: model.upstreamId
            },
            Response
          )
          .pipe(Effect.map(({ data, usage }) => ({ results: data, total_tokens: usage?.total_tokens })))
    })
  )

/**
 * Voyage AI: `VOYAGE_API_KEY`, `VOYAGE_BASE_URL`.
 *
 * `parameters` of a model: see `Ranking.Parameters`. Defaults: 1,000 documents and 600,000 tokens
 * (`sizePerCall`) per call, the most that Voyage takes for its current models.
 *
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "voyage",
  title: "Voyage AI",
  variables: { apiKey: "VOYAGE_API_KEY", baseUrl: "VOYAGE_BASE_URL" },
  defaultBaseUrl: "https://api.voyageai.com/v1",
  credential: "required",
  kinds: ["rerank"],
  models: Catalogue.of("voyage"),
  offers: (upstream, models) =>
    Effect.flatMap(UpstreamHttp.make({ baseUrl: upstream.baseUrl, timeLimit: upstream.timeLimit, reasonOf }), (http) =>
      Effect.forEach(models, (model) =>
        model.kind === "rerank" && model.pricing.unit === "token"
          ? offer(http, upstream, model)
          : Effect.fail(new InvalidModel({ model, message: "must be a rerank model with a price per token" }))
      )
    )
}
