/**
 * What rerank adapters share: splitting, merging, checks and scores of rankings, and counts of
 * tokens for quotes.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import { decodeParameters, InvalidModel, type Upstream } from "./Adapter.ts"
import type { RerankModel } from "./Model.ts"
import * as Offer from "./Offer.ts"
import type { Credential, RerankOffer } from "./Offer.ts"
import * as Passthrough from "./Passthrough.ts"
import { type Charge, cost, maxCount, type PerSearchUnit, type PerToken, searchUnits, tokenCost } from "./Pricing.ts"
import { BadResponse, invalidFields, ProviderError, tooLargeField } from "./ProviderError.ts"
import { type RerankDocument, type RerankRequest, type RerankResult, unsupported } from "./Rerank.ts"
import type { Bounds } from "./UpstreamHttp.ts"

// Limits

const Positive = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/**
 * What the scores of an upstream are: probabilities from 0 to 1, or logits, which have no bounds.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Scores = Schema.Literals(["probability", "logit"])

/**
 * @category models
 * @since 0.1.0
 */
export type Scores = typeof Scores.Type

/**
 * The `parameters` of a rerank model. Each adapter documents which defaults it has.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  /** The maximum number of documents of one call. */
  documentsPerCall: Schema.optionalKey(Positive),
  /** The maximum size of one call: bytes or tokens, as the adapter says. */
  sizePerCall: Schema.optionalKey(Positive),
  /** How many calls of one request run at the same time. */
  concurrency: Schema.optionalKey(Positive),
  /**
   * Whether the score of a document does not depend on the others of its call. If it does, a
   * request that needs several calls is refused, because scores of different calls cannot be
   * compared.
   */
  independentScores: Schema.optionalKey(Schema.Boolean),
  /**
   * The maximum number of tokens that the model reads of an image, with the query. Only for
   * adapters that send images. Absent: it ranks text only.
   */
  imageTokens: Schema.optionalKey(Positive),
  /**
   * What the upstream's scores are. Absent: not known, so that the scores of a request decide, and
   * the upstream is asked for all of them, whatever `top_n` is. Otherwise a document would have one
   * score among few results and another among many.
   */
  scores: Schema.optionalKey(Scores)
})

/**
 * How a request is split into calls.
 *
 * @category models
 * @since 0.1.0
 */
export type Limits = Required<Omit<typeof Parameters.Type, "imageTokens" | "scores">> &
  Pick<typeof Parameters.Type, "imageTokens" | "scores">

/**
 * The limits of a model: its `parameters`, and the adapter's own for the others. Default of
 * `concurrency`: 4. With `sendsImages`, the adapter sends images of models that read them.
 *
 * @category configuration
 * @since 0.1.0
 */
export const limitsOf = Effect.fnUntraced(function* (
  model: RerankModel,
  {
    sendsImages = false,
    ...defaults
  }: Partial<Limits> & Pick<Limits, "documentsPerCall"> & { readonly sendsImages?: boolean }
): Effect.fn.Return<Limits, InvalidModel> {
  const parameters = yield* decodeParameters(Parameters, model)
  if (parameters.imageTokens !== undefined && !sendsImages) {
    return yield* new InvalidModel({ model, message: "has parameters.imageTokens, but its adapter ranks text only" })
  }
  return { sizePerCall: Number.POSITIVE_INFINITY, concurrency: 4, independentScores: true, ...defaults, ...parameters }
})

// Requests

/**
 * The texts of the documents. Fails if one is an image.
 *
 * @category converting
 * @since 0.1.0
 */
export const textsOf = (
  request: RerankRequest,
  publicId: string
): Effect.Effect<ReadonlyArray<string>, ProviderError> => {
  const [issue, ...others] = unsupported(request, { image_documents: false }, publicId)
  return issue === undefined
    ? Effect.succeed(request.documents.map(({ text = "" }) => text))
    : Effect.fail(invalidFields([issue, ...others]))
}

/**
 * The documents of one call.
 *
 * @category models
 * @since 0.1.0
 */
export interface Part {
  /** The index of the first one in the request. */
  readonly start: number
  /** Their texts. A document that is an image alone has an empty one. */
  readonly documents: ReadonlyArray<string>
  /**
   * How many results the call needs: no more than it has documents. Undefined: all, as the request
   * says, or because all scores are needed.
   */
  readonly top_n: number | undefined
}

/**
 * Splits documents into calls, in their order. A document that exceeds the size alone is a call of
 * its own, which the upstream may refuse.
 *
 * @category converting
 * @since 0.1.0
 */
export const split = (
  documents: ReadonlyArray<string>,
  { documentsPerCall, sizePerCall }: Pick<Limits, "documentsPerCall" | "sizePerCall">,
  top_n?: number,
  sizeOf: (document: string, index: number) => number = () => 0
): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  let start = 0
  let size = 0
  const close = (end: number) => {
    const of = documents.slice(start, end)
    parts.push({ start, documents: of, top_n: top_n === undefined ? undefined : Math.min(top_n, of.length) })
    start = end
    size = 0
  }
  for (const [index, document] of documents.entries()) {
    const more = sizeOf(document, index)
    if (index > start && (index - start >= documentsPerCall || size + more > sizePerCall)) close(index)
    size += more
  }
  close(documents.length)
  return parts
}

// Answers

/**
 * What the answer of a call about this many documents may contain: a result for each, which may
 * repeat its document.
 *
 * @category constructors
 * @since 0.1.0
 */
export const boundsOf = (documents: number): Partial<Bounds> => ({
  entries: Math.max(100, documents),
  values: 1000 + 20 * documents
})

/**
 * An index and a score, as upstreams return them.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Result = Schema.Struct({
  index: Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
  relevance_score: Schema.Finite
})

/**
 * A count of tokens, as upstreams return it: at most `Pricing.maxCount`, which keeps a wrong bill
 * within what can be counted in micro-credits.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxCount }))

/**
 * What was ranked, and what the upstream counted.
 *
 * @category models
 * @since 0.1.0
 */
export interface Ranked {
  readonly results: ReadonlyArray<RerankResult>
  readonly search_units?: number | undefined
  readonly total_tokens?: number | undefined
}

/**
 * What is wrong with a ranking of this many documents, if anything. Its order is not: see
 * {@link sorted}.
 *
 * @category validation
 * @since 0.1.0
 */
export const flawOf = (results: ReadonlyArray<RerankResult>, documents: number): string | undefined => {
  if (results.length > documents) return "more results than asked for"
  // For each document, 1 if it is ranked.
  const ranked = new Uint8Array(documents)
  for (const { index, relevance_score } of results) {
    // NaN has no place in an order, and JSON has neither it nor infinity.
    if (!Number.isFinite(relevance_score)) return "a score that is not a finite number"
    // The negation finds NaN, too.
    if (!(Number.isInteger(index) && index >= 0 && index < documents)) return "an index without a document"
    if (ranked[index] === 1) return "a document ranked twice"
    ranked[index] = 1
  }
  return undefined
}

/**
 * The results, most relevant first. Some upstreams return them in the order of the documents.
 *
 * @category converting
 * @since 0.1.0
 */
export const sorted = (results: ReadonlyArray<RerankResult>): ReadonlyArray<RerankResult> => {
  const isSorted = results.every(
    ({ relevance_score }, at) => relevance_score <= (results[at - 1]?.relevance_score ?? Number.POSITIVE_INFINITY)
  )
  return isSorted ? results : results.toSorted((a, b) => b.relevance_score - a.relevance_score)
}

const isProbability = (score: number): boolean => score >= 0 && score <= 1

const sigmoid = (score: number): number => 1 / (1 + Math.exp(-score))

const clamp = (score: number): number => Math.min(1, Math.max(0, score))

/**
 * The results, most relevant first, with scores from 0 to 1. Give it all results of a request, and
 * cut them off afterwards, so that a score does not depend on how many are returned.
 *
 * Probabilities are kept: one outside of 0…1 becomes 0 or 1. Logits are mapped with the sigmoid
 * function, which keeps their order. If it is not known what the scores are, they are taken for
 * logits if one of them lies outside of 0…1.
 *
 * @category converting
 * @since 0.1.0
 */
export const normalize = (results: ReadonlyArray<RerankResult>, scores?: Scores): ReadonlyArray<RerankResult> => {
  const inOrder = sorted(results)
  const areProbabilities = results.every(({ relevance_score }) => isProbability(relevance_score))
  if (areProbabilities && scores !== "logit") return inOrder
  const map = scores === "probability" ? clamp : sigmoid
  return inOrder.map(({ index, relevance_score }) => ({ index, relevance_score: map(relevance_score) }))
}

/** The sum of a count, or undefined if a call did not report it. */
const sum = (counts: ReadonlyArray<number | undefined>): number | undefined =>
  counts.reduce((total, count) => (total === undefined || count === undefined ? undefined : total + count), 0)

const failedPartly = ({ reason, status }: ProviderError) =>
  new ProviderError({ reason, ...(status === undefined ? {} : { status }), isPartlyBilled: true })

/**
 * Ranks the documents of a request: one call for each part, a few at a time. The results of all
 * parts are merged by score, and {@link normalize} sees them together. At most `top_n` are returned,
 * whatever the upstream returns.
 *
 * It fails if one call fails, and stops the others: a ranking without some of the documents would
 * be wrong. The caller pays nothing then, although the upstream may bill calls that it answered;
 * the error says so in `isPartlyBilled`.
 *
 * @category running
 * @since 0.1.0
 */
export const rank = Effect.fnUntraced(function* (
  {
    documents,
    publicId,
    scores,
    top_n
  }: {
    readonly documents: number
    readonly top_n?: number | undefined
    readonly publicId: string
    readonly scores?: Scores | undefined
  },
  parts: ReadonlyArray<Part>,
  { concurrency, documentsPerCall, independentScores }: Limits,
  call: (part: Part) => Effect.Effect<Ranked, ProviderError>
): Effect.fn.Return<Ranked, ProviderError> {
  if (parts.length > 1 && !independentScores) {
    const message =
      documents > documentsPerCall
        ? `the model "${publicId}" ranks at most ${documentsPerCall} documents per request`
        : `the documents are too long for one call of the model "${publicId}"`
    return yield* tooLargeField({ path: "documents", message })
  }
  const checked = (part: Part) =>
    Effect.flatMap(call(part), (ranked) => {
      const flaw = flawOf(ranked.results, part.documents.length)
      return flaw === undefined
        ? Effect.succeed(ranked)
        : Effect.fail(new ProviderError({ reason: new BadResponse({ description: flaw }), status: 200 }))
    })
  const [first, ...others] = parts
  if (first !== undefined && others.length === 0) {
    const ranked = yield* checked(first)
    return { ...ranked, results: normalize(ranked.results, scores).slice(0, top_n) }
  }
  let started = 0
  const answers = yield* Effect.forEach(
    parts,
    (part) =>
      Effect.suspend(() => {
        started++
        return checked(part)
      }),
    { concurrency }
  ).pipe(Effect.mapError((error) => (started > 1 ? failedPartly(error) : error)))
  const results = answers.flatMap(({ results }, at) =>
    results.map(({ index, relevance_score }) => ({ index: index + (parts[at]?.start ?? 0), relevance_score }))
  )
  results.sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
  return {
    results: normalize(results, scores).slice(0, top_n),
    search_units: sum(answers.map(({ search_units }) => search_units)),
    total_tokens: sum(answers.map(({ total_tokens }) => total_tokens))
  }
})

// Money

/**
 * The bytes of UTF-8, counted up to `max`. A token has at least one byte, so they are the most
 * tokens that a text can have.
 *
 * @category pricing
 * @since 0.1.0
 */
export const bytesUpTo = (text: string, max: number): number =>
  text.length >= max ? max : Math.min(Buffer.byteLength(text), max)

/** For the tokens that separate query and document. */
const separators = 16

/**
 * The maximum number of tokens of one document together with its query, given the model's limits
 * for a query and for both.
 *
 * @category pricing
 * @since 0.1.0
 */
export const tokensOfPair =
  (query: string, max: { readonly query: number; readonly pair: number }) =>
  (document: string): number => {
    const tokens = separators + bytesUpTo(query, max.query)
    return tokens + bytesUpTo(document, Math.max(0, max.pair - tokens))
  }

/** The average bytes of a token, for upstreams that do not report tokens. */
const bytesPerToken = 4

/**
 * The most that a request can cost: at a price per token, of `tokens`, and at a price per search
 * unit, of the documents.
 *
 * @category pricing
 * @since 0.1.0
 */
export const quoteOf = (pricing: PerSearchUnit | PerToken, documents: number, tokens: () => number) => {
  if (pricing.unit === "search_unit") return cost(pricing.microCredits, searchUnits(documents))
  // Counting takes time, and is of no use where all is free.
  return tokenCost(pricing, pricing.inputMicroCredits === 0 ? 0 : tokens(), 0)
}

/**
 * What is charged: what the upstream counted. If it reports no tokens, their number is estimated
 * from `maxTokens`, the number that the quote is based on.
 *
 * @category pricing
 * @since 0.1.0
 */
export const chargeOf = (
  pricing: PerSearchUnit | PerToken,
  { total_tokens }: Ranked,
  documents: number,
  maxTokens: () => number
): Charge => {
  const tokens = total_tokens === undefined ? {} : { total_tokens }
  if (pricing.unit === "token") {
    const counted = total_tokens ?? Math.ceil(maxTokens() / bytesPerToken)
    return { cost: tokenCost(pricing, counted, 0), usage: tokens }
  }
  const search_units = searchUnits(documents)
  return { cost: cost(pricing.microCredits, search_units), usage: { search_units, ...tokens } }
}

// Offers

/**
 * What makes an offer of an upstream that bills by token, or not at all.
 *
 * @category options
 * @since 0.1.0
 */
export interface OfferOptions {
  readonly upstream: Upstream
  readonly model: RerankModel
  readonly limits: Limits
  /**
   * The maximum number of tokens that the model reads of a query, and of a query with a document.
   */
  readonly maxTokens: { readonly query: number; readonly pair: number }
  /**
   * What counts for `sizePerCall`: what each call has anyway, and what a document adds. Default:
   * the document's tokens, with the query's, at most.
   */
  readonly size?: {
    readonly overhead: (request: RerankRequest) => number
    readonly of: (document: string) => number
  }
  /**
   * What the options of a request make of the upstream's scores: some have a field for raw ones.
   * Default: what `limits` say.
   */
  readonly scoresOf?: ((request: RerankRequest) => Scores | undefined) | undefined
  /**
   * Which fields of `provider.options` the call sends on. Default: none, and the request's options
   * are ignored.
   */
  readonly passthrough?: Passthrough.Declaration | undefined
  readonly call: (request: RerankRequest, part: Part, credential: Credential) => Effect.Effect<Ranked, ProviderError>
}

/**
 * An offer that splits requests by its limits. It quotes every byte as a token, because the gateway
 * has no tokenizer, and charges the tokens that the upstream reports. With `limits.imageTokens`, it
 * takes images, which `call` finds in the documents of the request from `part.start` on.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { HttpClientRequest } from "effect/http"
 * import type { Upstream } from "@model-gateway/offers/Adapter"
 * import type { RerankModel } from "@model-gateway/offers/Model"
 * import * as Ranking from "@model-gateway/offers/Ranking"
 * import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
 *
 * const Response = Schema.Struct({ results: Schema.Array(Ranking.Result) })
 *
 * const offer = Effect.fnUntraced(function* (upstream: Upstream, model: RerankModel) {
 *   const http = yield* UpstreamHttp.make(upstream)
 *   const limits = yield* Ranking.limitsOf(model, { documentsPerCall: 100 })
 *   return Ranking.offer({
 *     upstream,
 *     model,
 *     limits,
 *     maxTokens: { query: 512, pair: 1024 },
 *     call: ({ query }, { documents }, credential) => {
 *       const body = { model: model.upstreamId, query, documents }
 *       const request = HttpClientRequest.post("rerank").pipe(HttpClientRequest.bodyJsonUnsafe(body))
 *       const bounds = Ranking.boundsOf(documents.length)
 *       return http.json({ request, credential, model: model.upstreamId, bounds }, Response)
 *     }
 *   })
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const offer = ({
  call,
  limits,
  model,
  maxTokens,
  passthrough: declaration,
  scoresOf,
  size,
  upstream
}: OfferOptions): RerankOffer => {
  const { pricing, publicId } = model
  const passthrough = declaration === undefined ? undefined : Passthrough.make(upstream.name, declaration)
  const { imageTokens = 0 } = limits
  const capabilities = { image_documents: limits.imageTokens !== undefined }
  const tokensOf = (query: string) => {
    const tokens = tokensOfPair(query, maxTokens)
    return ({ image, text = "" }: RerankDocument) =>
      image === undefined ? tokens(text) : imageTokens + (text === "" ? 0 : tokens(text))
  }
  const maxTokensOf = ({ documents, query }: RerankRequest): number => {
    const tokens = tokensOf(query)
    return documents.reduce((sum, document) => sum + tokens(document), 0)
  }
  return {
    ...Offer.ofModel(model),
    kind: "rerank",
    provider: upstream.name,
    credential: upstream.credential,
    pricing,
    capabilities,
    ...(passthrough === undefined ? {} : { passthrough }),
    quote: (request) => quoteOf(pricing, request.documents.length, () => maxTokensOf(request)),
    run: Effect.fnUntraced(function* (request: RerankRequest, credential: Credential) {
      if (passthrough !== undefined) yield* Passthrough.check(passthrough, request)
      const texts = capabilities.image_documents
        ? request.documents.map(({ text = "" }) => text)
        : yield* textsOf(request, publicId)
      const sizePerCall = limits.sizePerCall - (size?.overhead(request) ?? 0)
      const tokens = tokensOf(request.query)
      const sizeOf = size?.of ?? ((_: string, index: number) => tokens(request.documents[index] ?? {}))
      const scores = scoresOf?.(request) ?? limits.scores
      const { top_n } = request
      const parts = split(texts, { ...limits, sizePerCall }, scores === undefined ? undefined : top_n, sizeOf)
      const ranked = yield* rank({ documents: texts.length, top_n, publicId, scores }, parts, limits, (part) =>
        call(request, part, credential)
      )
      return {
        answer: { results: ranked.results },
        charge: chargeOf(pricing, ranked, texts.length, () => maxTokensOf(request))
      }
    })
  }
}
