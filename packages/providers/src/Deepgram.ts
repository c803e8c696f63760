/**
 * Deepgram's models for recorded audio.
 *
 * Protocol: https://developers.deepgram.com/reference/speech-to-text/listen-pre-recorded. Errors:
 * https://developers.deepgram.com/docs/errors. Limits:
 * https://developers.deepgram.com/docs/pre-recorded-audio. Prices: https://deepgram.com/pricing.
 *
 * @since 0.1.0
 */
import { AudioFormat } from "@model-gateway/core/Transcription"
import { Effect, Schema } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import { type Adapter, decodeParameters, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { mediaTypes } from "./internal/audioType.ts"
import * as TranscriptBounds from "./internal/transcriptBounds.ts"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, TranscriptionOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { cost, type PerSecond } from "@model-gateway/offers/Pricing"
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptionSegment,
  TranscriptionWord
} from "@model-gateway/offers/Transcription"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Configuration

const NotNegative = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))

/**
 * What `parameters` of a model may say.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  /**
   * What options cost in addition, in micro-credits per second of audio, such as `diarize`. The key
   * `language=multi` is for that value of `language`. An option that Deepgram bills apart and that
   * is not listed here is refused, as its price is not known.
   */
  addOns: Schema.optionalKey(Schema.Record(Schema.String, NotNegative)),
  /** Default: every format. */
  audioFormats: Schema.optionalKey(Schema.NonEmptyArray(AudioFormat)),
  /** The largest audio in bytes. Default: 2,000,000,000. */
  maxBytes: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** The longest audio in seconds. Default: no limit. */
  maxSeconds: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0)))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Parameters = typeof Parameters.Type

/** Options that Deepgram bills apart. */
const billedApart = new Set([
  "custom_intent",
  "custom_topic",
  "detect_entities",
  "diarize",
  "diarize_model",
  "intents",
  "keyterm",
  "language=multi",
  "redact",
  "sentiment",
  "summarize",
  "topics"
])

// Request mapping

const declaration: Passthrough.Declaration = {
  documented: [
    "detect_language",
    "diarize",
    "dictation",
    "extra",
    "filler_words",
    "keywords",
    "language",
    "measurements",
    "mip_opt_out",
    "numerals",
    "paragraphs",
    "profanity_filter",
    "punctuate",
    "replace",
    "search",
    "smart_format",
    "tag",
    "utt_split",
    "utterances"
  ],
  refused: {
    request: ["url"],
    // Raw audio of a wrong rate would last longer. Channels are billed each.
    price: ["channels", "encoding", "multichannel", "sample_rate"]
  }
}

type Options = ReadonlyArray<readonly [name: string, value: Schema.Json]>

/** The parameters of the query. A list repeats its parameter, and null leaves it out. */
const parametersOf = (options: Schema.JsonObject = {}): Options =>
  Object.entries(options).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((item: Schema.Json) =>
      item === null ? [] : [[name, item] as const]
    )
  )

const textOf = (value: Schema.Json): string => (typeof value === "string" ? value : JSON.stringify(value))

const isOff = (value: Schema.Json): boolean => value === false || value === "false"

/** The options of a request that are billed apart, each once. */
const addOnsOf = (options: Schema.JsonObject | undefined): ReadonlyArray<string> => {
  const names = parametersOf(options).flatMap(([name, value]) => {
    const known = name.toLowerCase().replace(/\[\]$/, "")
    return isOff(value) ? [] : [known, `${known}=${textOf(value).toLowerCase()}`]
  })
  return [...new Set(names)].filter((name) => billedApart.has(name))
}

const passthroughOf = (provider: string, addOns: Readonly<Record<string, number>>) =>
  Passthrough.make(provider, declaration, (options, path) =>
    addOnsOf(options)
      .filter((name) => addOns[name] === undefined)
      .map((addOn) => {
        const [name = "", value = "it"] = addOn.split("=")
        return { path: `${path}.${name}`, message: `${value} is billed apart and has no price here` }
      })
  )

const toParameters = (model: TranscriptionModel, request: TranscriptionRequest): URLSearchParams => {
  const options = parametersOf(request.options)
  const has = (...names: ReadonlyArray<string>) => options.some(([name]) => names.includes(name))
  const query = new URLSearchParams({ model: model.upstreamId })
  // Punctuation and paragraphs, which other providers have anyway.
  if (!has("smart_format")) query.set("smart_format", "true")
  if (request.timestamp_granularities.length > 0 && !has("utterances")) query.set("utterances", "true")
  if (!has("language", "detect_language")) {
    // Without either, Deepgram would take the audio for English.
    if (request.language === undefined) query.set("detect_language", "true")
    else query.set("language", request.language)
  }
  for (const [name, value] of options) query.append(name, textOf(value))
  return query
}

// Response mapping

const Word = Schema.Struct({
  word: Schema.String,
  punctuated_word: Schema.optionalKey(Schema.String),
  start: Schema.Finite,
  end: Schema.Finite,
  speaker: Schema.optionalKey(Schema.Int)
})

const Sentence = Schema.Struct({ text: Schema.String, start: Schema.Finite, end: Schema.Finite })

const Paragraph = Schema.Struct({ sentences: Schema.Array(Sentence), speaker: Schema.optionalKey(Schema.Int) })

const Alternative = Schema.Struct({
  transcript: Schema.String,
  words: Schema.optionalKey(Schema.Array(Word)),
  paragraphs: Schema.optionalKey(Schema.Struct({ paragraphs: Schema.optionalKey(Schema.Array(Paragraph)) })),
  languages: Schema.optionalKey(Schema.Array(Schema.String))
})

/** The parts of Deepgram's response that matter here. */
const Response = Schema.Struct({
  metadata: Schema.Struct({
    // The maximum keeps a wrong bill within what can be counted in micro-credits.
    duration: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))
  }),
  results: Schema.Struct({
    channels: Schema.NonEmptyArray(
      Schema.Struct({
        alternatives: Schema.NonEmptyArray(Alternative),
        detected_language: Schema.optionalKey(Schema.String)
      })
    ),
    utterances: Schema.optionalKey(
      Schema.Array(
        Schema.Struct({
          transcript: Schema.String,
          start: Schema.Finite,
          end: Schema.Finite,
          speaker: Schema.optionalKey(Schema.Int)
        })
      )
    )
  })
})

/** Speakers are integers from 0. */
const speakerOf = ({ speaker }: { readonly speaker?: number }): { readonly speaker?: number } =>
  speaker === undefined ? {} : { speaker }

const toWord = (word: typeof Word.Type): TranscriptionWord => ({
  word: word.punctuated_word ?? word.word,
  start: word.start,
  end: word.end,
  ...speakerOf(word)
})

/** The utterances, else the sentences of the paragraphs, else all of it as one. */
const segmentsOf = (
  { results }: typeof Response.Type,
  { paragraphs, transcript, words = [] }: typeof Alternative.Type
): ReadonlyArray<TranscriptionSegment> => {
  if (results.utterances !== undefined) {
    return results.utterances.map((utterance, id) => ({
      id,
      start: utterance.start,
      end: utterance.end,
      text: utterance.transcript,
      ...speakerOf(utterance)
    }))
  }
  const sentences = paragraphs?.paragraphs?.flatMap((paragraph) =>
    paragraph.sentences.map((sentence) => ({ ...sentence, ...speakerOf(paragraph) }))
  )
  if (sentences !== undefined) return sentences.map((sentence, id) => ({ id, ...sentence }))
  const [first] = words
  const last = words.at(-1)
  return first === undefined || last === undefined
    ? []
    : [{ id: 0, start: first.start, end: last.end, text: transcript }]
}

const toAnswer = (response: typeof Response.Type, request: TranscriptionRequest): TranscriptionResponse => {
  const [channel] = response.results.channels
  const [alternative] = channel.alternatives
  const language = channel.detected_language ?? alternative.languages?.[0]
  const { timestamp_granularities } = request
  return {
    text: alternative.transcript,
    duration: response.metadata.duration,
    segments: timestamp_granularities.length === 0 ? [] : segmentsOf(response, alternative),
    ...(language === undefined ? {} : { language }),
    ...(timestamp_granularities.includes("word") ? { words: (alternative.words ?? []).map(toWord) } : {})
  }
}

// Error mapping: Deepgram uses the statuses as most do.

// Offers

const transcription = Effect.fnUntraced(function* (
  http: UpstreamHttp.UpstreamHttp,
  { credential, name }: Upstream,
  model: TranscriptionModel,
  pricing: PerSecond
) {
  const {
    addOns = {},
    audioFormats = AudioFormat.literals,
    maxBytes = 2_000_000_000,
    maxSeconds
  } = yield* decodeParameters(Parameters, model)
  const priceOf = ({ options }: TranscriptionRequest): number =>
    addOnsOf(options).reduce((sum, name) => sum + (addOns[name] ?? 0), pricing.microCredits)
  const passthrough = passthroughOf(name, addOns)
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
      temperature: false,
      max_bytes: maxBytes,
      max_seconds: maxSeconds
    },
    passthrough,
    // Deepgram's own measure may differ a little.
    quote: (request) => cost(priceOf(request), Math.ceil(request.audio.durationSeconds)),
    run: Effect.fn("Deepgram.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
      yield* Passthrough.check(passthrough, request)
      const { format, source } = request.audio
      // The audio is on the service's own disk. If it cannot be read, no provider failure describes
      // that.
      const size = yield* Effect.orDie(source.size)
      const response = yield* http.json(
        {
          request: HttpClientRequest.post("listen").pipe(
            HttpClientRequest.setUrlParams(toParameters(model, request)),
            HttpClientRequest.acceptJson,
            HttpClientRequest.setBody(HttpBody.stream(source.stream, mediaTypes[format], size))
          ),
          credential,
          model: model.upstreamId,
          bounds: TranscriptBounds.of(request.audio.durationSeconds)
        },
        Response
      )
      const { duration } = response.metadata
      return {
        answer: toAnswer(response, request),
        charge: { cost: cost(priceOf(request), duration), usage: { seconds: duration } }
      }
    })
  }
  return offer
})

/**
 * Deepgram: `DEEPGRAM_API_KEY`, `DEEPGRAM_BASE_URL`. See {@link Parameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "deepgram",
  title: "Deepgram",
  variables: { apiKey: "DEEPGRAM_API_KEY", baseUrl: "DEEPGRAM_BASE_URL" },
  defaultBaseUrl: "https://api.deepgram.com/v1",
  credential: "required",
  kinds: ["transcription"],
  ...Catalog.of("deepgram"),
  offers: ({ baseUrl, timeLimit, ...upstream }, models) =>
    Effect.gen(function* () {
      const authentication = { header: "authorization", scheme: "Token" }
      const http = yield* UpstreamHttp.make({
        baseUrl,
        credential: upstream.credential,
        timeLimit,
        authentication
      })
      return yield* Effect.forEach(models, (model) =>
        model.kind === "transcription" && model.pricing.unit === "second"
          ? transcription(http, { baseUrl, ...upstream }, model, model.pricing)
          : Effect.fail(new InvalidModel({ model, message: "must be a transcription model with a price per second" }))
      )
    })
}
