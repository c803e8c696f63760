/**
 * OpenAI's transcription models, and every server that speaks the same API: set its base URL.
 *
 * Protocol: https://platform.openai.com/docs/api-reference/audio/createTranscription. Errors:
 * https://platform.openai.com/docs/guides/error-codes. Limits:
 * https://platform.openai.com/docs/guides/speech-to-text. Prices:
 * https://platform.openai.com/docs/pricing.
 *
 * @since 0.1.0
 */
import { AudioFormat } from "@model-gateway/core/Transcription"
import { Effect, Schema } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { type HttpClient, HttpClientRequest } from "effect/http"
import { type Adapter, decodeParameters, InvalidModel, type Upstream } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import { mediaTypes } from "./internal/audioType.ts"
import { nullable } from "./internal/nullable.ts"
import * as FormBody from "@model-gateway/offers/FormBody"
import * as OpenAiTranscript from "./internal/openAiTranscript.ts"
import * as OptionFields from "./internal/optionFields.ts"
import { secondsUsage } from "./internal/secondsUsage.ts"
import * as TranscriptBounds from "./internal/transcriptBounds.ts"
import type * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import * as Offer from "@model-gateway/offers/Offer"
import type { Credential, Offers, TranscriptionOffer } from "@model-gateway/offers/Offer"
import * as Passthrough from "@model-gateway/offers/Passthrough"
import { type Charge, cost, maxCount, type PerToken, tokenCost } from "@model-gateway/offers/Pricing"
import { InputTooLarge, OutOfCredit, type Reason, tooLargeField } from "@model-gateway/offers/ProviderError"
import {
  audioFieldOf,
  type TranscriptionCapabilities,
  type TranscriptionRequest,
  type TranscriptionResponse
} from "@model-gateway/offers/Transcription"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"

// Configuration

const Positive = Schema.Finite.check(Schema.isGreaterThan(0))

const PositiveInt = Schema.Int.check(Schema.isGreaterThan(0))

/**
 * What `parameters` of a model may say.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  /** Whether the model supports `verbose_json`, with segments. Default: true. */
  verbose: Schema.optionalKey(Schema.Boolean),
  /** Whether it returns the times of words. Default: as `verbose`. */
  wordTimestamps: Schema.optionalKey(Schema.Boolean),
  /**
   * Whether it takes the list `languages`, and no `language`, as `gpt-transcribe` does. Default:
   * false.
   */
  languages: Schema.optionalKey(Schema.Boolean),
  /** Whether it takes a `temperature`. Default: true. */
  temperature: Schema.optionalKey(Schema.Boolean),
  /** Default: all but `aac`. */
  audioFormats: Schema.optionalKey(Schema.NonEmptyArray(AudioFormat)),
  /** The largest request in bytes, with its form. Default: 26,214,400. */
  maxBytes: Schema.optionalKey(PositiveInt),
  /** The longest audio in seconds. Default: no limit. */
  maxSeconds: Schema.optionalKey(Positive),
  /** The seconds that are billed at least. Default: 0. Only for a price per second. */
  minSeconds: Schema.optionalKey(Positive),
  /** The input tokens of a second of audio. Required for a price per token. */
  tokensPerSecond: Schema.optionalKey(Positive),
  /** The maximum number of output tokens of a response. Required for a price per token. */
  maxOutputTokens: Schema.optionalKey(PositiveInt)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Parameters = typeof Parameters.Type

/**
 * How a kind of server with OpenAI's API differs from OpenAI.
 *
 * @category models
 * @since 0.1.0
 */
export interface Dialect {
  /** The path of the operation below the base URL. */
  readonly path: string
  /** Default: `UpstreamHttp.bearer`. */
  readonly authentication?: UpstreamHttp.Authentication
  /** The form's fields that callers may send, for lists. */
  readonly documented: Passthrough.Declaration["documented"]
  readonly reasonOf: (failure: UpstreamHttp.Failure) => Reason | undefined
}

/** The part of the limit that is kept for the form beside the file. */
const formBytes = 4096

const capabilitiesOf = ({
  audioFormats = ["wav", "mp3", "flac", "m4a", "ogg", "webm"],
  maxBytes = 26_214_400,
  maxSeconds,
  temperature = true,
  verbose = true,
  wordTimestamps = verbose
}: Parameters): TranscriptionCapabilities => ({
  audio_formats: audioFormats,
  verbose,
  word_timestamps: wordTimestamps,
  temperature,
  max_bytes: Math.max(0, maxBytes - formBytes),
  max_seconds: maxSeconds
})

// Request mapping

const refused: Passthrough.Declaration["refused"] = {
  // Some servers take a link in place of the file.
  request: ["file", "timestamp_granularities", "url"],
  response: ["response_format"],
  // Samples of voices are audio that is billed too, and whose length is not known here.
  price: ["known_speaker_references"]
}

/** A list becomes a repeated field, an object JSON text, as OpenAI's own clients send them. */
const fieldsOf = ([name, value]: readonly [string, Schema.Json]): ReadonlyArray<readonly [string, string]> =>
  Array.isArray(value)
    ? value.map((item: Schema.Json) => [name.endsWith("[]") ? name : `${name}[]`, OptionFields.textOf(item)])
    : [[name, OptionFields.textOf(value)]]

const optionFields = (options: Schema.JsonObject = {}) => Object.entries(options).flatMap(fieldsOf)

const toForm = (
  model: TranscriptionModel,
  parameters: Parameters,
  isVerbose: boolean,
  request: TranscriptionRequest
): FormBody.Form => {
  // The specification's default is 0, whatever the server's is.
  const { audio, language, options = {}, temperature = 0, timestamp_granularities } = request
  const own: ReadonlyArray<readonly [string, string]> = [
    ["model", model.upstreamId],
    ...(language === undefined
      ? []
      : [[parameters.languages === true ? "languages[]" : "language", language] as const]),
    ...(parameters.temperature === false ? [] : [["temperature", String(temperature)] as const]),
    ["response_format", isVerbose ? "verbose_json" : "json"],
    // With `word` alone there would be no segments.
    ...(isVerbose ? [["timestamp_granularities[]", "segment"] as const] : []),
    ...(isVerbose && timestamp_granularities.includes("word") ? [["timestamp_granularities[]", "word"] as const] : [])
  ]
  return {
    fields: OptionFields.withOptions(own, optionFields(options)),
    file: {
      name: "file",
      // The upstream takes the format from the extension.
      filename: `audio.${audio.format}`,
      contentType: mediaTypes[audio.format],
      source: audio.source
    }
  }
}

// Response mapping

// The maxima keep a wrong bill within what can be counted in micro-credits.
const Tokens = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxCount }))
const Seconds = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10_000_000 }))

/** The parts of a transcription that matter here. `json` has no times. */
const Response = Schema.Struct({
  ...OpenAiTranscript.Transcript.fields,
  /** Of `gpt-transcribe`, in place of `language`. Of another form, they are left out. */
  languages: Schema.optionalKey(Schema.Unknown),
  usage: nullable(
    Schema.Struct({ seconds: nullable(Seconds), input_tokens: nullable(Tokens), output_tokens: nullable(Tokens) })
  )
})

const isLanguages = Schema.is(Schema.NonEmptyArray(Schema.Struct({ code: Schema.String })))

const toAnswer = (response: typeof Response.Type, request: TranscriptionRequest): TranscriptionResponse =>
  OpenAiTranscript.toAnswer(
    {
      ...response,
      language: response.language ?? (isLanguages(response.languages) ? response.languages[0].code : null)
    },
    request
  )

// Error mapping

/** The account's credit, quota or spending limit is used up. Waiting does not help. */
const accountCodes = new Set([
  "insufficient_quota",
  "credit_balance_exhausted",
  "organization_spend_limit_exceeded",
  "organization_usage_limit_exceeded",
  "project_spend_limit_exceeded",
  "billing_hard_limit_reached",
  "billing_not_active"
])

/** Where OpenAI's documentation differs from what most upstreams mean by a status. */
export const reasonOf = ({ codes, message, status }: UpstreamHttp.Failure): Reason | undefined => {
  switch (status) {
    case 429:
      return codes.some((code) => accountCodes.has(code)) ? new OutOfCredit() : undefined
    case 400:
      // Another provider may take longer audio.
      return message !== undefined && /longer than \d+ seconds/.test(message)
        ? new InputTooLarge({ message })
        : undefined
    default:
      return undefined
  }
}

// Offers

interface Billing {
  readonly quote: (request: TranscriptionRequest) => MicroCredits.MicroCredits
  readonly charge: (request: TranscriptionRequest, usage: (typeof Response.Type)["usage"]) => Charge
}

const perSecond = (microCredits: number, { minSeconds = 0 }: Parameters): Billing => ({
  // Some bill whole seconds.
  quote: ({ audio }) => cost(microCredits, Math.max(minSeconds, Math.ceil(audio.durationSeconds))),
  charge: (request, usage) => {
    const billed = Math.max(minSeconds, usage?.seconds ?? request.audio.durationSeconds)
    return { cost: cost(microCredits, billed), usage: secondsUsage(request, billed) }
  }
})

/** The bytes of the options, such as `prompt`, of which any may be input: no token is shorter. */
const optionBytes = ({ options }: TranscriptionRequest): number =>
  optionFields(options).reduce((sum, [, value]) => sum + new TextEncoder().encode(value).length, 0)

const perToken = (pricing: PerToken, tokensPerSecond: number, maxOutputTokens: number): Billing => {
  const inputTokens = (request: TranscriptionRequest) =>
    Math.ceil(request.audio.durationSeconds * tokensPerSecond) + tokensPerSecond + optionBytes(request)
  return {
    quote: (request) => tokenCost(pricing, inputTokens(request), maxOutputTokens),
    charge: (request, usage) => {
      const { input_tokens, output_tokens } = usage ?? {}
      return {
        // Without a bill, the quote is the best that is known.
        cost: tokenCost(pricing, input_tokens ?? inputTokens(request), output_tokens ?? maxOutputTokens),
        usage: {
          seconds: request.audio.durationSeconds,
          ...(typeof input_tokens === "number" ? { input_tokens } : {}),
          ...(typeof output_tokens === "number" ? { output_tokens } : {})
        }
      }
    }
  }
}

const billingOf = (model: TranscriptionModel, parameters: Parameters): Billing | string => {
  const { pricing } = model
  if (pricing.unit === "second") return perSecond(pricing.microCredits, parameters)
  const { maxOutputTokens, tokensPerSecond } = parameters
  if (tokensPerSecond === undefined) return "needs parameters.tokensPerSecond for its price per token"
  if (maxOutputTokens === undefined) return "needs parameters.maxOutputTokens for its price per token"
  return perToken(pricing, tokensPerSecond, maxOutputTokens)
}

const transcription = Effect.fnUntraced(function* (
  http: UpstreamHttp.UpstreamHttp,
  random: SecureRandom.SecureRandom["Service"],
  { documented, path }: Dialect,
  { credential, name }: Upstream,
  model: TranscriptionModel
): Effect.fn.Return<TranscriptionOffer, InvalidModel> {
  const parameters = yield* decodeParameters(Parameters, model)
  const capabilities = capabilitiesOf(parameters)
  const billing = billingOf(model, parameters)
  if (typeof billing === "string") return yield* new InvalidModel({ model, message: billing })
  const { maxBytes = 26_214_400 } = parameters
  const passthrough = Passthrough.make(name, { documented, refused }, OptionFields.nameIssues)
  return {
    ...Offer.ofModel(model),
    kind: "transcription",
    provider: name,
    credential,
    pricing: model.pricing,
    capabilities,
    passthrough,
    quote: billing.quote,
    run: Effect.fn("OpenAi.transcribe")(function* (request: TranscriptionRequest, credential: Credential) {
      yield* Passthrough.check(passthrough, request)
      const isVerbose = capabilities.verbose && request.timestamp_granularities.length > 0
      const { body, bytes } = yield* FormBody.make(toForm(model, parameters, isVerbose, request), random)
      if (bytes > maxBytes) {
        const message = `${name} accepts at most ${maxBytes} bytes with the form, not ${bytes}`
        return yield* tooLargeField({ path: audioFieldOf(request), message })
      }
      const response = yield* http.json(
        {
          request: HttpClientRequest.post(path).pipe(HttpClientRequest.acceptJson, HttpClientRequest.setBody(body)),
          credential,
          model: model.upstreamId,
          bounds: TranscriptBounds.of(request.audio.durationSeconds)
        },
        Response
      )
      return { answer: toAnswer(response, request), charge: billing.charge(request, response.usage) }
    })
  }
})

/**
 * The offers of models at a server that speaks OpenAI's API.
 *
 * @category constructors
 * @since 0.1.0
 */
export const offers =
  (dialect: Dialect): Adapter<HttpClient.HttpClient | SecureRandom.SecureRandom>["offers"] =>
  (upstream, models): Effect.Effect<Offers, InvalidModel, HttpClient.HttpClient | SecureRandom.SecureRandom> =>
    Effect.gen(function* () {
      const { baseUrl, credential, timeLimit } = upstream
      const http = yield* UpstreamHttp.make({
        baseUrl,
        credential,
        timeLimit,
        reasonOf: dialect.reasonOf,
        ...(dialect.authentication === undefined ? {} : { authentication: dialect.authentication })
      })
      const random = yield* SecureRandom.SecureRandom
      return yield* Effect.forEach(models, (model) =>
        model.kind === "transcription"
          ? transcription(http, random, dialect, upstream, model)
          : Effect.fail(new InvalidModel({ model, message: "must be a transcription model" }))
      )
    })

/**
 * OpenAI: `OPENAI_API_KEY`, `OPENAI_BASE_URL`. See {@link Parameters}.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<HttpClient.HttpClient | SecureRandom.SecureRandom> = {
  name: "openai",
  title: "OpenAI",
  variables: { apiKey: "OPENAI_API_KEY", baseUrl: "OPENAI_BASE_URL" },
  defaultBaseUrl: "https://api.openai.com/v1",
  credential: "required",
  kinds: ["transcription"],
  ...Catalog.of("openai"),
  offers: offers({
    path: "audio/transcriptions",
    documented: ["chunking_strategy", "include", "keywords", "language", "languages", "prompt", "temperature"],
    reasonOf
  })
}
