/**
 * ElevenLabs' transcription models, Scribe.
 *
 * Protocol, limits and surcharges: https://elevenlabs.io/docs/api-reference/speech-to-text/convert,
 * as the SDK `@elevenlabs/elevenlabs-js` 2.73.0 has it. Errors:
 * https://help.elevenlabs.io/hc/en-us/articles/19572237925521. Prices:
 * https://elevenlabs.io/pricing/api.
 *
 * @since 0.1.0
 */
import { AudioFormat } from "@model-gateway/core/Transcription"
import { type Adapter, decodeParameters, type Upstream } from "@model-gateway/offers/Adapter"
import * as FormBody from "@model-gateway/offers/FormBody"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, TranscriptionOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { cost } from "@model-gateway/offers/Pricing"
import { OutOfCredit, Overloaded, type Reason, UnknownModel } from "@model-gateway/offers/ProviderError"
import type { TranscriptionRequest, TranscriptionResponse } from "@model-gateway/offers/Transcription"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import { Effect, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { type HttpClient, HttpClientRequest } from "effect/http"
import * as Catalog from "./Catalog.ts"
import { mediaTypes } from "./internal/audioType.ts"
import { nullable } from "./internal/nullable.ts"
import { overHttp, perSecond, type PerSecondModel } from "./internal/offers.ts"
import * as OptionFields from "./internal/optionFields.ts"
import { secondsUsage } from "./internal/secondsUsage.ts"
import * as Sentences from "./internal/sentences.ts"
import * as Speakers from "./internal/speakers.ts"
import * as TranscriptBounds from "./internal/transcriptBounds.ts"

// Configuration

/**
 * What `parameters` of a model may say.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  /**
   * What options cost in addition, as a share of the price: `{"keyterms": 0.2}` for 20 %. An option
   * that ElevenLabs bills apart and that is not listed here is refused, as its price is not known.
   * Default: `keyterms` 0.2, `detect_speaker_roles` 0.1.
   */
  surcharges: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)))),
  /** Default: every format. */
  audioFormats: Schema.optionalKey(Schema.NonEmptyArray(AudioFormat)),
  /** The largest audio in bytes. Default: 4,999,999,999. */
  maxBytes: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** The longest audio in seconds. Default: 36,000, which is 10 hours. */
  maxSeconds: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0)))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Parameters = typeof Parameters.Type

/** Options that ElevenLabs bills apart. */
const billedApart = ["detect_speaker_roles", "entity_detection", "entity_redaction", "keyterms", "transcript_edit"]

const defaultSurcharges: Readonly<Record<string, number>> = { detect_speaker_roles: 0.1, keyterms: 0.2 }

/** More than so many key terms are billed as audio of so many seconds at least. */
const manyKeyterms = { above: 100, seconds: 20 }

// Request mapping

const documented = [
  "diarization_threshold",
  "diarize",
  "enable_logging",
  "language_code",
  "no_verbatim",
  "num_speakers",
  "seed",
  "tag_audio_events",
  "temperature",
  "use_speaker_library"
]

const refused: Passthrough.Declaration["refused"] = {
  request: ["cloud_storage_url", "file", "source_url", "timestamps_granularity"],
  response: ["additional_formats", "multichannel_output_style"],
  // Raw audio of a wrong rate would last longer. Channels are billed each.
  price: ["file_format", "use_multi_channel"]
}

/** The names of the fields that turn something on, as the form has them: one for each value. */
const fieldNames = (options: Schema.JsonObject | undefined): ReadonlyArray<string> =>
  OptionFields.repeated(options).flatMap(([name, value]) =>
    value === "false" ? [] : [name.toLowerCase().replace(/\[\]$/, "")]
  )

/** The options of a request that are billed apart. */
const addOnsOf = (options: Schema.JsonObject | undefined): ReadonlyArray<string> => {
  const names = fieldNames(options)
  return billedApart.filter((name) => names.includes(name))
}

const passthroughOf = (provider: string, surcharges: Readonly<Record<string, number>>) =>
  Passthrough.make(
    provider,
    { documented: [...documented, ...Object.keys(surcharges)].toSorted(), refused },
    (options, path) => [
      ...OptionFields.nameIssues(options, path),
      ...addOnsOf(options)
        .filter((name) => surcharges[name] === undefined)
        .map((name) => ({ path: `${path}.${name}`, message: "it is billed apart and has no price here" }))
    ]
  )

/** The one option that is a parameter of the query. */
const loggingOf = ({ options = {} }: TranscriptionRequest): Readonly<Record<string, string>> => {
  const { enable_logging } = options
  return enable_logging === undefined || enable_logging === null
    ? {}
    : { enable_logging: OptionFields.textOf(enable_logging) }
}

const toForm = (model: TranscriptionModel, request: TranscriptionRequest): FormBody.Form => {
  const { audio, language, options = {}, temperature = 0, timestamp_granularities } = request
  const { enable_logging: _, ...fields } = options
  const own: FormBody.Form["fields"] = [
    ["model_id", model.upstreamId],
    ...(language === undefined ? [] : [["language_code", language] as const]),
    // The specification's default is 0, whatever the model's is.
    ["temperature", String(temperature)],
    ["timestamps_granularity", timestamp_granularities.length === 0 ? "none" : "word"],
    // Other providers write no sounds into the text.
    ["tag_audio_events", "false"]
  ]
  return {
    fields: OptionFields.withOptions(own, OptionFields.repeated(fields)),
    file: {
      name: "file",
      filename: `audio.${audio.format}`,
      contentType: mediaTypes[audio.format],
      source: audio.source
    }
  }
}

// Response mapping

const Word = Schema.Struct({
  text: Schema.String,
  /** `word`, `spacing` or `audio_event`. */
  type: Schema.String,
  start: nullable(Schema.Finite),
  end: nullable(Schema.Finite),
  speaker_id: nullable(Schema.String)
})

const isWord = Schema.is(Word)

/**
 * The parts that matter here. Words of another form are left out: the call was billed, so it must not
 * fail because of one.
 */
const Response = Schema.Struct({
  text: Schema.String,
  language_code: nullable(Schema.String),
  words: nullable(Schema.Array(Schema.Unknown)),
  // The maximum keeps a wrong bill within what can be counted in micro-credits.
  audio_duration_secs: nullable(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 })))
})

const toAnswer = (
  { language_code, text, words }: typeof Response.Type,
  { audio, timestamp_granularities }: TranscriptionRequest
): TranscriptionResponse => {
  const speakerOf = Speakers.numbered()
  const pieces = (words ?? []).filter(isWord).map(({ end, speaker_id, start, text, type }) => ({
    type,
    text,
    start: start ?? undefined,
    end: end ?? undefined,
    ...speakerOf(speaker_id)
  }))
  const timed = pieces.flatMap(({ end, start, text, type, ...speaker }) =>
    type !== "word" || start === undefined || end === undefined ? [] : [{ word: text, start, end, ...speaker }]
  )
  return {
    text,
    duration: audio.durationSeconds,
    segments: timestamp_granularities.length === 0 ? [] : Sentences.ofPieces(pieces),
    ...(typeof language_code === "string" && language_code !== "" ? { language: language_code } : {}),
    ...(timestamp_granularities.includes("word") ? { words: timed } : {})
  }
}

// Error mapping

/** Where ElevenLabs' codes say more than the status: an empty account is a 401. */
const reasonOf = ({ codes, model, retryAfter, status }: UpstreamHttp.Failure): Reason | undefined => {
  const has = (...expected: ReadonlyArray<string>) => codes.some((code) => expected.includes(code))
  if (has("quota_exceeded", "insufficient_credits", "payment_required")) return new OutOfCredit()
  if (has("model_not_found", "invalid_model_id", "unsupported_model")) return new UnknownModel({ model })
  return status === 429 && has("system_busy")
    ? new Overloaded(retryAfter === undefined ? {} : { retryAfter })
    : undefined
}

// Offers

const transcription = Effect.fnUntraced(function* (
  http: UpstreamHttp.UpstreamHttp,
  { credential, name }: Upstream,
  model: PerSecondModel
) {
  const { pricing } = model
  const random = yield* SecureRandom.SecureRandom
  const {
    audioFormats = AudioFormat.literals,
    maxBytes = 4_999_999_999,
    maxSeconds = 36_000,
    surcharges = defaultSurcharges
  } = yield* decodeParameters(Parameters, model)
  const passthrough = passthroughOf(name, surcharges)
  const priceOf = ({ options }: TranscriptionRequest): number =>
    pricing.microCredits * (1 + addOnsOf(options).reduce((sum, addOn) => sum + (surcharges[addOn] ?? 0), 0))
  /** What is billed of this length. */
  const billedOf = ({ options }: TranscriptionRequest, seconds: number): number =>
    fieldNames(options).filter((name) => name === "keyterms").length > manyKeyterms.above
      ? Math.max(manyKeyterms.seconds, seconds)
      : seconds
  const offer: TranscriptionOffer = {
    ...Offer.ofModel(model),
    kind: "transcription",
    provider: name,
    credential,
    pricing,
    capabilities: {
      audio_formats: audioFormats,
      verbose: true,
      word_timestamps: true,
      max_bytes: maxBytes,
      max_seconds: maxSeconds
    },
    passthrough,
    // ElevenLabs' own measure may differ a little.
    quote: (request) => cost(priceOf(request), billedOf(request, Math.ceil(request.audio.durationSeconds))),
    run: Effect.fn("ElevenLabs.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
      yield* Passthrough.check(passthrough, request)
      const { body } = yield* FormBody.make(toForm(model, request), random)
      const response = yield* http.json(
        {
          request: HttpClientRequest.post("v1/speech-to-text").pipe(
            HttpClientRequest.setUrlParams(loggingOf(request)),
            HttpClientRequest.acceptJson,
            HttpClientRequest.setBody(body)
          ),
          credential,
          model: model.upstreamId,
          bounds: TranscriptBounds.of(request.audio.durationSeconds)
        },
        Response
      )
      const billed = billedOf(request, response.audio_duration_secs ?? request.audio.durationSeconds)
      return {
        answer: toAnswer(response, request),
        charge: { cost: cost(priceOf(request), billed), usage: secondsUsage(request, billed) }
      }
    })
  }
  return offer
})

/**
 * ElevenLabs: `ELEVENLABS_API_KEY`, `ELEVENLABS_BASE_URL`. See {@link Parameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<HttpClient.HttpClient | SecureRandom.SecureRandom> = {
  name: "elevenlabs",
  title: "ElevenLabs",
  variables: { apiKey: "ELEVENLABS_API_KEY", baseUrl: "ELEVENLABS_BASE_URL" },
  defaultBaseUrl: "https://api.elevenlabs.io",
  credential: "required",
  kinds: ["transcription"],
  ...Catalog.of("elevenlabs"),
  offers: overHttp({ ...perSecond, authentication: { header: "xi-api-key" }, reasonOf, offer: transcription })
}
