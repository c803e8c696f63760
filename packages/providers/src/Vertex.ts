/**
 * Google Cloud: the ranking API, Veo on Vertex AI, and Chirp of Speech-to-Text.
 *
 * Ranking: https://docs.cloud.google.com/generative-ai-app-builder/docs/ranking. Veo:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/veo-video-generation
 * and https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/veo/3-1-generate. Chirp:
 * https://docs.cloud.google.com/speech-to-text/docs/models/chirp-2 and
 * https://docs.cloud.google.com/speech-to-text/docs/reference/rest/v2/projects.locations.recognizers/recognize.
 * Errors: https://cloud.google.com/apis/design/errors.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import { AudioFormat } from "@model-gateway/core/Transcription"
import { Duration, Effect, type FileSystem, Schema, Stream } from "effect"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { type Adapter, decodeParameters, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import * as Base64Value from "./internal/base64Value.ts"
import * as GoogleAuth from "./internal/googleAuth.ts"
import { nullable } from "./internal/nullable.ts"
import { secondsUsage } from "./internal/secondsUsage.ts"
import * as TranscriptBounds from "./internal/transcriptBounds.ts"
import * as VideoInput from "./internal/videoInput.ts"
import * as VideoJobs from "./internal/videoJobs.ts"
import type { RerankModel, TranscriptionModel, VideoModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, RerankOffer, TranscriptionOffer, VideoOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { cost, type PerSecond } from "@model-gateway/offers/Pricing"
import { OutOfCredit, type ProviderError, type Reason } from "@model-gateway/offers/ProviderError"
import * as Ranking from "@model-gateway/offers/Ranking"
import type { RerankRequest } from "@model-gateway/offers/Rerank"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptionSegment,
  TranscriptionWord
} from "@model-gateway/offers/Transcription"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import type { VideoRequest } from "@model-gateway/offers/Video"

// Hosts

const defaultBaseUrl = "https://aiplatform.googleapis.com"

type Service = "aiplatform" | "discoveryengine" | "speech"

/**
 * Each service has hosts of its own, most of them one for each location. At another base URL, such
 * as that of a proxy, all are below it.
 */
const hostOf = (baseUrl: string, service: Service, location: string): string => {
  if (baseUrl !== defaultBaseUrl) return baseUrl
  return location === "global" ? `https://${service}.googleapis.com` : `https://${location}-${service}.googleapis.com`
}

const Location = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9-]{1,40}$/, { expected: "a location of Google Cloud" })
)

/** Google reports a project without billing as a 403. */
const reasonOf = ({ codes }: UpstreamHttp.Failure): Reason | undefined =>
  codes.includes("BILLING_DISABLED") ? new OutOfCredit() : undefined

const connect = ({ baseUrl, credential, timeLimit }: Upstream, service: Service, location: string) =>
  UpstreamHttp.make({ baseUrl: hostOf(baseUrl, service, location), credential, timeLimit, reasonOf })

type Services = HttpClient.HttpClient | FileSystem.FileSystem

// Ranking

/**
 * The `parameters` of a rerank model, beside those of `Ranking.Parameters`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RerankParameters = Schema.Struct({
  ...Ranking.Parameters.fields,
  /** Default: `global`. */
  location: Schema.optionalKey(Location)
})

const refusedOfRanking: Passthrough.Declaration["refused"] = {
  request: ["query", "records", "topN"],
  response: ["ignoreRecordDetailsInResponse"]
}

/** Records may have no score, and come back with the id that they were sent with. */
const Ranked = Schema.Struct({
  records: nullable(
    Schema.Array(
      Schema.Struct({
        id: Schema.String.check(Schema.isPattern(/^\d{1,6}$/)),
        score: nullable(Schema.Finite)
      })
    )
  )
})

const rerank = Effect.fnUntraced(function* (
  auth: GoogleAuth.GoogleAuth,
  upstream: Upstream,
  model: RerankModel
): Effect.fn.Return<RerankOffer, InvalidModel, HttpClient.HttpClient> {
  const { location = "global", ...parameters } = yield* decodeParameters(RerankParameters, model)
  const limits = yield* Ranking.limitsOf(
    { ...model, parameters },
    {
      documentsPerCall: 200,
      scores: "probability"
    }
  )
  const http = yield* connect(upstream, "discoveryengine", location)
  const declaration: Passthrough.Declaration = { documented: ["userLabels"], refused: refusedOfRanking }
  const passthrough = Passthrough.make(upstream.name, declaration)
  const offerFor = (project: string) =>
    Ranking.offer({
      upstream,
      model,
      limits,
      // A record is cut after 1,024 tokens.
      maxTokens: { query: 1024, pair: 2048 },
      passthrough: declaration,
      call: ({ options, query }, { documents, top_n }, credential) => {
        const config = `v1/projects/${project}/locations/${location}/rankingConfigs/default_ranking_config`
        const body = Object.assign({}, options, {
          model: model.upstreamId,
          query,
          records: documents.map((content, index) => ({ id: String(index), content })),
          topN: top_n,
          ignoreRecordDetailsInResponse: true
        })
        const request = HttpClientRequest.post(`${config}:rank`).pipe(
          HttpClientRequest.acceptJson,
          HttpClientRequest.bodyJsonUnsafe(body)
        )
        const bounds = Ranking.boundsOf(documents.length)
        return Effect.map(
          http.json({ request, credential, model: model.upstreamId, bounds }, Ranked),
          ({ records }) => ({
            results: (records ?? []).map(({ id, score }) => ({ index: Number(id), relevance_score: score ?? 0 }))
          })
        )
      }
    })
  return {
    ...offerFor(""),
    run: (request: RerankRequest, credential: Credential) =>
      // What is refused needs no token.
      Effect.andThen(
        Passthrough.check(passthrough, request),
        auth.use(credential, (access) => offerFor(access.project).run(request, access.credential))
      )
  }
})

// Veo

const {
  aspect_ratios,
  audio,
  default_duration,
  default_resolution,
  durations,
  max_reference_images,
  options,
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
  /** Default: `us-central1`. */
  location: Schema.optionalKey(Location),
  durations,
  default_duration,
  resolutions,
  default_resolution,
  aspect_ratios,
  sizes,
  audio,
  /** Whether it takes a last frame too. Default: false. */
  last_frame: Schema.optionalKey(Schema.Boolean),
  /** The maximum number of images in `input_references`. Default: it takes none. */
  max_reference_images,
  /** The duration of videos with references. Default: all. */
  reference_duration: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  options,
  refused_options
})

type VideoParameters = typeof VideoParameters.Type

/** The names of Veo's fields are the same for all models. */
const inputOf = ({
  last_frame = false,
  location: _location,
  reference_duration: _duration,
  ...parameters
}: VideoParameters): VideoInput.Parameters => ({
  ...parameters,
  fields: {
    duration: "durationSeconds",
    resolution: "resolution",
    aspect_ratio: "aspectRatio",
    seed: "seed",
    first_frame: "image",
    ...(parameters.audio === undefined ? {} : { generate_audio: "generateAudio" }),
    ...(last_frame ? { last_frame: "lastFrame" } : {}),
    ...(parameters.max_reference_images === undefined ? {} : { reference_images: "referenceImages" })
  },
  resolution_names: { "4K": "4k" },
  frames_or_references: true,
  prompt_optional: true
})

const refusedOfVideos: Passthrough.Declaration["refused"] = {
  request: ["instances", "prompt", "image", "lastFrame", "referenceImages"],
  // Without a bucket, the video is in the answer.
  destination: ["storageUri"],
  price: ["sampleCount", "task"]
}

const dataUri = /^data:(image\/[\w.+-]+);base64,([A-Za-z0-9+/]+={0,2})$/

/** Google fetches no URLs, so images are sent inline. */
const imageOf = (url: Schema.Json | undefined) => {
  const [, mimeType, bytesBase64Encoded] = dataUri.exec(typeof url === "string" ? url : "") ?? []
  return mimeType === undefined ? undefined : { bytesBase64Encoded, mimeType }
}

/** The request's images with their paths. */
const imagesOf = ({ frame_images = [], input_references = [] }: VideoRequest) => [
  ...frame_images.map(({ image_url: { url } }, index) => ({ path: `frame_images.${index}`, url })),
  ...input_references.flatMap((reference, index) =>
    reference.type === "image_url" ? [{ path: `input_references.${index}`, url: reference.image_url.url }] : []
  )
]

const issueOf = (
  { publicId }: VideoModel,
  { default_duration, durations, reference_duration }: VideoParameters,
  request: VideoRequest
): Issue | undefined => {
  const images = imagesOf(request)
  const linked = images.find(({ url }) => !dataUri.test(url))
  if (linked !== undefined) {
    return {
      path: `${linked.path}.image_url.url`,
      message: `${publicId} takes images as data:image/…;base64, URIs only`
    }
  }
  const references = images.length - (request.frame_images?.length ?? 0)
  const duration = request.duration ?? default_duration ?? durations[0]
  return references > 0 && reference_duration !== undefined && duration !== reference_duration
    ? {
        path: "duration",
        message: `${publicId} makes videos with input_references of ${reference_duration} seconds, not ${duration}`
      }
    : undefined
}

const bodyOf = (parameters: VideoInput.Parameters, request: VideoRequest) => {
  const { image, lastFrame, prompt, referenceImages, ...written } = VideoInput.inputOf(parameters, request)
  return {
    instances: [
      {
        prompt,
        image: imageOf(image),
        lastFrame: imageOf(lastFrame),
        referenceImages: Array.isArray(referenceImages)
          ? referenceImages.map((url: Schema.Json) => ({ image: imageOf(url), referenceType: "asset" }))
          : undefined
      }
    ],
    parameters: { ...written, sampleCount: 1 }
  }
}

/** It has the path of the model, at which the operation is asked about. */
const OperationName = Schema.String.check(
  Schema.isPattern(
    /^projects\/[\w.:-]{1,64}\/locations\/[a-z0-9-]{1,41}\/publishers\/google\/models\/[\w.@-]{1,128}\/operations\/[\w-]{1,128}$/
  )
)

const Created = Schema.Struct({ name: OperationName })

/** An operation that has no video, yet or at all. */
const Operation = Schema.fromJsonString(
  Schema.Struct({
    done: nullable(Schema.Boolean),
    error: nullable(Schema.Struct({ code: nullable(Schema.Finite), message: nullable(Schema.String) })),
    response: nullable(Schema.Struct({ raiMediaFilteredCount: nullable(Schema.Finite) }))
  })
)

/** The member that has a video. */
const bytesOfVideo = "bytesBase64Encoded"

/** `INVALID_ARGUMENT`, of which Google says what is wrong with the input. */
const invalidArgument = 3

const statusOf = ({ done, error, response }: typeof Operation.Type): VideoJobs.Status => {
  if (done !== true) return { status: "in_progress" }
  if (error !== undefined && error !== null) {
    const said = error.code === invalidArgument ? SafeMessage.make(error.message ?? "") : undefined
    return VideoJobs.failed(said ?? "the provider could not make the video")
  }
  return (response?.raiMediaFilteredCount ?? 0) > 0
    ? VideoJobs.failed("the provider's content moderation rejected the video")
    : { status: "completed", outputs: 0 }
}

const video = Effect.fnUntraced(function* (
  auth: GoogleAuth.GoogleAuth,
  upstream: Upstream,
  model: VideoModel
): Effect.fn.Return<VideoOffer, InvalidModel, HttpClient.HttpClient> {
  const parameters = yield* decodeParameters(VideoParameters, model)
  if (model.pricing.unit === "video_token") {
    return yield* new InvalidModel({ model, message: "must have a price per second or video" })
  }
  const { location = "us-central1" } = parameters
  const http = yield* connect(upstream, "aiplatform", location)
  const input = inputOf(parameters)
  const ask = (operationName: string) => {
    const [path = ""] = operationName.split("/operations/")
    return HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post(`v1/${path}:fetchPredictOperation`), {
      operationName
    })
  }
  const offerFor = (project: string) =>
    VideoJobs.offer<string>(http, upstream, model, {
      module: "Vertex",
      input: VideoInput.of(upstream.name, model, input, refusedOfVideos),
      pollInterval: Duration.seconds(10),
      issueOf: (request) => issueOf(model, parameters, request),
      isHandle: Schema.is(OperationName),
      notAHandle: "no handle of Vertex AI",
      submit: (request, send) => {
        const path = `v1/projects/${project}/locations/${location}/publishers/google/models/${model.upstreamId}`
        const body = HttpClientRequest.bodyJsonUnsafe(bodyOf(input, request))
        return Effect.map(send(body(HttpClientRequest.post(`${path}:predictLongRunning`)), Created), ({ name }) => name)
      },
      // The video is in the answer, so no more of it is read than where the video begins.
      poll: Effect.fnUntraced(function* (name, _send, _request, read): Effect.fn.Return<
        VideoJobs.Status,
        ProviderError
      > {
        const { hasFile, text } = yield* Base64Value.probe(read(ask(name)), bytesOfVideo)
        if (hasFile) return { status: "completed", outputs: 1 }
        const operation = yield* Effect.mapError(Schema.decodeEffect(Operation)(text), () =>
          VideoJobs.badResponse("not the JSON of an operation", 200)
        )
        return statusOf(operation)
      }),
      links: { content: (name, index, read) => Base64Value.file(read(ask(name)), bytesOfVideo, index) }
    })
  const offer = offerFor("")
  return {
    ...offer,
    submit: (submission, credential) =>
      Effect.andThen(
        offer.check(submission.request),
        auth.use(credential, (access) => offerFor(access.project).submit(submission, access.credential))
      ),
    poll: (job, credential) => auth.use(credential, (access) => offer.poll(job, access.credential)),
    content: (output, credential) =>
      Stream.unwrap(Effect.map(auth.access(credential), (access) => offer.content(output, access.credential)))
  }
})

// Transcription

const Positive = Schema.Finite.check(Schema.isGreaterThan(0))

/**
 * The `parameters` of a transcription model.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TranscriptionParameters = Schema.Struct({
  /** Default: `us-central1`. */
  location: Schema.optionalKey(Location),
  /** Google's codes of languages by ISO 639-1, such as `{ "de": "de-DE" }`. Default: none. */
  languages: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Default: all but `aac`. */
  audioFormats: Schema.optionalKey(Schema.NonEmptyArray(AudioFormat)),
  /** The largest audio in bytes. Default: 10,000,000. */
  maxBytes: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** The longest audio in seconds. Default: 60. */
  maxSeconds: Schema.optionalKey(Positive)
})

const refusedOfSpeech: Passthrough.Declaration["refused"] = {
  request: ["autoDecodingConfig", "config", "configMask", "content", "explicitDecodingConfig", "uri"],
  // Each channel is billed.
  price: ["multiChannelMode"]
}

/** The options are fields of `config`. */
const configOf = (
  { upstreamId }: TranscriptionModel,
  languages: Readonly<Record<string, string>>,
  { language = "", options: given = {}, timestamp_granularities }: TranscriptionRequest
): Schema.JsonObject => {
  const { features = {}, ...others } = given
  const config: Schema.JsonObject = Object.assign({ languageCodes: [languages[language] ?? "auto"] }, others, {
    model: upstreamId,
    autoDecodingConfig: {},
    features: Object.assign({ enableAutomaticPunctuation: true }, features, {
      // Segments begin with words.
      enableWordTimeOffsets: timestamp_granularities.length > 0
    })
  })
  return config
}

/** A duration as Google writes it: `1.500s`. */
const secondsOf = (text: string | null | undefined): number | undefined => {
  const [, seconds] = /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(text ?? "") ?? []
  return seconds === undefined ? undefined : Number(seconds)
}

const Text = nullable(Schema.String)

const Recognized = Schema.Struct({
  results: nullable(
    Schema.Array(
      Schema.Struct({
        alternatives: nullable(
          Schema.Array(
            Schema.Struct({
              transcript: Text,
              words: nullable(Schema.Array(Schema.Struct({ word: Text, startOffset: Text, endOffset: Text })))
            })
          )
        ),
        resultEndOffset: Text,
        languageCode: Text
      })
    )
  ),
  metadata: nullable(Schema.Struct({ totalBilledDuration: Text }))
})

type Result = NonNullable<(typeof Recognized.Type)["results"]>[number]

/** The words that have times. Google leaves out a start at 0. */
const wordsOf = ({ alternatives }: Result): ReadonlyArray<TranscriptionWord> =>
  (alternatives?.[0]?.words ?? []).flatMap(({ endOffset, startOffset, word }) => {
    const end = secondsOf(endOffset)
    const start = startOffset === undefined ? 0 : secondsOf(startOffset)
    return end === undefined || start === undefined || start > end ? [] : [{ word: word ?? "", start, end }]
  })

const textOf = ({ alternatives }: Result): string => (alternatives?.[0]?.transcript ?? "").trim()

/** Each result is a segment, which begins with its first word or where the one before ends. */
const segmentsOf = (results: ReadonlyArray<Result>): ReadonlyArray<TranscriptionSegment> => {
  const segments: Array<TranscriptionSegment> = []
  let before = 0
  for (const result of results) {
    const [first] = wordsOf(result)
    const start = first?.start ?? before
    const end = Math.max(start, secondsOf(result.resultEndOffset) ?? wordsOf(result).at(-1)?.end ?? start)
    if (textOf(result) !== "") segments.push({ id: segments.length, start, end, text: textOf(result) })
    before = end
  }
  return segments
}

const toAnswer = (
  { results }: typeof Recognized.Type,
  { audio, timestamp_granularities }: TranscriptionRequest
): TranscriptionResponse => {
  const all = results ?? []
  const language = all.find(({ languageCode }) => (languageCode ?? "") !== "")?.languageCode
  return {
    text: all
      .map(textOf)
      .filter((text) => text !== "")
      .join(" "),
    duration: audio.durationSeconds,
    segments: timestamp_granularities.length === 0 ? [] : segmentsOf(all),
    ...(typeof language === "string" ? { language } : {}),
    ...(timestamp_granularities.includes("word") ? { words: all.flatMap(wordsOf) } : {})
  }
}

const transcription = Effect.fnUntraced(function* (
  auth: GoogleAuth.GoogleAuth,
  upstream: Upstream,
  model: TranscriptionModel,
  pricing: PerSecond
): Effect.fn.Return<TranscriptionOffer, InvalidModel, HttpClient.HttpClient> {
  const {
    audioFormats = ["wav", "mp3", "flac", "m4a", "ogg", "webm"],
    languages = {},
    location = "us-central1",
    maxBytes = 10_000_000,
    maxSeconds = 60
  } = yield* decodeParameters(TranscriptionParameters, model)
  const http = yield* connect(upstream, "speech", location)
  const { credential, name } = upstream
  const documented = ["adaptation", "denoiserConfig", "features", "languageCodes", "transcriptNormalization"]
  const passthrough = Passthrough.make(name, { documented, refused: refusedOfSpeech })
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
    ignored: ({ language }) =>
      language === undefined || Object.hasOwn(languages, language)
        ? []
        : [`language: ${model.publicId} does not take ${language}, so it detects the language.`],
    quote: ({ audio }) => cost(pricing.microCredits, Math.ceil(audio.durationSeconds)),
    run: Effect.fn("Vertex.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
      yield* Passthrough.check(passthrough, request)
      // The audio is on the service's own disk. If it cannot be read, no provider failure describes
      // that. It is short, as Google takes it in JSON only.
      const bytes = yield* Effect.orDie(request.audio.source.bytes)
      const body = {
        config: configOf(model, languages, request),
        content: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("base64")
      }
      const { durationSeconds } = request.audio
      const recognized = yield* auth.use(credential, (access) => {
        const recognizer = `v2/projects/${access.project}/locations/${location}/recognizers/_`
        return http.json(
          {
            request: HttpClientRequest.post(`${recognizer}:recognize`).pipe(
              HttpClientRequest.acceptJson,
              HttpClientRequest.bodyJsonUnsafe(body)
            ),
            credential: access.credential,
            model: model.upstreamId,
            bounds: TranscriptBounds.of(durationSeconds)
          },
          Recognized
        )
      })
      const billed = secondsOf(recognized.metadata?.totalBilledDuration) ?? Math.ceil(durationSeconds)
      return {
        answer: toAnswer(recognized, request),
        charge: { cost: cost(pricing.microCredits, billed), usage: secondsUsage(request, billed) }
      }
    })
  }
})

/**
 * Google Cloud: `VERTEX_SERVICE_ACCOUNT`, `VERTEX_BASE_URL`. See {@link RerankParameters},
 * {@link VideoParameters} and {@link TranscriptionParameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<Services> = {
  name: "vertex",
  title: "Google Cloud",
  variables: { apiKey: "VERTEX_SERVICE_ACCOUNT", baseUrl: "VERTEX_BASE_URL" },
  defaultBaseUrl,
  credential: "required",
  kinds: ["rerank", "transcription", "video"],
  ...Catalog.of("vertex"),
  offers: Effect.fnUntraced(function* (upstream, models) {
    const auth = yield* GoogleAuth.make(upstream)
    return yield* Effect.forEach(models, (model): Effect.Effect<Offer.Offer, InvalidModel, HttpClient.HttpClient> => {
      switch (model.kind) {
        case "rerank":
          return rerank(auth, upstream, model)
        case "transcription":
          return model.pricing.unit === "second"
            ? transcription(auth, upstream, model, model.pricing)
            : Effect.fail(new InvalidModel({ model, message: "must have a price per second" }))
        case "video":
          return video(auth, upstream, model)
      }
    })
  })
}
