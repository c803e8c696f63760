/**
 * Cohere's rerank models, version 2 of the API.
 *
 * Protocol: https://docs.cohere.com/reference/rerank. Errors:
 * https://docs.cohere.com/reference/errors. Prices: https://cohere.com/pricing.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"
import { type Adapter, InvalidModel, type Upstream } from "./Adapter.ts"
import * as Catalogue from "./Catalogue.ts"
import type { RerankModel } from "./Model.ts"
import * as Offer from "./Offer.ts"
import type { Credential, RerankOffer } from "./Offer.ts"
import { cost, type PerSearchUnit, searchUnits } from "./Pricing.ts"
import {
  BadResponse,
  invalidRequest,
  InvalidRequest,
  OutOfCredit,
  ProviderError,
  type Reason,
  Timeout
} from "./ProviderError.ts"
import { type RerankCapabilities, type RerankRequest, type RerankResult, unsupported } from "./Rerank.ts"
import * as UpstreamHttp from "./UpstreamHttp.ts"

// Request mapping

const defaultMaxTokens = 4096

/** `max_tokens_per_doc` of `provider.options.cohere`: Cohere cuts longer documents off. */
const maxTokensOf = ({ options }: RerankRequest): unknown => options?.["max_tokens_per_doc"] ?? defaultMaxTokens

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1

const capabilities: RerankCapabilities = { image_documents: false }

const toBody = (provider: string, model: RerankModel, request: RerankRequest) =>
  Effect.gen(function* () {
    const [issue] = unsupported(request, capabilities, model.publicId)
    if (issue !== undefined) return yield* invalidRequest(`${issue.path}: ${issue.message}`)
    if (!isCount(maxTokensOf(request))) {
      return yield* invalidRequest(
        `provider.options.${provider}.max_tokens_per_doc must be a whole number of 1 or more`
      )
    }
    const { documents, options, query, top_n } = request
    // The options come first, so that they cannot replace what the request says.
    return Object.assign({}, options, {
      model: model.upstreamId,
      query,
      documents: documents.map(({ text = "" }) => text),
      top_n
    })
  })

// Response mapping

const nullable = <S extends Schema.Top>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

const Tokens = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

/** The parts of Cohere's response that matter here. */
const Response = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      index: Count,
      relevance_score: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))
    })
  ),
  meta: nullable(
    Schema.Struct({
      billed_units: nullable(
        // The maximum keeps a wrong bill within what can be counted in micro-credits.
        Schema.Struct({ search_units: nullable(Count.check(Schema.isLessThanOrEqualTo(1_000_000))) })
      ),
      tokens: nullable(Schema.Struct({ input_tokens: nullable(Tokens), output_tokens: nullable(Tokens) }))
    })
  )
})

/** What is wrong with a ranking, if anything. */
const flawOf = (results: ReadonlyArray<RerankResult>, { documents, top_n }: RerankRequest): string | undefined => {
  if (results.length > Math.min(documents.length, top_n ?? documents.length)) return "more results than asked for"
  const seen = new Set<number>()
  let previous = 1
  for (const { index, relevance_score } of results) {
    if (index >= documents.length) return "an index of no document"
    if (seen.has(index)) return "a document ranked twice"
    if (relevance_score > previous) return "results out of order"
    seen.add(index)
    previous = relevance_score
  }
  return undefined
}

/** Cohere states tokens for some models only. */
const tokensOf = ({ meta }: typeof Response.Type): { readonly total_tokens?: number } => {
  const { input_tokens, output_tokens } = meta?.tokens ?? {}
  return typeof input_tokens === "number" || typeof output_tokens === "number"
    ? { total_tokens: Math.ceil((input_tokens ?? 0) + (output_tokens ?? 0)) }
    : {}
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

/** With the query, a longer document is split into chunks, each of which counts as a document. */
const tokensPerChunk = 500

/** The bytes of UTF-8, counted up to `most`. */
const bytesUpTo = (text: string, most: number): number => {
  if (text.length >= most) return most
  let bytes = 0
  for (let at = 0; at < text.length && bytes < most; at++) {
    const unit = text.charCodeAt(at)
    // Each half of a surrogate pair takes two of the four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3
  }
  return Math.min(bytes, most)
}

/**
 * The most search units that a request can be billed for.
 *
 * The gateway has no tokenizer. It counts every byte of UTF-8 as a token, because no token is
 * shorter, so English text is estimated about four times too high. A query takes at most half of a
 * chunk, as it takes at most half of the model's context. Cohere cuts documents off at
 * `max_tokens_per_doc`.
 */
const mostSearchUnits = (request: RerankRequest): number => {
  const maxTokens = maxTokensOf(request)
  const most = isCount(maxTokens) ? maxTokens : defaultMaxTokens
  const room = tokensPerChunk - bytesUpTo(request.query, tokensPerChunk / 2)
  let chunks = 0
  for (const { text = "" } of request.documents) chunks += Math.max(1, Math.ceil(bytesUpTo(text, most) / room))
  return searchUnits(chunks)
}

const rerank = (
  http: UpstreamHttp.UpstreamHttp,
  { credential, name }: Upstream,
  model: RerankModel,
  pricing: PerSearchUnit
): RerankOffer => ({
  ...Offer.ofModel(model),
  kind: "rerank",
  provider: name,
  credential,
  pricing,
  capabilities,
  quote: (request) => cost(pricing.microCredits, mostSearchUnits(request)),
  run: Effect.fnUntraced(function* (request: RerankRequest, credential: Credential) {
    const body = yield* toBody(name, model, request)
    const response = yield* http.json(
      {
        request: HttpClientRequest.post("v2/rerank").pipe(
          HttpClientRequest.acceptJson,
          HttpClientRequest.bodyJsonUnsafe(body)
        ),
        credential,
        model: model.upstreamId
      },
      Response
    )
    const flaw = flawOf(response.results, request)
    if (flaw !== undefined) return yield* new ProviderError({ reason: new BadResponse({ description: flaw }) })
    // Without a bill, the documents count as they are.
    const search_units = response.meta?.billed_units?.search_units ?? searchUnits(request.documents.length)
    return {
      answer: { results: response.results },
      charge: { cost: cost(pricing.microCredits, search_units), usage: { search_units, ...tokensOf(response) } }
    }
  })
})

/**
 * Cohere: `COHERE_API_KEY`, `COHERE_BASE_URL`.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import * as Cohere from "@model-gateway/providers/Cohere"
 * import { gatewayCredential } from "@model-gateway/providers/Offer"
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
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "cohere",
  title: "Cohere",
  variables: { apiKey: "COHERE_API_KEY", baseUrl: "COHERE_BASE_URL" },
  defaultBaseUrl: "https://api.cohere.com",
  credential: "required",
  kinds: ["rerank"],
  models: Catalogue.of("cohere"),
  offers: (upstream, models) =>
    Effect.flatMap(UpstreamHttp.make({ baseUrl: upstream.baseUrl, timeLimit: upstream.timeLimit, reasonOf }), (http) =>
      Effect.forEach(models, (model) =>
        model.kind === "rerank" && model.pricing.unit === "search_unit"
          ? Effect.succeed(rerank(http, upstream, model, model.pricing))
          : Effect.fail(new InvalidModel({ model, message: "must be a rerank model with a price per search unit" }))
      )
    )
}
