/**
 * Cohere's rerank models, version 2 of the API.
 *
 * Protocol: https://docs.cohere.com/reference/rerank. Errors:
 * https://docs.cohere.com/reference/errors. Prices: https://cohere.com/pricing.
 *
 * @since 0.1.0
 */
import { Config, Effect, Option, type Redacted, Schema } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { type Credential, gatewayCredential, type Offers, type RerankOffer } from "./Offer.ts"
import { cost, searchUnits } from "./Pricing.ts"
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

// Configuration

/**
 * The name of the provider in `provider.order`, `provider.only` and `provider.options`.
 *
 * @since 0.1.0
 */
export const provider = "cohere"

/**
 * The API for everyone. Private deployments have URLs of their own.
 *
 * @since 0.1.0
 */
export const defaultBaseUrl = "https://api.cohere.com"

/**
 * How the gateway calls Cohere.
 *
 * @since 0.1.0
 */
export interface Options {
  /** The gateway's own API key. */
  readonly apiKey: Redacted.Redacted<string>
  /** Default: {@link defaultBaseUrl}. */
  readonly baseUrl?: string
  /** The longest wait for an answer. Default: 5 minutes. */
  readonly timeLimit?: UpstreamHttp.Options["timeLimit"]
}

/**
 * `COHERE_API_KEY` and `COHERE_BASE_URL` (default: {@link defaultBaseUrl}). `None` if there is no
 * key.
 *
 * @since 0.1.0
 */
export const config: Config.Config<Option.Option<Options>> = Config.all({
  apiKey: Config.option(Config.schema(UpstreamHttp.ApiKey, "COHERE_API_KEY")),
  baseUrl: Config.schema(UpstreamHttp.BaseUrl, "COHERE_BASE_URL").pipe(Config.withDefault(defaultBaseUrl))
}).pipe(Config.map(({ apiKey, baseUrl }) => Option.map(apiKey, (apiKey) => ({ apiKey, baseUrl }))))

type Model = Pick<RerankOffer, "publicId" | "upstreamId" | "name">

// Request mapping

const defaultMaxTokens = 4096

/** `max_tokens_per_doc` of `provider.options.cohere`: Cohere cuts longer documents off. */
const maxTokensOf = ({ options }: RerankRequest): unknown => options?.["max_tokens_per_doc"] ?? defaultMaxTokens

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1

const capabilities: RerankCapabilities = { image_documents: false }

const toBody = (model: Model, request: RerankRequest) =>
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

/** 2.00 USD for 1,000 search units. */
const pricing = { unit: "search_unit", microCredits: 2000 } as const

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

const rerank = (upstream: UpstreamHttp.UpstreamHttp, credential: Credential, model: Model): RerankOffer => ({
  ...model,
  kind: "rerank",
  provider,
  isFree: false,
  credential,
  pricing,
  capabilities,
  quote: (request) => cost(pricing.microCredits, mostSearchUnits(request)),
  run: Effect.fn("Cohere.rerank")(function* (request: RerankRequest, credential: Credential) {
    const body = yield* toBody(model, request)
    const response = yield* upstream.json(
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
 * The offers for an API key: `cohere/rerank-v3.5`.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import * as Cohere from "@model-gateway/providers/Cohere"
 *
 * declare const apiKey: string
 *
 * const offers = Cohere.offers({ apiKey: Redacted.make(apiKey) })
 * ```
 *
 * @since 0.1.0
 */
export const offers = (options: Options): Effect.Effect<Offers, never, HttpClient.HttpClient> =>
  Effect.map(
    UpstreamHttp.make({
      baseUrl: options.baseUrl ?? defaultBaseUrl,
      reasonOf,
      ...(options.timeLimit === undefined ? {} : { timeLimit: options.timeLimit })
    }),
    (upstream) => [
      rerank(upstream, gatewayCredential(options.apiKey), {
        publicId: "cohere/rerank-v3.5",
        upstreamId: "rerank-v3.5",
        name: "Cohere Rerank 3.5"
      })
    ]
  )

/**
 * The offers for the key in the current `ConfigProvider`. None if there is no key. See
 * {@link config} for the names.
 *
 * @since 0.1.0
 */
export const offersConfig: Effect.Effect<Offers, Config.ConfigError, HttpClient.HttpClient> = Effect.suspend(
  () => config
).pipe(Effect.flatMap(Option.match({ onNone: () => Effect.succeed([]), onSome: offers })))
