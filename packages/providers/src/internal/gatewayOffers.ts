/**
 * The offers of a gateway's models, of this project or of another one. Each request has the content
 * that the caller gave it. `trace` and `user` stay here.
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import * as Routing from "@model-gateway/core/Routing"
import { Segment, Word } from "@model-gateway/core/Transcription"
import type { Job } from "@model-gateway/core/Video"
import { Array, type Duration, Effect, Option, Schema, Semaphore } from "effect"
import { openAsBlob } from "node:fs"
import { decodeParameters, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import type * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Model, RerankModel, TranscriptionModel, VideoModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, RerankOffer, TranscriptionOffer, VideoOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import {
  cost,
  type PerSearchUnit,
  type PerSecond,
  type PerToken,
  tokenCost,
  videoCost
} from "@model-gateway/offers/Pricing"
import { invalidFields, type ProviderError, tooLargeField } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import { audioFieldOf, type TranscriptionRequest } from "@model-gateway/offers/Transcription"
import {
  ignored,
  type JobHandle,
  type SubmittedVideo,
  type VideoRequest,
  type VideoStatus
} from "@model-gateway/offers/Video"
import { badResponse, checkCounts, costOf, counts, failureOf, idOf, warningsOf } from "./gatewayAnswers.ts"
import type { GatewayClient } from "./gatewayClient.ts"
import { RerankParameters, TranscriptionParameters, VideoParameters } from "./gatewayParameters.ts"
import * as TranscriptBounds from "./transcriptBounds.ts"

/** How gateways that have the same API differ. */
export interface Dialect {
  /** See `VideoOffer`. */
  readonly isIdempotent: boolean | Effect.Effect<boolean>
  /** See `VideoOffer`. */
  readonly pollInterval?: Duration.Duration
  /** Whether the form of a transcription may have `provider`, as JSON text. */
  readonly formHasProvider: Effect.Effect<boolean>
  /** The maximum size of a file in a form, in bytes. Larger audio is sent as base64 in JSON. */
  readonly maxFormBytes: number
  /**
   * Whether transcriptions and videos take only `options` of the preferences. Others would get
   * lost.
   */
  readonly onlyOptions: boolean
  /** Whether the upstream refuses options that change the price, the credential or the receiver. */
  readonly refusesOptions: boolean
}

/** The maximum size of audio that is sent as base64, in bytes. It is in memory three times. */
const maxBase64Bytes = 64 * 1024 * 1024

// Request mapping

const isPreferences = Schema.is(Routing.Preferences)

const notPreferences = (provider: string): Issue => ({
  path: `provider.options.${provider}`,
  message: `must be provider preferences, such as { "order": ["cohere"] }`
})

/**
 * The entry of `provider.options` for this upstream is its own `provider`: which of its providers
 * to use, and their options.
 */
const passthroughOf = (
  provider: string,
  { onlyOptions, refusesOptions }: Pick<Dialect, "onlyOptions" | "refusesOptions">
): Passthrough.Passthrough => {
  const documented = onlyOptions ? ["options"] : Object.keys(Routing.Preferences.fields)
  const common = Passthrough.make(provider, { documented, refused: {} })
  return {
    documented,
    issues: (options) => {
      if (!isPreferences(options)) return [notPreferences(provider)]
      const ignored = Object.keys(options).filter((name) => onlyOptions && name !== "options")
      return [
        ...(refusesOptions ? [] : common.issues(options)),
        ...ignored.map((name) => ({
          path: `provider.options.${provider}.${name}`,
          message: `is ignored by ${provider} here, so it is not sent. It takes only "options"`
        }))
      ]
    }
  }
}

const preferencesOf = Effect.fnUntraced(function* (
  { issues }: Passthrough.Passthrough,
  { options }: Pick<RerankRequest, "options">
) {
  if (options === undefined) return {}
  const [first, ...others] = issues(options)
  if (first !== undefined) return yield* invalidFields([first, ...others])
  return isPreferences(options) ? { provider: options } : {}
})

// A file is on the service's own disk. If it cannot be read, no provider failure describes that.

const fileOf = ({ format, source: { location } }: TranscriptionRequest["audio"]) =>
  Effect.promise(async () => ({
    file: location._tag === "Memory" ? location.bytes : await openAsBlob(location.path),
    filename: `audio.${format}`
  }))

const base64Of = ({ format, source }: TranscriptionRequest["audio"]) =>
  Effect.map(Effect.orDie(source.bytes), (bytes) => ({
    input_audio: { data: Buffer.from(bytes).toString("base64"), format }
  }))

const bytesPerPermit = 1024 * 1024

/** 128 MiB of audio are in memory as base64 at a time. Further calls wait. */
const base64Memory = Semaphore.makeUnsafe(128)

type Audio = Effect.Success<ReturnType<typeof fileOf>> | Effect.Success<ReturnType<typeof base64Of>>

/** Sends the audio in the way in which everything else of the request can be sent with it. */
const withAudio = Effect.fnUntraced(function* <A>(
  { formHasProvider, maxFormBytes }: Dialect,
  request: TranscriptionRequest,
  hasProvider: boolean,
  send: (audio: Audio) => Effect.Effect<A, ProviderError>
) {
  const size = yield* Effect.orDie(request.audio.source.size)
  const isForm = size <= maxFormBytes && (!hasProvider || (yield* formHasProvider))
  if (isForm) return yield* Effect.flatMap(fileOf(request.audio), send)
  if (size <= maxBase64Bytes) {
    return yield* base64Memory.withPermits(Math.ceil(size / bytesPerPermit))(
      Effect.flatMap(base64Of(request.audio), send)
    )
  }
  const message = `audio of more than ${maxBase64Bytes} bytes cannot be sent as base64, as this request has to be. It has ${size}`
  return yield* tooLargeField({ path: audioFieldOf(request), message })
})

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
  client: GatewayClient,
  { refusesOptions }: Dialect,
  upstream: Upstream,
  model: RerankModel,
  pricing: PerSearchUnit | PerToken,
  capabilities: RerankOffer["capabilities"],
  passthrough = passthroughOf(upstream.name, { refusesOptions, onlyOptions: false })
): RerankOffer => ({
  ...Offer.ofModel(model),
  kind: "rerank",
  provider: upstream.name,
  credential: upstream.credential,
  pricing,
  capabilities,
  passthrough,
  quote: (request) => Ranking.quoteOf(pricing, request.documents.length, () => maxTokens(request)),
  run: Effect.fn("Gateway.rerank")(function* (request: RerankRequest, credential: Credential) {
    const preferences = yield* preferencesOf(passthrough, request)
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

/** The highest cost of this many seconds of audio. */
const audioCost = (
  pricing: PerSecond | PerToken,
  { output_tokens_per_second, tokens_per_second }: typeof TranscriptionParameters.Type,
  seconds: number
): MicroCredits.MicroCredits =>
  pricing.unit === "second"
    ? cost(pricing.microCredits, seconds)
    : tokenCost(pricing, Math.ceil(seconds * tokens_per_second), Math.ceil(seconds * output_tokens_per_second))

const transcription = (
  client: GatewayClient,
  dialect: Dialect,
  upstream: Upstream,
  model: TranscriptionModel,
  parameters: typeof TranscriptionParameters.Type,
  passthrough = passthroughOf(upstream.name, dialect)
): TranscriptionOffer => {
  const { pricing } = model
  const { audio_formats, verbose, word_timestamps } = parameters
  return {
    ...Offer.ofModel(model),
    kind: "transcription",
    provider: upstream.name,
    credential: upstream.credential,
    pricing,
    capabilities: { audio_formats, verbose, word_timestamps },
    passthrough,
    quote: ({ audio }) => audioCost(pricing, parameters, audio.durationSeconds),
    run: Effect.fn("Gateway.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
      const preferences = yield* preferencesOf(passthrough, request)
      const { audio, language, temperature, timestamp_granularities } = request
      const response = yield* withAudio(dialect, request, "provider" in preferences, (sent) =>
        client.call(
          client.gateway.transcribe({
            ...sent,
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
      )
      const { duration = audio.durationSeconds, segments = [], text, usage, warnings, words } = response
      if (!isSegments(segments)) return yield* badResponse("a segment has no id, time or text")
      if (words !== undefined && !isWords(words)) return yield* badResponse("a word has no text or time")
      yield* checkCounts(usage)
      const seconds = usage?.seconds ?? audio.durationSeconds
      const { input_tokens, output_tokens } = usage ?? {}
      const own =
        pricing.unit === "token" && input_tokens !== undefined
          ? tokenCost(pricing, input_tokens, output_tokens ?? 0)
          : audioCost(pricing, parameters, seconds)
      return {
        answer: {
          text,
          duration,
          segments,
          ...(response.language === undefined ? {} : { language: response.language }),
          ...(words === undefined ? {} : { words }),
          ...warningsOf(warnings, model, [credential.secret, upstream.credential?.secret])
        },
        charge: { cost: yield* costOf(usage, own), usage: { seconds, ...counts(usage) } }
      }
    })
  }
}

/** The statuses of a gateway that has no such job any more, or cannot cancel jobs. */
const cannotCancel = new Set([404, 405])

const imagesOf = ({ frame_images = [], input_references = [] }: VideoRequest): number =>
  frame_images.length + input_references.filter(({ type }) => type === "image_url").length

const video = (
  client: GatewayClient,
  dialect: Dialect,
  upstream: Upstream,
  model: VideoModel,
  { credits_per_image, minimum_credits, ...parameters }: typeof VideoParameters.Type,
  passthrough = passthroughOf(upstream.name, dialect)
): VideoOffer => {
  const { isIdempotent, pollInterval } = dialect
  const { gateway } = client
  const capabilities = parameters.upscale ? { ...parameters, default_duration: 0 } : parameters
  const callWith = (credential: Credential) => ({ credential, model: model.upstreamId })
  // The length of a video to upscale is not known here.
  const seconds = ({ duration = capabilities.default_duration }: VideoRequest) =>
    capabilities.upscale ? capabilities.max_duration : duration
  const quote = (request: VideoRequest) => {
    const { generate_audio = capabilities.generate_audio, resolution } = request
    const video = videoCost(model.pricing, { seconds: seconds(request), resolution, audio: generate_audio })
    const most = Math.max(video, minimum_credits * 1_000_000) + credits_per_image * 1_000_000 * imagesOf(request)
    return cost(most, 1)
  }
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
    const price = quote(request)
    // The video is made: a wrong bill is no reason not to deliver it.
    const cost = yield* Effect.orElseSucceed(costOf(job.usage, price), () => price)
    return { status: "completed", outputs, charge: { cost, usage }, ...said }
  })
  return {
    ...Offer.ofModel(model),
    kind: "video",
    provider: upstream.name,
    credential: upstream.credential,
    pricing: model.pricing,
    model,
    capabilities,
    passthrough,
    ignored: (request) => ignored(request, capabilities, model.publicId),
    quote,
    check: (request) => Effect.asVoid(preferencesOf(passthrough, request)),
    isIdempotent,
    ...(pollInterval === undefined ? {} : { pollInterval }),
    submit: Effect.fn("Gateway.submitVideo")(function* ({ request, token }, credential) {
      const preferences = yield* preferencesOf(passthrough, request)
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
    cancel: Effect.fn("Gateway.cancelVideo")(function* (handle: JobHandle, credential: Credential) {
      yield* client.call(gateway.cancelVideo(idOf(handle)), callWith(credential)).pipe(
        Effect.catchIf(
          ({ status }) => status !== undefined && cannotCancel.has(status),
          () => Effect.void
        )
      )
    })
  }
}

/** The offer of a model. */
export const offerOf = Effect.fnUntraced(function* (
  client: GatewayClient,
  dialect: Dialect,
  upstream: Upstream,
  model: Model
): Effect.fn.Return<Offer.Offer, InvalidModel> {
  const { pricing } = model
  if (model.kind === "rerank" && (pricing.unit === "search_unit" || pricing.unit === "token")) {
    return rerank(client, dialect, upstream, model, pricing, yield* decodeParameters(RerankParameters, model))
  }
  if (model.kind === "transcription") {
    return transcription(client, dialect, upstream, model, yield* decodeParameters(TranscriptionParameters, model))
  }
  if (model.kind === "video" && model.pricing.unit !== "video_token") {
    return video(client, dialect, upstream, model, yield* decodeParameters(VideoParameters, model))
  }
  return yield* new InvalidModel({ model, message: "must have a price per search unit or token" })
})
