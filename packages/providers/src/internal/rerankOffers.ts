/**
 * What adapters of upstreams share that rank by POST `rerank`: the offers, made of the adapter's
 * own body and response.
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { Effect, type Schema } from "effect"
import { type Headers, HttpClientRequest } from "effect/http"
import type { Adapter } from "@model-gateway/offers/Adapter"
import type { Model, RerankModel } from "@model-gateway/offers/Model"
import type { Credential } from "@model-gateway/offers/Offer"
import type * as Passthrough from "@model-gateway/offers/Passthrough"
import { invalidFields } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import { type RerankRequest, unsupported } from "@model-gateway/offers/Rerank"
import { overHttp, type Options as OffersOptions } from "./offers.ts"

/** What is an adapter's own. */
export interface Options<A>
  extends
    Pick<OffersOptions<RerankModel>, "isModel" | "expected" | "reasonOf">,
    Pick<Ranking.OfferOptions, "maxTokens" | "scoresOf" | "size"> {
  /** The limits of a model whose `parameters` state none. */
  readonly limits: Parameters<typeof Ranking.limitsOf>[1]
  readonly passthrough: Passthrough.Declaration
  /** What the upstream does not take in a request that the capabilities allow. */
  readonly issueOf?: (model: RerankModel, request: RerankRequest) => Issue | undefined
  readonly toBody: (model: RerankModel, request: RerankRequest, part: Ranking.Part) => unknown
  readonly response: Schema.ConstraintDecoder<A>
  readonly toRanked: (response: A, headers: Headers.Headers) => Ranking.Ranked
}

/** Whether it is a rerank model with a price per token. */
export const isPerToken = (model: Model): model is RerankModel =>
  model.kind === "rerank" && model.pricing.unit === "token"

/** The `offers` of an adapter. */
export const rerankOffers = <A>({
  issueOf,
  limits,
  maxTokens,
  passthrough,
  response,
  scoresOf,
  size,
  toBody,
  toRanked,
  ...options
}: Options<A>): Adapter["offers"] =>
  overHttp({
    ...options,
    offer: (http, upstream, model) =>
      Effect.map(Ranking.limitsOf(model, limits), (limits) => {
        const offer = Ranking.offer({
          upstream,
          model,
          limits,
          maxTokens,
          passthrough,
          scoresOf,
          ...(size === undefined ? {} : { size }),
          call: (request, part, credential) => {
            const body = HttpClientRequest.bodyJsonUnsafe(toBody(model, request, part))
            const post = HttpClientRequest.acceptJson(body(HttpClientRequest.post("rerank")))
            const bounds = Ranking.boundsOf(part.documents.length)
            return Effect.map(
              http.jsonWithHeaders({ request: post, credential, model: model.upstreamId, bounds }, response),
              ({ body, headers }) => toRanked(body, headers)
            )
          }
        })
        return issueOf === undefined
          ? offer
          : {
              ...offer,
              run: Effect.fnUntraced(function* (request: RerankRequest, credential: Credential) {
                const [issue = issueOf(model, request)] = unsupported(request, offer.capabilities, model.publicId)
                if (issue !== undefined) return yield* invalidFields([issue])
                return yield* offer.run(request, credential)
              })
            }
      })
  })
