/**
 * Mistral's transcription models, Voxtral. The API is close to OpenAI's, with segments that carry
 * speakers, and without `response_format`.
 *
 * Protocol: https://docs.mistral.ai/studio/audio/speech-to-text/transcribe-files and the SDK
 * `@mistralai/mistralai` 2.7.0. Limits: https://docs.mistral.ai/studio/audio/specs-and-limits/limits.
 * Errors: https://docs.mistral.ai/resources/error-glossary. Prices: https://docs.mistral.ai/models.
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
import { InputTooLarge, type Reason, UnknownModel } from "@model-gateway/offers/ProviderError"
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
   * Whether it takes a `language` together with times. Default: false, as Mistral documents of
   * Voxtral 2. A `language` is then ignored where segments are asked for.
   */
  languageWithTimes: Schema.optionalKey(Schema.Boolean),
  /** Default: all but `aac`. */
  audioFormats: Schema.optionalKey(Schema.NonEmptyArray(AudioFormat)),
  /** The largest audio in bytes. Default: 512,000,000. */
  maxBytes: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** The longest audio in seconds. Default: no limit. */
  maxSeconds: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0)))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Parameters = typeof Parameters.Type

// Request mapping

const declaration: Passthrough.Declaration = {
  documented: ["context_bias", "diarize", "language", "temperature"],
  refused: {
    request: ["file", "file_id", "file_url", "timestamp_granularities"],
    // Samples of voices are audio, too, whose length is not known here.
    price: ["speaker_references"]
  }
}

/** Whether the language of the request is sent. */
const sendsLanguage = ({ languageWithTimes = false }: Parameters, request: TranscriptionRequest): boolean =>
  request.timestamp_granularities.length === 0 || languageWithTimes

const toForm = (model: TranscriptionModel, parameters: Parameters, request: TranscriptionRequest): FormBody.Form => {
  const { audio, language, options, temperature = 0, timestamp_granularities } = request
  const own: FormBody.Form["fields"] = [
    ["model", model.upstreamId],
    ...(language === undefined || !sendsLanguage(parameters, request) ? [] : [["language", language] as const]),
    // The specification's default is 0, whatever Mistral's is.
    ["temperature", String(temperature)],
    ...(timestamp_granularities.length === 0 ? [] : [["timestamp_granularities", "segment"] as const])
  ]
  return {
    fields: OptionFields.withOptions(own, OptionFields.repeated(options)),
    file: {
      name: "file",
      filename: `audio.${audio.format}`,
      contentType: mediaTypes[audio.format],
      source: audio.source
    }
  }
}

// Response mapping

const Segment = Schema.Struct({
  text: Schema.String,
  start: Schema.Finite,
  end: Schema.Finite,
  speaker_id: nullable(Schema.String)
})

const isSegment = Schema.is(Segment)

/**
 * The parts that matter here. Segments of another form are left out: the call was billed, so it must
 * not fail because of one without times.
 */
const Response = Schema.Struct({
  text: Schema.String,
  language: nullable(Schema.String),
  segments: nullable(Schema.Array(Schema.Unknown)),
  usage: nullable(
    Schema.Struct({
      // The maximum keeps a wrong bill within what can be counted in micro-credits.
      prompt_audio_seconds: nullable(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 })))
    })
  )
})

const toAnswer = (
  { language, segments, text }: typeof Response.Type,
  { audio, timestamp_granularities }: TranscriptionRequest
): TranscriptionResponse => {
  const speakerOf = Speakers.numbered()
  return {
    text: text.trim(),
    duration: audio.durationSeconds,
    segments:
      timestamp_granularities.length === 0
        ? []
        : (segments ?? []).filter(isSegment).map(({ end, speaker_id, start, text }, id) => ({
            id,
            start,
            end,
            text: text.trim(),
            ...speakerOf(speaker_id)
          })),
    ...(typeof language === "string" && language !== "" ? { language } : {})
  }
}

// Error mapping

/** Mistral reports an unknown model, and audio beyond the context, as a 400. */
const reasonOf = ({ codes, message, model, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (status !== 400) return undefined
  if (codes.some((code) => code === "unknown_model" || code === "invalid_model")) return new UnknownModel({ model })
  // Another provider may take longer audio.
  return message !== undefined && /\bcontext (?:length|window)\b|\btoo long\b/i.test(message)
    ? new InputTooLarge({ message })
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
  const parameters = yield* decodeParameters(Parameters, model)
  const { audioFormats = ["wav", "mp3", "flac", "m4a", "ogg", "webm"], maxBytes = 512_000_000, maxSeconds } = parameters
  const passthrough = Passthrough.make(name, declaration, OptionFields.nameIssues)
  const offer: TranscriptionOffer = {
    ...Offer.ofModel(model),
    kind: "transcription",
    provider: name,
    credential,
    pricing,
    capabilities: {
      audio_formats: audioFormats,
      verbose: true,
      word_timestamps: false,
      max_bytes: maxBytes,
      max_seconds: maxSeconds
    },
    passthrough,
    ignored: (request) =>
      request.language === undefined || sendsLanguage(parameters, request)
        ? []
        : [`language: ${model.publicId} takes no language together with times, so it was ignored.`],
    // Mistral counts whole seconds.
    quote: ({ audio }) => cost(pricing.microCredits, Math.ceil(audio.durationSeconds)),
    run: Effect.fn("Mistral.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
      yield* Passthrough.check(passthrough, request)
      const { body } = yield* FormBody.make(toForm(model, parameters, request), random)
      const response = yield* http.json(
        {
          request: HttpClientRequest.post("audio/transcriptions").pipe(
            HttpClientRequest.acceptJson,
            HttpClientRequest.setBody(body)
          ),
          credential,
          model: model.upstreamId,
          bounds: TranscriptBounds.of(request.audio.durationSeconds)
        },
        Response
      )
      const billed = response.usage?.prompt_audio_seconds ?? request.audio.durationSeconds
      return {
        answer: toAnswer(response, request),
        charge: { cost: cost(pricing.microCredits, billed), usage: secondsUsage(request, billed) }
      }
    })
  }
  return offer
})

/**
 * Mistral: `MISTRAL_API_KEY`, `MISTRAL_BASE_URL`. See {@link Parameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<HttpClient.HttpClient | SecureRandom.SecureRandom> = {
  name: "mistral",
  title: "Mistral",
  variables: { apiKey: "MISTRAL_API_KEY", baseUrl: "MISTRAL_BASE_URL" },
  defaultBaseUrl: "https://api.mistral.ai/v1",
  credential: "required",
  kinds: ["transcription"],
  ...Catalog.of("mistral"),
  offers: overHttp({ ...perSecond, reasonOf, offer: transcription })
}
