/**
 * Cohere's rerank models, version 2 of the API.
 *
 * Protocol: https://docs.cohere.com/reference/rerank. Errors:
 * https://docs.cohere.com/reference/errors. Prices: https://cohere.com/pricing. Chunks:
 * https://docs.cohere.com/docs/reranking-best-practices.
 *
 * Its models are cross-encoders that score each document on its own, from 0 to 1, so that scores of
 * several calls can be compared: https://docs.cohere.com/docs/rerank-overview.
 *
 * Models up to version 4 are billed by search units, those of version 5 by tokens.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { type Adapter, decodeParameters, type Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import { overHttp } from "./internal/offers.ts"
import type { RerankModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, RerankOffer } from "@model-gateway/offers/Offer"
import { cost, maxCount, searchUnits } from "@model-gateway/offers/Pricing"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { invalidFields, InvalidRequest, OutOfCredit, type Reason, Timeout } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Configuration

const Positive = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/**
 * The `parameters` of a model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  ...Ranking.Parameters.fields,
  /**
   * The tokens of a chunk, with the query. A longer document is several chunks, each of which is
   * billed as a document. Default: 500, as for `rerank-v3.5`.
   */
  tokensPerChunk: Schema.optionalKey(Positive)
})

const defaultTokensPerChunk = 500

// Request mapping

const defaultMaxTokens = 4096

/** `max_tokens_per_doc` of `provider.options.cohere`: Cohere cuts longer documents off. */
const maxTokensOf = ({ options }: Pick<RerankRequest, "options">): unknown =>
  options?.["max_tokens_per_doc"] ?? defaultMaxTokens

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1

/** `max_tokens_per_doc` is part of the quote. */
const passthroughOf = (provider: string) =>
  Passthrough.make(
    provider,
    {
      documented: ["max_tokens_per_doc", "priority"],
      refused: { request: ["query", "documents", "top_n"], response: ["return_documents"] }
    },
    (options, path) =>
      isCount(maxTokensOf({ options }))
        ? []
        : [{ path: `${path}.max_tokens_per_doc`, message: "must be a whole number of 1 or more" }]
  )

/** The documents, if Cohere can rank them. */
const textsOf = (model: RerankModel, request: RerankRequest) =>
  Effect.flatMapEager(Ranking.textsOf(request, model.publicId), (texts) => {
    const blank = texts.findIndex((text) => text.trim() === "")
    return blank < 0
      ? Effect.succeed(texts)
      : Effect.fail(invalidFields([{ path: `documents.${blank}`, message: "must not be empty or only whitespace" }]))
  })

const toBody = (model: RerankModel, { options, query }: RerankRequest, { documents, top_n }: Ranking.Part) =>
  Object.assign({}, options, { model: model.upstreamId, query, documents, top_n })

// Response mapping

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

// The maximum keeps a wrong bill within what can be counted in micro-credits.
const Tokens = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: maxCount }))

/** The parts of Cohere's response that matter here. */
const Response = Schema.Struct({
  results: Schema.Array(Ranking.Result),
  meta: nullable(
    Schema.Struct({
      billed_units: nullable(
        Schema.Struct({
          search_units: nullable(Count.check(Schema.isLessThanOrEqualTo(1_000_000))),
          input_tokens: nullable(Tokens)
        })
      ),
      tokens: nullable(Schema.Struct({ input_tokens: nullable(Tokens), output_tokens: nullable(Tokens) }))
    })
  )
})

/**
 * Cohere states tokens for some models only: those that it read, and those that it bills. Where
 * they are the price, those that it bills come first.
 */
const tokensOf = ({ meta }: typeof Response.Type, { unit }: RerankModel["pricing"]): number | undefined => {
  const billed = meta?.billed_units?.input_tokens ?? undefined
  const { input_tokens = null, output_tokens = null } = meta?.tokens ?? {}
  const read = input_tokens === null && output_tokens === null ? undefined : (input_tokens ?? 0) + (output_tokens ?? 0)
  const tokens = unit === "token" ? (billed ?? read) : (read ?? billed)
  return tokens === undefined ? undefined : Math.ceil(tokens)
}

// Error mapping

/** Where Cohere's documentation differs from what most upstreams mean by a status. */
const reasonOf = ({ message, status }: UpstreamHttp.Failure): Reason | undefined => {
  switch (status) {
    case 400:
    case 422:
      // The service says the same before the message.
      return message?.startsWith("invalid request: ") === true
        ? new InvalidRequest({ message: message.slice("invalid request: ".length) })
        : undefined
    case 429:
      // A trial key that used up its calls of the month. Waiting does not help.
      return message !== undefined && /\/ ?month\b/.test(message) ? new OutOfCredit() : undefined
    case 498:
      // The query or a document violates the usage guidelines.
      return new InvalidRequest({ message: message ?? "Cohere blocked the content of the request" })
    case 499:
      // Nobody here canceled the request, so Cohere gave it up before it had an answer.
      return new Timeout()
    default:
      return undefined
  }
}

// Offers

/** Of each chunk, for the tokens that separate query and document. */
const reservedTokens = 16

/**
 * The maximum that a request can be billed for. A document of more than a chunk, with the query, is
 * split into chunks, each of which counts as a document.
 *
 * The gateway has no tokenizer. It counts every byte of UTF-8 as a token, because no token is
 * shorter, so English text is estimated about four times too high. A query takes at most half of a
 * chunk, as it takes at most half of the model's context. Cohere cuts documents off at
 * `max_tokens_per_doc`.
 */
const mostOf = (request: RerankRequest, documents: ReadonlyArray<string>, tokensPerChunk: number) => {
  const requested = maxTokensOf(request)
  const maxTokens = isCount(requested) ? requested : defaultMaxTokens
  const query = Ranking.bytesUpTo(request.query, Math.floor(tokensPerChunk / 2))
  let chunks = 0
  let tokens = 0
  for (const text of documents) {
    const own = Ranking.bytesUpTo(text, maxTokens)
    const needed = Math.max(1, Math.ceil(own / (tokensPerChunk - query)))
    chunks += needed
    tokens += own + needed * (query + reservedTokens)
  }
  return { search_units: searchUnits(chunks), tokens }
}

/**
 * The search units of a call by Cohere's rule, or undefined if they depend on how Cohere splits the
 * documents: then only its bill tells.
 */
const certainSearchUnits = (
  request: RerankRequest,
  documents: ReadonlyArray<string>,
  tokensPerChunk: number
): number | undefined => {
  const least = searchUnits(documents.length)
  return mostOf(request, documents, tokensPerChunk).search_units === least ? least : undefined
}

const rerank = (
  http: UpstreamHttp.UpstreamHttp,
  { credential, name }: Upstream,
  model: RerankModel,
  { tokensPerChunk, ...limits }: Ranking.Limits & { readonly tokensPerChunk: number },
  passthrough = passthroughOf(name)
): RerankOffer => {
  const { pricing } = model
  const maxTokens = (request: RerankRequest, texts: ReadonlyArray<string>) => () =>
    mostOf(request, texts, tokensPerChunk).tokens
  return {
    ...Offer.ofModel(model),
    kind: "rerank",
    provider: name,
    credential,
    passthrough,
    pricing,
    capabilities: { image_documents: false },
    quote: (request) => {
      const texts = request.documents.map(({ text = "" }) => text)
      if (pricing.unit === "token") return Ranking.quoteOf(pricing, texts.length, maxTokens(request, texts))
      // Each call is rounded up to whole search units.
      const units = Ranking.split(texts, limits).reduce(
        (sum, part) => sum + mostOf(request, part.documents, tokensPerChunk).search_units,
        0
      )
      return cost(pricing.microCredits, units)
    },
    run: Effect.fnUntraced(function* (request: RerankRequest, credential: Credential) {
      yield* Passthrough.check(passthrough, request)
      const texts = yield* textsOf(model, request)
      const { scores } = limits
      const { top_n } = request
      const ranked = yield* Ranking.rank(
        { documents: texts.length, top_n, publicId: model.publicId, scores },
        Ranking.split(texts, limits, scores === undefined ? undefined : top_n),
        limits,
        (part) =>
          http
            .json(
              {
                request: HttpClientRequest.post("v2/rerank").pipe(
                  HttpClientRequest.acceptJson,
                  HttpClientRequest.bodyJsonUnsafe(toBody(model, request, part))
                ),
                credential,
                model: model.upstreamId,
                bounds: Ranking.boundsOf(part.documents.length)
              },
              Response
            )
            .pipe(
              Effect.map((response) => ({
                results: response.results,
                search_units:
                  response.meta?.billed_units?.search_units ??
                  (pricing.unit === "token" ? undefined : certainSearchUnits(request, part.documents, tokensPerChunk)),
                total_tokens: tokensOf(response, pricing)
              }))
            )
      )
      const { results, search_units, total_tokens } = ranked
      return {
        answer: { results },
        charge: {
          cost:
            pricing.unit === "token"
              ? Ranking.chargeOf(pricing, ranked, texts.length, maxTokens(request, texts)).cost
              : // Without a bill, the documents are charged as they are. What Cohere counted is not known.
                cost(pricing.microCredits, search_units ?? searchUnits(texts.length)),
          usage: {
            ...(search_units === undefined ? {} : { search_units }),
            ...(total_tokens === undefined ? {} : { total_tokens })
          }
        }
      }
    })
  }
}

/**
 * Cohere: `COHERE_API_KEY`, `COHERE_BASE_URL`.
 *
 * A model has a price per search unit or per token. Its `parameters` are {@link Parameters}.
 * Default: 10,000 documents per call, the most that Cohere takes. `sizePerCall` has no effect.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import * as Cohere from "@model-gateway/providers/Cohere"
 * import { gatewayCredential } from "@model-gateway/offers/Offer"
 *
 * declare const apiKey: string
 *
 * const upstream = {
 *   name: "cohere",
 *   baseUrl: "https://api.cohere.com",
 *   credential: gatewayCredential(Redacted.make(apiKey))
 * }
 * const offers = Cohere.adapter.offers(upstream, Cohere.adapter.models)
 * ```
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "cohere",
  title: "Cohere",
  variables: { apiKey: "COHERE_API_KEY", baseUrl: "COHERE_BASE_URL" },
  defaultBaseUrl: "https://api.cohere.com",
  credential: "required",
  kinds: ["rerank"],
  ...Catalog.of("cohere"),
  offers: overHttp({
    isModel: (model): model is RerankModel => model.kind === "rerank",
    expected: "must be a rerank model",
    reasonOf,
    offer: Effect.fnUntraced(function* (http: UpstreamHttp.UpstreamHttp, upstream: Upstream, model: RerankModel) {
      const { tokensPerChunk = defaultTokensPerChunk, ...parameters } = yield* decodeParameters(Parameters, model)
      const limits = yield* Ranking.limitsOf({ ...model, parameters }, { documentsPerCall: 10_000 })
      return rerank(http, upstream, model, { ...limits, sizePerCall: Number.POSITIVE_INFINITY, tokensPerChunk })
    })
  })
}
