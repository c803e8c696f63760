/**
 * AssemblyAI's models for recorded audio: an upload and a job behind one answer.
 *
 * Protocol: https://www.assemblyai.com/docs/api-reference/overview and the OpenAPI file of
 * https://github.com/AssemblyAI/assemblyai-api-spec. Limits:
 * https://assemblyai.com/docs/faq/are-there-any-limits-on-file-size-or-file-duration-for-files-submitted-to-the-api.
 * What is billed: https://www.assemblyai.com/docs/billing-and-pricing. Prices:
 * https://www.assemblyai.com/pricing.
 *
 * @since 0.1.0
 */
import { AudioFormat } from "@model-gateway/core/Transcription"
import { type Adapter, decodeParameters, type Upstream } from "@model-gateway/offers/Adapter"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, TranscriptionOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { cost } from "@model-gateway/offers/Pricing"
import {
  BadResponse,
  InvalidRequest,
  OutOfCredit,
  ProviderError,
  type Reason,
  Timeout,
  Unavailable,
  UnknownModel
} from "@model-gateway/offers/ProviderError"
import * as SafeMessage from "@model-gateway/offers/SafeMessage"
import type { TranscriptionRequest, TranscriptionResponse } from "@model-gateway/offers/Transcription"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import { Duration, Effect, Exit, Schema } from "effect"
import { HttpBody, HttpClientRequest } from "effect/http"
import * as Catalog from "./Catalog.ts"
import { nullable } from "./internal/nullable.ts"
import { overHttp, perSecond, type PerSecondModel } from "./internal/offers.ts"
import { secondsUsage } from "./internal/secondsUsage.ts"
import * as Sentences from "./internal/sentences.ts"
import * as Speakers from "./internal/speakers.ts"
import * as TranscriptBounds from "./internal/transcriptBounds.ts"

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
   * What options cost in addition, in micro-credits per second of audio, such as `speaker_labels`.
   * An option that AssemblyAI bills apart and that is not listed here is refused, as its price is
   * not known.
   */
  addOns: Schema.optionalKey(Schema.Record(Schema.String, NotNegative)),
  /** Whether it takes a `temperature`. Default: false. */
  temperature: Schema.optionalKey(Schema.Boolean),
  /** Default: every format. */
  audioFormats: Schema.optionalKey(Schema.NonEmptyArray(AudioFormat)),
  /** The largest audio in bytes. Default: 2,200,000,000. */
  maxBytes: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThan(0))),
  /** The longest audio in seconds. Default: 36,000, which is 10 hours. */
  maxSeconds: Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThan(0))),
  /**
   * The first time between two polls in milliseconds. It grows to five times as much. Default:
   * 1000.
   */
  pollMilliseconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60_000 }))),
  /** Whether transcripts and audio stay at AssemblyAI. Default: false. They are deleted. */
  keep: Schema.optionalKey(Schema.Boolean)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Parameters = typeof Parameters.Type

/** Options that AssemblyAI bills apart, or may. */
const billedApart = [
  "auto_chapters",
  "auto_highlights",
  "content_safety",
  "domain",
  "entity_detection",
  "iab_categories",
  "keyterms_prompt",
  "prompt",
  "redact_pii",
  "redact_pii_audio",
  "sentiment_analysis",
  "speaker_labels",
  "speech_understanding",
  "summarization"
]

// Request mapping

const documented = [
  "custom_spelling",
  "disfluencies",
  "filter_profanity",
  "format_text",
  "language_code",
  "language_codes",
  "language_confidence_threshold",
  "language_detection",
  "language_detection_options",
  "punctuate",
  "remove_audio_tags",
  "speaker_options",
  "speakers_expected",
  "speech_threshold",
  "temperature"
]

const refused: Passthrough.Declaration["refused"] = {
  model: ["speech_model", "speech_models"],
  request: ["audio_url", "audio_end_at", "audio_start_from"],
  // Channels are billed each.
  price: ["dual_channel", "multichannel"]
}

const isOff = (value: Schema.Json): boolean =>
  value === null || value === false || value === "" || (Array.isArray(value) && value.length === 0)

const addOnsOf = (options: Schema.JsonObject = {}): ReadonlyArray<string> =>
  billedApart.filter((name) => !isOff(options[name] ?? null))

const passthroughOf = (provider: string, addOns: Readonly<Record<string, number>>) =>
  Passthrough.make(
    provider,
    { documented: [...documented, ...Object.keys(addOns)].toSorted(), refused },
    (options, path) =>
      addOnsOf(options)
        .filter((name) => addOns[name] === undefined)
        .map((name) => ({ path: `${path}.${name}`, message: "it is billed apart and has no price here" }))
  )

const toBody = (
  model: TranscriptionModel,
  { temperature: takesTemperature = false }: Parameters,
  { language, options = {}, temperature = 0 }: TranscriptionRequest,
  audio_url: string
): object => {
  const choosesLanguage = ["language_code", "language_codes", "language_detection"].some((name) => name in options)
  const sent = Object.assign(
    {},
    // AssemblyAI would take the audio for English otherwise.
    choosesLanguage ? {} : language === undefined ? { language_detection: true } : { language_code: language },
    takesTemperature ? { temperature } : {},
    options
  )
  return Object.assign(sent, { audio_url, speech_models: [model.upstreamId] })
}

// Response mapping

const Uploaded = Schema.Struct({ upload_url: Schema.String })

const Created = Schema.Struct({ id: Schema.String.check(Schema.isPattern(/^[\w-]{1,128}$/)) })

/** Times are in milliseconds. */
const Spoken = Schema.Struct({
  text: Schema.String,
  start: Schema.Finite,
  end: Schema.Finite,
  speaker: nullable(Schema.String)
})

const isSpoken = Schema.is(Spoken)

/**
 * The parts of a transcript that matter here. Words and utterances of another form are left out: the
 * call was billed, so it must not fail because of one.
 */
const Transcript = Schema.Struct({
  status: Schema.String,
  error: nullable(Schema.String),
  text: nullable(Schema.String),
  language_code: nullable(Schema.String),
  // The maximum keeps a wrong bill within what can be counted in micro-credits.
  audio_duration: nullable(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))),
  words: nullable(Schema.Array(Schema.Unknown)),
  utterances: nullable(Schema.Array(Schema.Unknown))
})

type Completed = typeof Transcript.Type

const toAnswer = (
  { language_code, text, utterances, words }: Completed,
  { audio, timestamp_granularities }: TranscriptionRequest
): TranscriptionResponse => {
  const speakerOf = Speakers.numbered()
  const timed = ({ end, speaker, start }: typeof Spoken.Type) => ({
    start: start / 1000,
    end: end / 1000,
    ...speakerOf(speaker)
  })
  const said = (utterances ?? []).filter(isSpoken)
  const spoken = (words ?? []).filter(isSpoken).map((word) => ({ word: word.text, ...timed(word) }))
  const segments =
    said.length === 0
      ? Sentences.ofWords(spoken)
      : said.map((utterance, id) => ({ id, text: utterance.text, ...timed(utterance) }))
  return {
    text: text ?? "",
    duration: audio.durationSeconds,
    segments: timestamp_granularities.length === 0 ? [] : segments,
    ...(typeof language_code === "string" && language_code !== "" ? { language: language_code } : {}),
    ...(timestamp_granularities.includes("word") ? { words: spoken } : {})
  }
}

// Error mapping

/** AssemblyAI has messages and no codes. An empty account is a 400. */
const reasonOf = ({ message = "", model, status }: UpstreamHttp.Failure): Reason | undefined => {
  if (status !== 400) return undefined
  if (/account balance|insufficient (?:balance|credits?|funds)|top up/i.test(message)) return new OutOfCredit()
  return /\bspeech_models?\b|\bspeech model\b/i.test(message) ? new UnknownModel({ model }) : undefined
}

/**
 * The reason for a transcript that ended with an error, without secrets. AssemblyAI does not bill
 * it.
 */
const reasonOfFailed = (error: string): Reason =>
  /server error|internal|download|upload|try again|timed? ?out|developers have been alerted/i.test(error)
    ? new Unavailable({})
    : new InvalidRequest({
        message: SafeMessage.make(error) ?? "the provider could not transcribe the audio",
        // The models of others may have the language.
        ...(/\blanguage\b/i.test(error) ? { othersMayAccept: true } : {})
      })

const failWith = (reason: Reason) => new ProviderError({ reason })

/** A poll that may succeed later. The transcript goes on without it. */
const maxFailedPolls = 5

const mayPass = ({ reason }: ProviderError): boolean =>
  ["BadResponse", "ConnectionLost", "Overloaded", "RateLimited", "Timeout", "Unavailable"].includes(reason._tag)

/** The longest waits for a creation and for a deletion, which are not interrupted. */
const creationTime = Duration.seconds(30)
const deletionTime = Duration.seconds(5)

/** The longest wait for a poll: one that hangs must not use up the time of the transcript. */
const pollTime = Duration.seconds(30)

// Offers

interface Call {
  readonly credential: Credential
  readonly model: string
}

const upload = Effect.fnUntraced(function* (
  http: UpstreamHttp.UpstreamHttp,
  { audio }: TranscriptionRequest,
  call: Call
) {
  // The audio is on the service's own disk. If it cannot be read, no provider failure describes that.
  const size = yield* Effect.orDie(audio.source.size)
  const request = HttpClientRequest.post("v2/upload").pipe(
    HttpClientRequest.acceptJson,
    HttpClientRequest.setBody(HttpBody.stream(audio.source.stream, "application/octet-stream", size))
  )
  return (yield* http.json({ ...call, request }, Uploaded)).upload_url
})

/**
 * Waits for the end of a transcript. Some polls may fail, because the transcript is billed anyway.
 */
const completed = Effect.fnUntraced(function* (
  http: UpstreamHttp.UpstreamHttp,
  id: string,
  { audio }: TranscriptionRequest,
  first: Duration.Duration,
  call: Call,
  own: Credential | undefined
): Effect.fn.Return<Completed, ProviderError> {
  const request = HttpClientRequest.get(`v2/transcript/${id}`).pipe(HttpClientRequest.acceptJson)
  const bounds = TranscriptBounds.of(audio.durationSeconds)
  const longest = Duration.times(first, 5)
  let wait = first
  let failures = 0
  while (true) {
    yield* Effect.sleep(wait)
    wait = Duration.min(longest, Duration.times(wait, 1.5))
    const polled = yield* Effect.result(http.json({ ...call, request, bounds, timeLimit: pollTime }, Transcript))
    if (polled._tag === "Failure") {
      const { failure } = polled
      if (failure.reason._tag === "UnknownModel") {
        return yield* failWith(new BadResponse({ description: "the transcript is gone" }))
      }
      if (!mayPass(failure) || ++failures > maxFailedPolls) return yield* failure
      const asked = "retryAfter" in failure.reason ? failure.reason.retryAfter : undefined
      if (asked !== undefined) yield* Effect.sleep(asked)
      continue
    }
    failures = 0
    const { error, status } = polled.success
    if (status === "completed") return polled.success
    if (status === "error") {
      const secrets = [call.credential.secret, own?.secret]
      return yield* failWith(reasonOfFailed(SafeMessage.withoutSecrets(error ?? "", secrets)))
    }
    if (status !== "queued" && status !== "processing") {
      return yield* failWith(new BadResponse({ description: "a transcript of an unknown status" }))
    }
  }
})

const transcription = Effect.fnUntraced(function* (
  http: UpstreamHttp.UpstreamHttp,
  { credential, name, timeLimit = UpstreamHttp.defaultTimeLimit }: Upstream,
  model: PerSecondModel
) {
  const { pricing } = model
  const parameters = yield* decodeParameters(Parameters, model)
  const { addOns = {}, audioFormats = AudioFormat.literals, keep = false, maxBytes = 2_200_000_000 } = parameters
  const { maxSeconds = 36_000, pollMilliseconds = 1000, temperature = false } = parameters
  const priceOf = ({ options }: TranscriptionRequest): number =>
    addOnsOf(options).reduce((sum, addOn) => sum + (addOns[addOn] ?? 0), pricing.microCredits)
  const passthrough = passthroughOf(name, addOns)

  const create = (request: TranscriptionRequest, audioUrl: string, call: Call) => {
    const post = HttpClientRequest.post("v2/transcript").pipe(
      HttpClientRequest.acceptJson,
      HttpClientRequest.bodyJsonUnsafe(toBody(model, parameters, request, audioUrl))
    )
    const created = http.json(
      { ...call, request: post, bounds: TranscriptBounds.of(0), timeLimit: creationTime },
      Created
    )
    return Effect.map(created, ({ id }) => id)
  }

  /** Removes the transcript and the uploaded audio. Nobody has their ids, so nobody would later. */
  const remove = (id: string, call: Call) =>
    http
      .json(
        { ...call, request: HttpClientRequest.delete(`v2/transcript/${id}`), timeLimit: deletionTime },
        Schema.Unknown
      )
      .pipe(Effect.ignore)

  const transcribe = Effect.fnUntraced(function* (request: TranscriptionRequest, call: Call) {
    const interval = Duration.millis(pollMilliseconds)
    const audioUrl = yield* upload(http, request, call)
    // The creation is not interrupted, so that every transcript is deleted.
    return yield* Effect.acquireUseRelease(
      create(request, audioUrl, call),
      (id) => completed(http, id, request, interval, call, credential),
      (id, exit) => (keep && Exit.isSuccess(exit) ? Effect.void : remove(id, call))
    )
  })

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
      temperature,
      max_bytes: maxBytes,
      max_seconds: maxSeconds
    },
    passthrough,
    // AssemblyAI counts whole seconds.
    quote: (request) => cost(priceOf(request), Math.ceil(request.audio.durationSeconds)),
    run: Effect.fn("AssemblyAi.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
      yield* Passthrough.check(passthrough, request)
      const transcript = yield* Effect.timeoutOrElse(transcribe(request, { credential, model: model.upstreamId }), {
        duration: timeLimit,
        orElse: () => Effect.fail(failWith(new Timeout()))
      })
      const billed = transcript.audio_duration ?? request.audio.durationSeconds
      return {
        answer: toAnswer(transcript, request),
        charge: { cost: cost(priceOf(request), billed), usage: secondsUsage(request, billed) }
      }
    })
  }
  return offer
})

/**
 * AssemblyAI: `ASSEMBLYAI_API_KEY`, `ASSEMBLYAI_BASE_URL`. See {@link Parameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter = {
  name: "assemblyai",
  title: "AssemblyAI",
  variables: { apiKey: "ASSEMBLYAI_API_KEY", baseUrl: "ASSEMBLYAI_BASE_URL" },
  defaultBaseUrl: "https://api.assemblyai.com",
  credential: "required",
  kinds: ["transcription"],
  ...Catalog.of("assemblyai"),
  offers: overHttp({ ...perSecond, authentication: { header: "authorization" }, reasonOf, offer: transcription })
}
