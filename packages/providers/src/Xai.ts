/**
 * xAI's video models (Grok Imagine) and its speech to text.
 *
 * Videos: https://docs.x.ai/developers/rest-api-reference/inference/videos and
 * https://docs.x.ai/developers/model-capabilities/video/generation. Fields and answers are those of
 * the SDK `@ai-sdk/xai` 5.0.12. Speech:
 * https://docs.x.ai/developers/rest-api-reference/inference/speech-to-text. Costs in answers:
 * https://docs.x.ai/developers/cost-tracking. Prices: https://docs.x.ai/developers/pricing.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { AudioFormat } from "@model-gateway/core/Transcription"
import { Resolution } from "@model-gateway/core/Video"
import { Duration, Effect, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { type Adapter, decodeParameters, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { mediaTypes } from "./internal/audioType.ts"
import { nullable } from "./internal/nullable.ts"
import { offersByKind } from "./internal/offersByKind.ts"
import { secondsUsage } from "./internal/secondsUsage.ts"
import * as TranscriptBounds from "./internal/transcriptBounds.ts"
import * as VideoInput from "./internal/videoInput.ts"
import * as VideoJobs from "./internal/videoJobs.ts"
import * as FormBody from "@model-gateway/offers/FormBody"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { TranscriptionModel, VideoModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, TranscriptionOffer, VideoOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { cost, type PerSecond } from "@model-gateway/offers/Pricing"
import { OutOfCredit, type ProviderError, type Reason, Unauthorized } from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptionSegment,
  TranscriptionWord
} from "@model-gateway/offers/Transcription"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import type { VideoRequest } from "@model-gateway/offers/Video"

// Configuration

const {
  aspect_ratios,
  default_duration,
  default_resolution,
  durations,
  image_price,
  max_reference_images,
  options,
  prompt_optional,
  refused_options,
  resolutions,
  sizes
} = VideoInput.Parameters.fields

/**
 * The `parameters` of a video model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const VideoParameters = Schema.Struct({
  durations,
  default_duration,
  resolutions,
  default_resolution,
  aspect_ratios,
  sizes,
  /** Whether it takes a last frame too. Default: false. */
  last_frame: Schema.optionalKey(Schema.Boolean),
  /** The maximum number of images in `input_references`. Default: it takes none. */
  max_reference_images,
  /** The resolutions of videos with references. Default: all. */
  reference_resolutions: Schema.optionalKey(Schema.NonEmptyArray(Resolution)),
  /** What each image that is sent costs in addition, in micro-credits. Default: 0. */
  image_price,
  prompt_optional,
  options,
  refused_options
})

type VideoParameters = typeof VideoParameters.Type

/**
 * The `parameters` of a transcription model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TranscriptionParameters = Schema.Struct({
  /** Default: all but `webm`. */
  audioFormats: Schema.optionalKey(Schema.NonEmptyArray(AudioFormat)),
  /** The largest audio in bytes. Default: 500,000,000. */
  maxBytes: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** The longest audio in seconds. Default: no limit. */
  maxSeconds: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0)))
})

// Video requests

/** The names of xAI's fields are the same for all models, and audio is on by default. */
const inputOf = (parameters: VideoParameters): VideoInput.Parameters => {
  const { last_frame = false, reference_resolutions: _resolutions, ...others } = parameters
  return {
    ...others,
    fields: {
      duration: "duration",
      resolution: "resolution",
      aspect_ratio: "aspect_ratio",
      generate_audio: "generate_audio",
      first_frame: "image",
      ...(last_frame ? { last_frame: "last_frame" } : {}),
      ...(parameters.max_reference_images === undefined ? {} : { reference_images: "reference_images" })
    },
    audio: true
  }
}

const refusedOfVideos: Passthrough.Declaration["refused"] = {
  request: ["image", "last_frame", "reference_images"],
  // Each of its images is billed.
  price: ["keyframes"],
  destination: ["storage_options"]
}

/** As xAI's schema has it, which https://docs.comfy.org copies. */
const maxPromptLength = 4096

const issueOf = (
  { publicId }: VideoModel,
  { default_resolution, reference_resolutions, resolutions }: VideoParameters,
  request: VideoRequest
): Issue | undefined => {
  if ((request.prompt ?? "").length > maxPromptLength) {
    return { path: "prompt", message: `${publicId} takes at most ${maxPromptLength} characters` }
  }
  const { input_references = [], resolution = default_resolution ?? resolutions[0] } = request
  const hasReferences = input_references.some(({ type }) => type === "image_url")
  return hasReferences && resolution !== undefined && reference_resolutions?.includes(resolution) === false
    ? {
        path: "resolution",
        message: `${publicId} makes videos with input_references at ${reference_resolutions.join(", ")}, not ${resolution}`
      }
    : undefined
}

const inObject = (url: Schema.Json | undefined) => (url === undefined ? undefined : { url })

/** Images are objects with a `url`, which may be a `data:` URI. */
const bodyOf = (model: VideoModel, parameters: VideoInput.Parameters, request: VideoRequest) => {
  const { image, last_frame, reference_images, ...written } = VideoInput.inputOf(parameters, request)
  return {
    ...written,
    model: model.upstreamId,
    image: inObject(image),
    last_frame: inObject(last_frame),
    reference_images: Array.isArray(reference_images) ? reference_images.map(inObject) : undefined
  }
}

// Video responses

const Created = Schema.Struct({ request_id: Schema.String.check(Schema.isPattern(/^[\w-]{1,128}$/)) })

const ticksPerCredit = 10_000_000_000

const Video = Schema.Struct({
  status: nullable(Schema.String),
  progress: nullable(Schema.Finite),
  video: nullable(
    Schema.Struct({
      url: nullable(Schema.String),
      respect_moderation: nullable(Schema.Boolean)
    })
  ),
  usage: nullable(Schema.Struct({ cost_in_usd_ticks: nullable(Schema.Number) })),
  error: nullable(Schema.Struct({ code: nullable(Schema.String), message: nullable(Schema.String) }))
})

type Video = typeof Video.Type

const linksOf = ({ video }: Video): ReadonlyArray<string> => (typeof video?.url === "string" ? [video.url] : [])

const billedFor = ({ usage }: Video) => {
  const ticks = usage?.cost_in_usd_ticks
  return typeof ticks === "number" ? { billed: (ticks / ticksPerCredit) * MicroCredits.perCredit } : {}
}

/** xAI's words for an invalid input help the caller. */
const failureOf = ({ error }: Video): string => {
  const said = error?.code === "invalid_argument" ? SafeMessage.make(error.message ?? "") : undefined
  return said ?? "the provider could not make the video"
}

const statusOf = (answer: Video): Effect.Effect<VideoJobs.Status, ProviderError> => {
  const { progress, status, video } = answer
  // Either may be left out.
  switch (status ?? (linksOf(answer).length > 0 ? "done" : "pending")) {
    case "pending":
      return Effect.succeed({
        status: "in_progress",
        // A percentage.
        ...(typeof progress === "number" && progress >= 0 && progress <= 100 ? { progress: progress / 100 } : {})
      })
    case "done":
      return Effect.succeed(
        video?.respect_moderation === false
          ? VideoJobs.failed("the provider's content moderation rejected the video")
          : { status: "completed", outputs: linksOf(answer).length, ...billedFor(answer) }
      )
    case "failed":
      return Effect.succeed(VideoJobs.failed(failureOf(answer)))
    case "expired":
      return Effect.succeed(VideoJobs.failed("the provider no longer has the job"))
    default:
      return Effect.fail(VideoJobs.badResponse("an unknown status"))
  }
}

// Error mapping

/** xAI reports a wrong key as a 400, and an account without credit as a 403 or a 429. */
const reasonOf = ({ message = "", status }: UpstreamHttp.Failure): Reason | undefined => {
  if (status === 400 && /\bAPI key\b/i.test(message)) return new Unauthorized()
  if ((status === 403 || status === 429) && /\b(?:credits|spending limit)\b/i.test(message)) return new OutOfCredit()
  return undefined
}

// Offers of videos

const video = (
  http: UpstreamHttp.UpstreamHttp,
  upstream: Upstream,
  model: VideoModel,
  parameters: VideoParameters
): VideoOffer => {
  const input = inputOf(parameters)
  const read = (id: string, send: VideoJobs.Send) => send(HttpClientRequest.get(`videos/${id}`), Video)
  return VideoJobs.offer<string>(http, upstream, model, {
    module: "Xai",
    input: VideoInput.of(upstream.name, model, input, refusedOfVideos),
    pollInterval: Duration.seconds(5),
    issueOf: (request) => issueOf(model, parameters, request),
    isHandle: Schema.is(Created.fields.request_id),
    notAHandle: "no handle of xAI",
    submit: (request, send) => {
      const body = HttpClientRequest.bodyJsonUnsafe(bodyOf(model, input, request))
      return Effect.map(
        send(body(HttpClientRequest.post("videos/generations")), Created),
        ({ request_id }) => request_id
      )
    },
    poll: (id, send) =>
      Effect.flatMap(read(id, send), statusOf).pipe(
        // The answer about a video that is not done may have no body.
        Effect.catchIf(
          ({ reason, status }) => status === 202 && reason._tag === "BadResponse",
          () => Effect.succeed<VideoJobs.Status>({ status: "in_progress" })
        )
      ),
    links: (id, send) => Effect.map(read(id, send), linksOf)
  })
}

// Transcription

const refusedOfSpeech: Passthrough.Declaration["refused"] = {
  request: ["file", "url", "audio_format", "sample_rate", "sample_rate_hertz"],
  // The answer has the words of each channel apart.
  response: ["multichannel", "channels"]
}

/** The names become fields of a form. */
const nameIssues = (given: Schema.JsonObject, path: string) =>
  Object.keys(given).every(FormBody.isFieldName)
    ? []
    : [{ path, message: "Expected names that can be fields of a form" }]

const textOf = (value: Schema.Json): string => (typeof value === "string" ? value : JSON.stringify(value))

/** A list becomes a repeated field. */
const fieldsOf = (name: string, value: Schema.Json): ReadonlyArray<readonly [string, string]> =>
  (Array.isArray(value) ? value : [value]).map((item: Schema.Json) => [name, textOf(item)])

const toForm = ({ audio, language, options: given = {} }: TranscriptionRequest): FormBody.Form => {
  const fields: Schema.JsonObject = Object.assign(language === undefined ? {} : { language }, given)
  return {
    fields: Object.entries(fields).flatMap(([name, value]) => fieldsOf(name, value)),
    // xAI reads no field that follows the file.
    file: {
      name: "file",
      filename: `audio.${audio.format}`,
      contentType: mediaTypes[audio.format],
      source: audio.source
    }
  }
}

const Transcript = Schema.Struct({
  text: Schema.String,
  language: nullable(Schema.String),
  // The maximum keeps a wrong bill within what can be counted in micro-credits.
  duration: nullable(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))),
  words: nullable(
    Schema.Array(
      Schema.Struct({
        text: Schema.String,
        start: nullable(Schema.Finite),
        end: nullable(Schema.Finite),
        speaker: nullable(Schema.Int)
      })
    )
  )
})

type Transcript = typeof Transcript.Type

/** The words that have times. */
const wordsOf = ({ words }: Transcript): ReadonlyArray<TranscriptionWord> =>
  (words ?? []).flatMap(({ end, speaker, start, text }) =>
    typeof start === "number" && typeof end === "number"
      ? [{ word: text, start, end, ...(typeof speaker === "number" ? { speaker } : {}) }]
      : []
  )

/** xAI returns words only. The words that a speaker says in a row are one segment. */
const segmentsOf = (words: ReadonlyArray<TranscriptionWord>): ReadonlyArray<TranscriptionSegment> => {
  const segments: Array<TranscriptionSegment> = []
  for (const { end, speaker, start, word } of words) {
    const last = segments.at(-1)
    if (last !== undefined && last.speaker === speaker) {
      segments[segments.length - 1] = { ...last, end, text: `${last.text} ${word}` }
    } else {
      segments.push({ id: segments.length, start, end, text: word, ...(speaker === undefined ? {} : { speaker }) })
    }
  }
  return segments
}

const toAnswer = (
  transcript: Transcript,
  { audio, timestamp_granularities }: TranscriptionRequest
): TranscriptionResponse => {
  const { duration, language, text } = transcript
  const words = wordsOf(transcript)
  return {
    text,
    duration: duration ?? audio.durationSeconds,
    segments: timestamp_granularities.length === 0 ? [] : segmentsOf(words),
    ...(typeof language === "string" && language !== "" ? { language } : {}),
    ...(timestamp_granularities.includes("word") ? { words } : {})
  }
}

const transcription = Effect.fnUntraced(function* (
  http: UpstreamHttp.UpstreamHttp,
  random: SecureRandom.SecureRandom["Service"],
  { credential, name }: Upstream,
  model: TranscriptionModel,
  pricing: PerSecond
): Effect.fn.Return<TranscriptionOffer, InvalidModel> {
  const {
    audioFormats = ["wav", "mp3", "flac", "m4a", "ogg", "aac"],
    maxBytes = 500_000_000,
    maxSeconds
  } = yield* decodeParameters(TranscriptionParameters, model)
  const documented = ["diarize", "filler_words", "format", "keyterm", "language"]
  const passthrough = Passthrough.make(name, { documented, refused: refusedOfSpeech }, nameIssues)
  return {
    ...Offer.ofModel(model),
    kind: "transcription",
    provider: name,
    credential,
    pricing,
    capabilities: {
      audio_formats: audioFormats,
      verbose: true,
      word_timestamps: true,
      temperature: false,
      max_bytes: maxBytes,
      max_seconds: maxSeconds
    },
    passthrough,
    // xAI's own measure may differ a little.
    quote: ({ audio }) => cost(pricing.microCredits, Math.ceil(audio.durationSeconds)),
    run: Effect.fn("Xai.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
      yield* Passthrough.check(passthrough, request)
      const { body } = yield* FormBody.make(toForm(request), random)
      const transcript = yield* http.json(
        {
          request: HttpClientRequest.post("stt").pipe(HttpClientRequest.acceptJson, HttpClientRequest.setBody(body)),
          credential,
          model: model.upstreamId,
          bounds: TranscriptBounds.of(request.audio.durationSeconds)
        },
        Transcript
      )
      const billed = transcript.duration ?? request.audio.durationSeconds
      return {
        answer: toAnswer(transcript, request),
        charge: { cost: cost(pricing.microCredits, billed), usage: secondsUsage(request, billed) }
      }
    })
  }
})

const transcriptions: Adapter<HttpClient.HttpClient | SecureRandom.SecureRandom>["offers"] = (upstream, models) =>
  Effect.gen(function* () {
    const { baseUrl, credential, timeLimit } = upstream
    const http = yield* UpstreamHttp.make({ baseUrl, credential, timeLimit, reasonOf })
    const random = yield* SecureRandom.SecureRandom
    return yield* Effect.forEach(models, (model) =>
      model.kind === "transcription" && model.pricing.unit === "second"
        ? transcription(http, random, upstream, model, model.pricing)
        : Effect.fail(new InvalidModel({ model, message: "must be a transcription model with a price per second" }))
    )
  })

/**
 * xAI: `XAI_API_KEY`, `XAI_BASE_URL`. See {@link VideoParameters} and {@link TranscriptionParameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<HttpClient.HttpClient | SecureRandom.SecureRandom> = {
  name: "xai",
  title: "xAI",
  variables: { apiKey: "XAI_API_KEY", baseUrl: "XAI_BASE_URL" },
  defaultBaseUrl: "https://api.x.ai/v1",
  credential: "required",
  kinds: ["transcription", "video"],
  ...Catalog.of("xai"),
  offers: offersByKind({
    transcription: transcriptions,
    video: VideoJobs.offers({ reasonOf, parameters: VideoParameters, offer: video })
  })
}
