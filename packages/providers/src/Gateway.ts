/**
 * Another gateway of this contract as an upstream: a gateway behind a gateway, or any service that
 * has the same API.
 *
 * Protocol: `@model-gateway/core`, by whose client it is called. The upstream's `usage.cost` is
 * what is charged. Without models of its own in the settings, an upstream offers what its GET
 * `/models` lists when the offers are made.
 *
 * A request is sent with the content that the caller gave it. `trace` and `user` stay here.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import * as Routing from "@model-gateway/core/Routing"
import { AudioFormat, Segment, Word } from "@model-gateway/core/Transcription"
import { AspectRatio, type Job, Resolution } from "@model-gateway/core/Video"
import { Array, Effect, Option, Schema } from "effect"
import { openAsBlob } from "node:fs"
import { type Adapter, decodeParameters, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import * as GatewayClient from "./internal/gatewayClient.ts"
import { listModels } from "./internal/gatewayModels.ts"
import * as TranscriptBounds from "./internal/transcriptBounds.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Model, RerankModel, TranscriptionModel, VideoModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, RerankOffer, TranscriptionOffer, VideoOffer } from "@model-gateway/offers/Offer"
import type { Passthrough } from "@model-gateway/offers/Passthrough"
import {
  cost,
  flawOf,
  type PerSearchUnit,
  type PerSecond,
  type PerToken,
  videoCost
} from "@model-gateway/offers/Pricing"
import { BadResponse, invalidFields, ProviderError } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type { TranscriptionRequest } from "@model-gateway/offers/Transcription"
import {
  ignored,
  type JobHandle,
  type SubmittedVideo,
  type VideoRequest,
  type VideoStatus
} from "@model-gateway/offers/Video"

// Configuration

const optional = <S extends Schema.Top>(schema: S, value: S["Encoded"]) =>
  Schema.withDecodingDefaultKey(Effect.succeed(value))(schema)

/**
 * The `parameters` of a rerank model: what the upstream's model accepts.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RerankParameters = Schema.Struct({
  /** Default: false. */
  image_documents: optional(Schema.Boolean, false)
})

/**
 * The `parameters` of a transcription model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TranscriptionParameters = Schema.Struct({
  /** Default: all. */
  audio_formats: optional(Schema.Array(AudioFormat), AudioFormat.literals),
  /** Whether it supports `verbose_json`. Default: true. */
  verbose: optional(Schema.Boolean, true),
  /** Default: true. */
  word_timestamps: optional(Schema.Boolean, true)
})

const Seconds = Schema.Int.check(Schema.isGreaterThanOrEqualTo(1))

/**
 * The `parameters` of a video model. What they allow and the upstream does not fails the job with
 * the upstream's reason.
 *
 * @category schemas
 * @since 0.1.0
 */
export const VideoParameters = Schema.Struct({
  /** Default: all. */
  resolutions: optional(Schema.Array(Resolution), Resolution.literals),
  /** Default: all. */
  aspect_ratios: optional(Schema.Array(AspectRatio), AspectRatio.literals),
  /** Seconds if the request has none. Default: 5. */
  default_duration: optional(Seconds, 5),
  /** Default: 60. */
  max_duration: optional(Seconds, 60),
  /** Default: false. */
  prompt_optional: optional(Schema.Boolean, false),
  /** Default: true. */
  frame_images: optional(Schema.Boolean, true),
  /** Whether it takes a last frame too. Default: true. */
  last_frame: optional(Schema.Boolean, true),
  /** Whether it generates audio if the request does not say. Default: false. */
  generate_audio: optional(Schema.Boolean, false),
  /** Default: false. */
  upscale: optional(Schema.Boolean, false),
  /** Whether it takes a `seed`. Default: true. */
  seed: optional(Schema.Boolean, true),
  /** The kinds of `input_references` that it takes. Default: all are passed on. */
  references: Schema.optionalKey(Schema.Array(Schema.Literals(["image", "audio", "video"])))
})

// Request mapping

const isPreferences = Schema.is(Routing.Preferences)

const notPreferences = (provider: string): Issue => ({
  path: `provider.options.${provider}`,
  message: `must be provider preferences, such as { "order": ["cohere"] }`
})

/**
 * The entry of `provider.options` for this upstream is its own `provider`: which of its providers
 * to use, and their options. The upstream refuses what it does not pass on of these.
 */
const passthroughOf = (provider: string): Passthrough => ({
  documented: Object.keys(Routing.Preferences.fields),
  issues: (options) => (isPreferences(options) ? [] : [notPreferences(provider)])
})

const preferencesOf = Effect.fnUntraced(function* (provider: string, { options }: Pick<RerankRequest, "options">) {
  if (options === undefined) return {}
  if (isPreferences(options)) return { provider: options }
  return yield* invalidFields([notPreferences(provider)])
})

const audioOf = ({ format, source: { location } }: TranscriptionRequest["audio"]) =>
  // A file is on the service's own disk. If it cannot be read, no provider failure describes that.
  Effect.promise(async () => ({
    file: location._tag === "Memory" ? location.bytes : await openAsBlob(location.path),
    filename: `audio.${format}`
  }))

/** An upscaled video is as long as the given one, and a `duration` is refused. */
const videoOf = (model: VideoModel, { upscale }: VideoOffer["capabilities"], request: VideoRequest) => {
  const { duration, generate_audio, options: _options, ...rest } = request
  return {
    ...rest,
    ...(upscale || duration === undefined ? {} : { duration }),
    ...(upscale || generate_audio === undefined ? {} : { generate_audio }),
    model: model.upstreamId
  }
}

// Response mapping

const badResponse = (description: string) => new ProviderError({ reason: new BadResponse({ description }) })

/** More credits for one call are not a price but a mistake. */
const maxCredits = 1_000_000

/** What the upstream charged. If it does not say: what its price amounts to. */
const costOf = (
  usage: { readonly cost?: number | null } | undefined,
  otherwise: MicroCredits.MicroCredits
): Effect.Effect<MicroCredits.MicroCredits, ProviderError> => {
  const credits = usage?.cost ?? undefined
  if (credits === undefined) return Effect.succeed(otherwise)
  const charged = credits < 0 || credits > maxCredits ? Option.none() : MicroCredits.fromCredits(credits)
  return Option.match(charged, {
    onNone: () => Effect.fail(badResponse("an impossible cost")),
    onSome: Effect.succeed
  })
}

/** The counts that the upstream stated. */
const counts = (usage: { readonly [name: string]: number | undefined } = {}): Readonly<Record<string, number>> =>
  Object.fromEntries(
    Object.entries(usage).flatMap(([name, count]) => (name === "cost" || count === undefined ? [] : [[name, count]]))
  )

/** The maximum number of warnings of an upstream that are read. The service passes on no more. */
const maxWarnings = 100

/**
 * What the upstream says that it ignored: of each sentence, what a caller may read, with the id of
 * the model that the caller knows.
 */
const warningsOf = (
  said: ReadonlyArray<string> = [],
  { publicId, upstreamId }: Model,
  secrets: ReadonlyArray<Credential["secret"]>
): { readonly warnings?: ReadonlyArray<string> } => {
  const renamed = (word: string) => (word === upstreamId ? publicId : word)
  const warnings = said.slice(0, maxWarnings).flatMap((sentence) => {
    const safe = SafeMessage.make(SafeMessage.withoutSecrets(sentence, secrets))
    return safe === undefined ? [] : [safe.split(" ").map(renamed).join(" ")]
  })
  return warnings.length === 0 ? {} : { warnings }
}

/** The job's id there. */
const idOf = (handle: JobHandle): string => (typeof handle === "string" ? handle : "")

const notFinished = new Map<Job["status"], string>([
  ["cancelled", "the job was cancelled at the provider"],
  ["expired", "the job expired at the provider"]
])

/** The end of a job that has none, or undefined while it goes on. */
const failureOf = ({ error = "", status, unsigned_urls = [] }: Job): string | undefined => {
  if (status === "failed") return SafeMessage.make(error) ?? "the provider could not make the video"
  if (status === "completed" && unsigned_urls.length === 0) return "the provider finished the job without a video"
  return notFinished.get(status)
}

/** More seconds of audio are not a length but a mistake. */
const maxSeconds = 10_000_000

/** Fails if a count cannot be, before a price is computed of it. */
const checkCounts = (usage: { readonly [name: string]: number | undefined } = {}) => {
  const stated = counts(usage)
  const description = flawOf({ cost: MicroCredits.zero, usage: stated })
  if (description !== undefined) return Effect.fail(badResponse(description))
  return (stated["seconds"] ?? 0) > maxSeconds
    ? Effect.fail(badResponse("an impossible count of seconds"))
    : Effect.void
}

// Offers

/**
 * The maximum number of tokens of a request. Nothing is known of the limits of the upstream's
 * model.
 */
const maxTokens = ({ documents, query }: RerankRequest): number => {
  const unlimited = Number.MAX_SAFE_INTEGER
  const tokensOf = Ranking.tokensOfPair(query, { query: unlimited, pair: unlimited })
  return documents.reduce(
    (sum, { image = "", text = "" }) => sum + tokensOf(text) + Ranking.bytesUpTo(image, unlimited),
    0
  )
}

const rerank = (
  client: GatewayClient.GatewayClient,
  upstream: Upstream,
  model: RerankModel,
  pricing: PerSearchUnit | PerToken,
  capabilities: RerankOffer["capabilities"]
): RerankOffer => ({
  ...Offer.ofModel(model),
  kind: "rerank",
  provider: upstream.name,
  credential: upstream.credential,
  pricing,
  capabilities,
  passthrough: passthroughOf(upstream.name),
  quote: (request) => Ranking.quoteOf(pricing, request.documents.length, () => maxTokens(request)),
  run: Effect.fn("Gateway.rerank")(function* (request: RerankRequest, credential: Credential) {
    const preferences = yield* preferencesOf(upstream.name, request)
    const { documents, query, top_n } = request
    if (!Array.isReadonlyArrayNonEmpty(documents))
      return yield* invalidFields([{ path: "documents", message: "must not be empty" }])
    const { results, usage, warnings } = yield* client.call(
      client.gateway.rerank({
        model: model.upstreamId,
        query,
        documents,
        ...(top_n === undefined ? {} : { top_n }),
        ...preferences
      }),
      { credential, model: model.upstreamId, bounds: Ranking.boundsOf(documents.length) }
    )
    const flaw = Ranking.flawOf(results, documents.length)
    if (flaw !== undefined) return yield* badResponse(flaw)
    yield* checkCounts(usage)
    const ranked = { results, total_tokens: usage?.total_tokens }
    const own = Ranking.chargeOf(pricing, ranked, documents.length, () => maxTokens(request))
    return {
      answer: {
        results: Ranking.normalize(results)
          .slice(0, top_n)
          .map(({ index, relevance_score }) => ({ index, relevance_score })),
        ...warningsOf(warnings, model, [credential.secret, upstream.credential?.secret])
      },
      charge: {
        cost: yield* costOf(usage, own.cost),
        // At its own price, this gateway counts the units. Only the upstream knows its own.
        usage: { ...(usage?.cost === undefined ? own.usage : {}), ...counts(usage) }
      }
    }
  })
})

// The client lets services leave these fields out. Our own responses need them.
const isSegments = Schema.is(Schema.Array(Segment))
const isWords = Schema.is(Schema.Array(Word))

const transcription = (
  client: GatewayClient.GatewayClient,
  upstream: Upstream,
  model: TranscriptionModel,
  pricing: PerSecond,
  capabilities: TranscriptionOffer["capabilities"]
): TranscriptionOffer => ({
  ...Offer.ofModel(model),
  kind: "transcription",
  provider: upstream.name,
  credential: upstream.credential,
  pricing,
  capabilities,
  passthrough: passthroughOf(upstream.name),
  quote: ({ audio }) => cost(pricing.microCredits, audio.durationSeconds),
  run: Effect.fn("Gateway.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
    const preferences = yield* preferencesOf(upstream.name, request)
    const { audio, language, temperature, timestamp_granularities } = request
    const response = yield* client.call(
      client.gateway.transcribe({
        ...(yield* audioOf(audio)),
        model: model.upstreamId,
        ...(timestamp_granularities.length === 0
          ? { response_format: "json" }
          : { response_format: "verbose_json", timestamp_granularities }),
        ...(language === undefined ? {} : { language }),
        ...(temperature === undefined ? {} : { temperature }),
        ...preferences
      }),
      { credential, model: model.upstreamId, bounds: TranscriptBounds.of(audio.durationSeconds) }
    )
    const { duration = audio.durationSeconds, segments = [], text, usage, warnings, words } = response
    if (!isSegments(segments)) return yield* badResponse("a segment has no id, time or text")
    if (words !== undefined && !isWords(words)) return yield* badResponse("a word has no text or time")
    yield* checkCounts(usage)
    const seconds = usage?.seconds ?? audio.durationSeconds
    return {
      answer: {
        text,
        duration,
        segments,
        ...(response.language === undefined ? {} : { language: response.language }),
        ...(words === undefined ? {} : { words }),
        ...warningsOf(warnings, model, [credential.secret, upstream.credential?.secret])
      },
      charge: { cost: yield* costOf(usage, cost(pricing.microCredits, seconds)), usage: { seconds, ...counts(usage) } }
    }
  })
})

const video = (
  client: GatewayClient.GatewayClient,
  upstream: Upstream,
  model: VideoModel,
  capabilities: VideoOffer["capabilities"]
): VideoOffer => {
  const { gateway } = client
  const callWith = (credential: Credential) => ({ credential, model: model.upstreamId })
  // The length of a video to upscale is not known here.
  const seconds = ({ duration = capabilities.default_duration }: VideoRequest) =>
    capabilities.upscale ? capabilities.max_duration : duration
  const quote = (request: VideoRequest) =>
    videoCost(model.pricing, {
      seconds: seconds(request),
      resolution: request.resolution,
      audio: request.generate_audio ?? capabilities.generate_audio
    })
  const statusOf = Effect.fnUntraced(function* (
    job: Job,
    request: VideoRequest,
    credential: Credential
  ): Effect.fn.Return<VideoStatus, ProviderError> {
    const message = failureOf(job)
    const secrets = [credential.secret, upstream.credential?.secret]
    const said = warningsOf(job.warnings, model, secrets)
    if (message !== undefined) {
      return { status: "failed", message: SafeMessage.withoutSecrets(message, secrets), ...said }
    }
    if (job.status !== "completed") {
      return { status: "in_progress", ...(job.progress === undefined ? {} : { progress: job.progress }), ...said }
    }
    const outputs = job.unsigned_urls?.length ?? 0
    const usage = { seconds: seconds(request), videos: outputs }
    return { status: "completed", outputs, charge: { cost: yield* costOf(job.usage, quote(request)), usage }, ...said }
  })
  return {
    ...Offer.ofModel(model),
    kind: "video",
    provider: upstream.name,
    credential: upstream.credential,
    pricing: model.pricing,
    capabilities,
    passthrough: passthroughOf(upstream.name),
    ignored: (request) => ignored(request, capabilities, model.publicId),
    quote,
    check: (request) => Effect.asVoid(preferencesOf(upstream.name, request)),
    // By the `Idempotency-Key` header, for 24 hours.
    isIdempotent: true,
    submit: Effect.fn("Gateway.submitVideo")(function* ({ request, token }, credential) {
      const preferences = yield* preferencesOf(upstream.name, request)
      const { id } = yield* client.call(
        gateway.submitVideo({ ...videoOf(model, capabilities, request), ...preferences }, { idempotencyKey: token }),
        callWith(credential)
      )
      return id
    }),
    poll: Effect.fn("Gateway.getVideo")(function* ({ handle, request }: SubmittedVideo, credential: Credential) {
      const job = yield* client.call(gateway.getVideo(idOf(handle)), callWith(credential)).pipe(
        Effect.map(Option.some),
        Effect.catchIf(
          ({ reason }) => reason._tag === "UnknownModel",
          () => Effect.succeedNone
        )
      )
      return Option.isSome(job)
        ? yield* statusOf(job.value, request, credential)
        : { status: "failed", message: "the provider no longer has the job" }
    }),
    // By the id of the job: a link of the upstream would not get the credential.
    content: ({ handle, index }, credential) =>
      client.bytes(gateway.videoContent(idOf(handle), { index }), callWith(credential)),
    cancel: Effect.fn("Gateway.cancelVideo")(function* (handle, credential) {
      yield* client.call(gateway.cancelVideo(idOf(handle)), callWith(credential)).pipe(
        Effect.catchIf(
          ({ reason }) => reason._tag === "UnknownModel",
          () => Effect.void
        )
      )
    })
  }
}

const offerOf = Effect.fnUntraced(function* (
  client: GatewayClient.GatewayClient,
  upstream: Upstream,
  model: Model
): Effect.fn.Return<Offer.Offer, InvalidModel> {
  const { pricing } = model
  if (model.kind === "rerank" && (pricing.unit === "search_unit" || pricing.unit === "token")) {
    return rerank(client, upstream, model, pricing, yield* decodeParameters(RerankParameters, model))
  }
  if (model.kind === "transcription" && pricing.unit === "second" && "microCredits" in pricing) {
    return transcription(client, upstream, model, pricing, yield* decodeParameters(TranscriptionParameters, model))
  }
  if (model.kind === "video") {
    const capabilities = yield* decodeParameters(VideoParameters, model)
    return video(
      client,
      upstream,
      model,
      capabilities.upscale ? { ...capabilities, default_duration: 0 } : capabilities
    )
  }
  return yield* new InvalidModel({
    model,
    message: `must have a price per ${model.kind === "rerank" ? "search unit or token" : "second"}`
  })
})

/**
 * Another gateway: `UPSTREAM_GATEWAY_API_KEY`, `UPSTREAM_GATEWAY_BASE_URL`, which ends in
 * `/api/v1`. Without models, it asks the upstream for its own.
 *
 * @example
 * ```ts
 * import { Redacted } from "effect"
 * import * as Gateway from "@model-gateway/providers/Gateway"
 * import { gatewayCredential } from "@model-gateway/offers/Offer"
 *
 * declare const apiKey: string
 *
 * const upstream = {
 *   name: "gateway",
 *   baseUrl: "https://gateway.example.com/api/v1",
 *   credential: gatewayCredential(Redacted.make(apiKey))
 * }
 * const offers = Gateway.adapter.offers(upstream, [])
 * ```
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "gateway",
  title: "another gateway",
  variables: { apiKey: "UPSTREAM_GATEWAY_API_KEY", baseUrl: "UPSTREAM_GATEWAY_BASE_URL" },
  defaultBaseUrl: undefined,
  credential: "required",
  kinds: ["rerank", "transcription", "video"],
  ...Catalog.of("gateway"),
  offers: Effect.fnUntraced(function* (upstream, models) {
    const client = yield* GatewayClient.make(upstream)
    const offered = models.length > 0 ? models : yield* listModels(client, upstream)
    return yield* Effect.forEach(offered, (model) => offerOf(client, upstream, model))
  })
}
