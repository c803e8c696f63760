/**
 * Transcribes audio: POST `/audio/transcriptions`.
 *
 * Specification: "4. POST /audio/transcriptions", "Transcription response".
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { SingleFileSchema } from "effect/http/Multipart"
import type { ClientError } from "./ClientError.ts"
import type { CallOptions, GatewayClient } from "./GatewayClient.ts"
import {
  BadGateway,
  BadRequest,
  Forbidden,
  GatewayTimeout,
  InternalServerError,
  NotFound,
  PayloadTooLarge,
  PaymentRequired,
  ProviderOverloaded,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
  UpstreamTimeout
} from "./GatewayError.ts"
import { idempotencyHeaders } from "./Idempotency.ts"
import { Decimal, EndUser } from "./Identifiers.ts"
import { isMaxItems } from "./internal/bounds.ts"
import { call } from "./internal/call.ts"
import { appendFile } from "./internal/form.ts"
import * as Operation from "./Operation.ts"
import * as Routing from "./Routing.ts"
import * as Trace from "./Trace.ts"
import type { Written } from "./internal/written.ts"

/**
 * The audio formats that can be transcribed.
 *
 * @since 0.1.0
 */
export const AudioFormat = Schema.Literals(["wav", "mp3", "flac", "m4a", "ogg", "webm", "aac"])

/** @since 0.1.0 */
export type AudioFormat = typeof AudioFormat.Type

/**
 * The form of the response. `json` has `text` and `usage`. `verbose_json` adds task, language,
 * duration and timestamps, if the provider supports them.
 *
 * @since 0.1.0
 */
export const ResponseFormat = Schema.Literals(["json", "verbose_json"])

/** @since 0.1.0 */
export type ResponseFormat = typeof ResponseFormat.Type

/**
 * The granularity of the timestamps. Used only with `verbose_json`.
 *
 * @since 0.1.0
 */
export const TimestampGranularity = Schema.Literals(["word", "segment"])

/** @since 0.1.0 */
export type TimestampGranularity = typeof TimestampGranularity.Type

const TimestampGranularities = Schema.Array(TimestampGranularity).check(isMaxItems(2))

const Model = Schema.String.check(Schema.isMinLength(1))

const Language = Schema.String.check(Schema.isPattern(/^[A-Za-z]{2}$/, { expected: "a two-letter ISO 639-1 code" }))

const temperatureBounds = Schema.isBetween({ minimum: 0, maximum: 1 })

/**
 * The JSON form of the request, with the audio in base64.
 *
 * @since 0.1.0
 */
export const Request = Schema.Struct({
  /** Identifier of the speech-to-text model, as GET `/models` lists it. */
  model: Model,
  input_audio: Schema.Struct({
    /** The audio file in base64. */
    data: Schema.String.check(Schema.isMinLength(1)),
    format: AudioFormat
  }),
  /** ISO 639-1 code. Default: the language is detected. */
  language: Schema.optionalKey(Language),
  /** Default: `json`. */
  response_format: Schema.optionalKey(ResponseFormat),
  /** Sampling temperature from 0 to 1. Default: 0. */
  temperature: Schema.optionalKey(Schema.Finite.check(temperatureBounds)),
  /** At most 2 items. Default: `["segment"]`. */
  timestamp_granularities: Schema.optionalKey(TimestampGranularities),
  provider: Schema.optionalKey(Routing.Preferences),
  trace: Schema.optionalKey(Trace.Metadata),
  user: Schema.optionalKey(EndUser)
})

/** @since 0.1.0 */
export type Request = { [Field in keyof typeof Request.Type]: Written<typeof Request.Type, Field> }

/**
 * The `multipart/form-data` form of the request, as other transcription APIs accept it. Fields come
 * in any order, `timestamp_granularities[]` may be repeated, `provider` and `trace` are JSON text.
 *
 * @since 0.1.0
 */
export const Form = Schema.Struct({
  file: SingleFileSchema,
  model: Model,
  language: Schema.optionalKey(Language),
  response_format: Schema.optionalKey(ResponseFormat),
  temperature: Schema.optionalKey(Decimal.check(temperatureBounds)),
  "timestamp_granularities[]": Schema.optionalKey(Schema.Union([TimestampGranularity, TimestampGranularities])),
  provider: Schema.optionalKey(Schema.fromJsonString(Routing.Preferences)),
  trace: Schema.optionalKey(Schema.fromJsonString(Trace.Metadata)),
  user: Schema.optionalKey(EndUser)
})

/** @since 0.1.0 */
export type Form = { [Field in keyof typeof Form.Type]: (typeof Form.Type)[Field] }

/**
 * The client's request: the audio in base64 as `input_audio`, or as bytes or a Blob in `file`. A
 * Blob is streamed, never read into memory as a whole. The format is detected from the filename,
 * which a File already has.
 *
 * @since 0.1.0
 */
export type Input = Omit<Request, "input_audio"> &
  (
    | { readonly input_audio: Request["input_audio"]; readonly file?: undefined }
    | { readonly file: Blob | Uint8Array; readonly filename?: string | undefined; readonly input_audio?: undefined }
  )

/**
 * A segment of speech. Times are in seconds from the start of the audio. The fields after `text`
 * are present only if the upstream returns them.
 *
 * @since 0.1.0
 */
export const Segment = Schema.Struct({
  id: Schema.Int,
  start: Schema.Finite,
  end: Schema.Finite,
  text: Schema.String,
  seek: Schema.optionalKey(Schema.Finite),
  tokens: Schema.optionalKey(Schema.Array(Schema.Int)),
  temperature: Schema.optionalKey(Schema.Finite),
  avg_logprob: Schema.optionalKey(Schema.Finite),
  compression_ratio: Schema.optionalKey(Schema.Finite),
  no_speech_prob: Schema.optionalKey(Schema.Finite),
  speaker: Schema.optionalKey(Schema.String)
})

/** @since 0.1.0 */
export type Segment = { [Field in keyof typeof Segment.Type]: (typeof Segment.Type)[Field] }

/**
 * A word with its start and end, in seconds from the start of the audio.
 *
 * @since 0.1.0
 */
export const Word = Schema.Struct({
  word: Schema.String,
  start: Schema.Finite,
  end: Schema.Finite,
  speaker: Schema.optionalKey(Schema.String)
})

/** @since 0.1.0 */
export type Word = { [Field in keyof typeof Word.Type]: (typeof Word.Type)[Field] }

/**
 * The transcript. Fields other than `text` and `usage` are present only with `verbose_json`, and
 * `words` only if the provider supports word timestamps.
 *
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  text: Schema.String,
  usage: Schema.optionalKey(
    Schema.Struct({
      /** Cost in credits. */
      cost: Schema.optionalKey(Schema.Finite),
      /** Seconds of audio that were charged. */
      seconds: Schema.optionalKey(Schema.Finite),
      input_tokens: Schema.optionalKey(Schema.Int),
      output_tokens: Schema.optionalKey(Schema.Int),
      total_tokens: Schema.optionalKey(Schema.Int)
    })
  ),
  task: Schema.optionalKey(Schema.String),
  language: Schema.optionalKey(Schema.String),
  /** Length of the input audio in seconds. */
  duration: Schema.optionalKey(Schema.Finite),
  segments: Schema.optionalKey(Schema.Array(Segment)),
  words: Schema.optionalKey(Schema.Array(Word))
})

/** @since 0.1.0 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * POST `/audio/transcriptions`: 200, or one of 400 401 402 403 404 413 429 500
 * 502 503 504 524 529.
 *
 * @since 0.1.0
 */
export const transcribe = Operation.make("transcribe", "POST", "/audio/transcriptions", {
  access: "ordinary key",
  idempotency: "by key",
  bodyLimit: { json: "transcription", form: "transcriptionFile" },
  timeLimit: 330,
  success: Response,
  error: [
    BadRequest,
    Unauthorized,
    PaymentRequired,
    Forbidden,
    NotFound,
    PayloadTooLarge,
    TooManyRequests,
    InternalServerError,
    BadGateway,
    ServiceUnavailable,
    GatewayTimeout,
    UpstreamTimeout,
    ProviderOverloaded
  ]
})

/**
 * The request of {@link transcribe}.
 *
 * @since 0.1.0
 */
export const transcribeEndpoint = Operation.endpoint(transcribe, () => ({
  headers: idempotencyHeaders,
  payload: [Request, Form.pipe(HttpApiSchema.asMultipart())]
}))

/**
 * The errors of {@link create}.
 *
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof transcribe> | ClientError

/**
 * Transcribes audio.
 *
 * @since 0.1.0
 */
export const create = (request: Input, options?: CallOptions): Effect.Effect<Response, Failure, GatewayClient> =>
  call(transcribe, {
    ...options,
    ...(request.file === undefined ? { json: request } : { form: formOf(request) })
  })

const formOf = (request: Extract<Input, { readonly file: Blob | Uint8Array }>): FormData => {
  const form = new FormData()
  const { file, filename, input_audio: _, provider, temperature, timestamp_granularities, trace, ...texts } = request
  for (const [name, text] of Object.entries(texts)) {
    if (text !== undefined) form.append(name, text)
  }
  if (temperature !== undefined) form.append("temperature", String(temperature))
  for (const granularity of timestamp_granularities ?? []) form.append("timestamp_granularities[]", granularity)
  if (provider !== undefined) form.append("provider", JSON.stringify(provider))
  if (trace !== undefined) form.append("trace", JSON.stringify(trace))
  appendFile(form, file, filename)
  return form
}
