/**
 * Rerank models of Amazon Bedrock, by InvokeModel.
 *
 * Protocol: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html and
 * https://docs.cohere.com/docs/amazon-bedrock, with `api_version: 2` for Cohere's model
 * (https://github.com/cohere-ai/cohere-python/issues/613). Errors:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html. What is billed:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-pricing.html. API keys:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html. Limits:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_agent-runtime_Rerank.html.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import { type Adapter, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import * as AwsSigning from "./internal/awsSigning.ts"
import type { RerankModel } from "@model-gateway/offers/Model"
import type { Credential, RerankOffer } from "@model-gateway/offers/Offer"
import { cost, type PerSearchUnit, searchUnits } from "@model-gateway/offers/Pricing"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Request mapping

/**
 * Whether the model is Cohere's, also as an inference profile such as `us.cohere.rerank-v3-5:0`.
 */
const isCohere = ({ upstreamId }: RerankModel): boolean => /(?:^|[./])cohere\./.test(upstreamId)

const toBody = (model: RerankModel, { options, query }: RerankRequest, { documents, top_n }: Ranking.Part) =>
  Object.assign({}, options, { query, documents, top_n }, isCohere(model) ? { api_version: 2 } : {})

// Response mapping

/** The parts of the response that matter here. It does not say what is billed. */
const Response = Schema.Struct({ results: Schema.Array(Ranking.Result) })

// Money

/** Documents are billed by chunk, whose size is not documented. Cohere's have up to 510 tokens. */
const bytesPerChunk = 2048

/** An estimate: AWS reports what it bills in CloudWatch alone. */
const unitsOf = ({ documents }: RerankRequest): number =>
  searchUnits(
    documents.reduce(
      (chunks, { text = "" }) => chunks + Math.max(1, Math.ceil(Buffer.byteLength(text) / bytesPerChunk)),
      0
    )
  )

// Offers

/** A rerank model with a price per search unit. */
type PricedModel = RerankModel & { readonly pricing: PerSearchUnit }

const rerank = (
  http: UpstreamHttp.UpstreamHttp,
  signing: AwsSigning.AwsSigning,
  upstream: Upstream,
  model: PricedModel,
  limits: Ranking.Limits
): RerankOffer => {
  const call = Effect.fnUntraced(function* (request: RerankRequest, part: Ranking.Part, credential: Credential) {
    const { id } = credential
    const authorization = yield* signing.authorize(credential)
    const post = HttpClientRequest.post(`model/${encodeURIComponent(model.upstreamId)}/invoke`).pipe(
      HttpClientRequest.acceptJson,
      HttpClientRequest.bodyJsonUnsafe(toBody(model, request, part))
    )
    const { results } = yield* http
      .json(
        {
          request: post,
          // A signature takes the place of the secret.
          credential: authorization === undefined ? credential : { id },
          model: model.upstreamId,
          bounds: Ranking.boundsOf(part.documents.length)
        },
        Response
      )
      .pipe(Effect.provideService(AwsSigning.CurrentAuthorization, authorization))
    return { results }
  })
  const quote = (request: RerankRequest) => cost(model.pricing.microCredits, unitsOf(request))
  const offer = Ranking.offer({
    upstream,
    model,
    limits,
    // Only a price per token is computed from these.
    maxTokens: { query: 2048, pair: 4096 },
    passthrough: { documented: [], refused: { request: ["query", "documents", "top_n", "api_version"] } },
    call
  })
  return {
    ...offer,
    quote,
    run: (request, credential) =>
      Effect.map(offer.run(request, credential), ({ answer }) => ({
        answer,
        charge: { cost: quote(request), usage: { search_units: unitsOf(request) } }
      }))
  }
}

const isPriced = (model: {
  readonly kind: string
  readonly pricing: { readonly unit: string }
}): model is PricedModel => model.kind === "rerank" && model.pricing.unit === "search_unit"

/**
 * Amazon Bedrock: `AWS_BEARER_TOKEN_BEDROCK`, and `BEDROCK_BASE_URL`, such as
 * `https://bedrock-runtime.us-west-2.amazonaws.com`, which names the region. At a URL without one,
 * such as that of a proxy, the region is `AWS_REGION`.
 *
 * The key is a Bedrock API key, or `<access key id>:<secret access key>`, followed by `:<session
 * token>` if there is one. Without a key, requests are signed with what AWS's own programs find:
 * `AWS_ACCESS_KEY_ID` and the other variables, a profile, or the role of the machine.
 *
 * `parameters` of a model: see `Ranking.Parameters`. Default: 1,000 documents per call.
 * `sizePerCall` has no effect.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "bedrock",
  title: "Amazon Bedrock",
  variables: { apiKey: "AWS_BEARER_TOKEN_BEDROCK", baseUrl: "BEDROCK_BASE_URL" },
  defaultBaseUrl: undefined,
  credential: "optional",
  kinds: ["rerank"],
  ...Catalog.of("bedrock"),
  offers: Effect.fnUntraced(function* (upstream, models) {
    const signing = yield* AwsSigning.make({ service: "bedrock", baseUrl: upstream.baseUrl })
    const http = yield* Effect.provideService(UpstreamHttp.make(upstream), HttpClient.HttpClient, signing.client)
    return yield* Effect.forEach(
      models,
      Effect.fnUntraced(function* (model) {
        if (!isPriced(model)) {
          return yield* new InvalidModel({ model, message: "must be a rerank model with a price per search unit" })
        }
        // What the scores of Amazon's model are, and whether they depend on the other documents, is
        // not documented.
        const limits = yield* Ranking.limitsOf(model, {
          documentsPerCall: 1000,
          independentScores: isCohere(model),
          ...(isCohere(model) ? { scores: "probability" } : {})
        })
        return rerank(http, signing, upstream, model, { ...limits, sizePerCall: Number.POSITIVE_INFINITY })
      })
    )
  })
}
