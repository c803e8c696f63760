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
import { type Adapter, decodeParameters, type Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { mediaTypes } from "./internal/audioType.ts"
import { nullable } from "./internal/nullable.ts"
import { overHttp, perSecond, type PerSecondModel } from "./internal/offers.ts"
import { secondsUsage } from "./internal/secondsUsage.ts"
import * as TranscriptBounds from "./internal/transcriptBounds.ts"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, TranscriptionOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { cost } from "@model-gateway/offers/Pricing"
import { InvalidRequest, ProviderError, type Reason, UnknownModel } from "@model-gateway/offers/ProviderError"
import type {
  TranscriptionRequest,
  TranscriptionResponse,
  TranscriptionSegment,
  TranscriptionWord
} from "@model-gateway/offers/Transcription"
import type * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

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
  /** The language of audio if the request names none. Default: Deepgram detects it. */
  defaultLanguage: Schema.optionalKey(Schema.NonEmptyString),
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
  // Its documentation says that opting out of the training of models changes the price.
  "mip_opt_out",
  "redact",
  "sentiment",
  "summarize",
  "topics"
])

// Request mapping

/** What Deepgram documents and does not bill apart. */
const documented = [
  "detect_language",
  "dictation",
  "extra",
  "filler_words",
  "keywords",
  "language",
  "measurements",
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
]

const refused: Passthrough.Declaration["refused"] = {
  request: ["url"],
  // Raw audio of a wrong rate would last longer. Channels are billed each.
  price: ["channels", "encoding", "multichannel", "sample_rate"]
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
  const found = new Set(names)
  // Both turn the same diarization on.
  if (found.has("diarize_model")) found.delete("diarize")
  return [...found].filter((name) => billedApart.has(name))
}

const passthroughOf = (provider: string, addOns: Readonly<Record<string, number>>) =>
  Passthrough.make(
    provider,
    { documented: [...documented, ...Object.keys(addOns).filter((name) => !name.includes("="))].toSorted(), refused },
    (options, path) =>
      addOnsOf(options)
        .filter((name) => addOns[name] === undefined)
        .map((addOn) => {
          const [name = "", value = "it"] = addOn.split("=")
          return { path: `${path}.${name}`, message: `${value} is billed apart and has no price here` }
        })
  )

const toParameters = (
  model: TranscriptionModel,
  defaultLanguage: string | undefined,
  request: TranscriptionRequest
): URLSearchParams => {
  const options = parametersOf(request.options)
  const has = (...names: ReadonlyArray<string>) => options.some(([name]) => names.includes(name))
  const query = new URLSearchParams({ model: model.upstreamId })
  // Punctuation and paragraphs, which other providers have anyway.
  if (!has("smart_format")) query.set("smart_format", "true")
  if (request.timestamp_granularities.length > 0 && !has("utterances")) query.set("utterances", "true")
  if (!has("language", "detect_language")) {
    // Without either, Deepgram would take the audio for English.
    const language = request.language ?? defaultLanguage
    if (language === undefined) query.set("detect_language", "true")
    else query.set("language", language)
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

const Utterance = Schema.Struct({
  transcript: Schema.String,
  start: Schema.Finite,
  end: Schema.Finite,
  speaker: Schema.optionalKey(Schema.Int)
})

const Paragraph = Schema.Struct({ sentences: Schema.Array(Schema.Unknown), speaker: Schema.optionalKey(Schema.Int) })

const Alternative = Schema.Struct({
  transcript: Schema.String,
  words: nullable(Schema.Array(Schema.Unknown)),
  paragraphs: nullable(Schema.Struct({ paragraphs: nullable(Schema.Array(Schema.Unknown)) })),
  languages: nullable(Schema.Array(Schema.Unknown))
})

/**
 * The parts of Deepgram's response that matter here. Of its lists, items of another form are left
 * out: the call was billed, so it must not fail because of one word without times.
 */
const Response = Schema.Struct({
  metadata: Schema.Struct({
    // The maximum keeps a wrong bill within what can be counted in micro-credits.
    duration: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))
  }),
  results: Schema.Struct({
    channels: Schema.NonEmptyArray(
      Schema.Struct({
        alternatives: Schema.NonEmptyArray(Alternative),
        detected_language: nullable(Schema.String)
      })
    ),
    utterances: nullable(Schema.Array(Schema.Unknown))
  })
})

const isWord = Schema.is(Word)
const isSentence = Schema.is(Sentence)
const isUtterance = Schema.is(Utterance)
const isParagraph = Schema.is(Paragraph)

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
  { paragraphs, transcript, words }: typeof Alternative.Type
): ReadonlyArray<TranscriptionSegment> => {
  const utterances = results.utterances ?? undefined
  if (utterances !== undefined) {
    return utterances.filter(isUtterance).map((utterance, id) => ({
      id,
      start: utterance.start,
      end: utterance.end,
      text: utterance.transcript,
      ...speakerOf(utterance)
    }))
  }
  const sentences = paragraphs?.paragraphs
    ?.filter(isParagraph)
    .flatMap((paragraph) =>
      paragraph.sentences
        .filter(isSentence)
        .map(({ end, start, text }) => ({ start, end, text, ...speakerOf(paragraph) }))
    )
  if (sentences !== undefined) return sentences.map((sentence, id) => ({ id, ...sentence }))
  const timed = (words ?? []).filter(isWord)
  const [first] = timed
  const last = timed.at(-1)
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
    ...(typeof language === "string" ? { language } : {}),
    ...(timestamp_granularities.includes("word") ? { words: (alternative.words ?? []).filter(isWord).map(toWord) } : {})
  }
}

// Error mapping

/** Deepgram reports a model that it does not have as a 400, without a code of its own. */
const reasonOf = ({ message = "", model, status }: UpstreamHttp.Failure): Reason | undefined =>
  status === 400 && /\bno such model\b/i.test(message) ? new UnknownModel({ model }) : undefined

/** The caller's field that chose the language. */
const languageFieldOf = (provider: string, { language, options = {} }: TranscriptionRequest): string | undefined =>
  options["language"] !== undefined
    ? `provider.options.${provider}.language`
    : language === undefined
      ? undefined
      : "language"

/** Deepgram's error does not say whether it lacks the model or the language. */
const blameLanguage =
  (path: string | undefined, publicId: string, provider: string) =>
  (error: ProviderError): ProviderError => {
    if (path === undefined || error.reason._tag !== "UnknownModel") return error
    const message = `${publicId} does not take this language at ${provider}`
    const issues = [{ path, message }]
    const reason = new InvalidRequest({ message: `${path}: ${message}`, issues, othersMayAccept: true })
    return new ProviderError(error.status === undefined ? { reason } : { reason, status: error.status })
  }

// Offers

const transcription = Effect.fnUntraced(function* (
  http: UpstreamHttp.UpstreamHttp,
  { credential, name }: Upstream,
  model: PerSecondModel
) {
  const { pricing } = model
  const {
    addOns = {},
    audioFormats = AudioFormat.literals,
    defaultLanguage,
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
      const call = {
        request: HttpClientRequest.post("listen").pipe(
          HttpClientRequest.setUrlParams(toParameters(model, defaultLanguage, request)),
          HttpClientRequest.acceptJson,
          HttpClientRequest.setBody(HttpBody.stream(source.stream, mediaTypes[format], size))
        ),
        credential,
        model: model.upstreamId,
        bounds: TranscriptBounds.of(request.audio.durationSeconds)
      }
      const response = yield* Effect.mapError(
        http.json(call, Response),
        blameLanguage(languageFieldOf(name, request), model.publicId, name)
      )
      const { duration } = response.metadata
      return {
        answer: toAnswer(response, request),
        charge: { cost: cost(priceOf(request), duration), usage: secondsUsage(request, duration) }
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
  offers: overHttp({
    ...perSecond,
    authentication: { header: "authorization", scheme: "Token" },
    reasonOf,
    // Its account has other statuses.
    inputStatuses: [400],
    offer: transcription
  })
}
