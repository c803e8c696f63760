/**
 * Transcribes audio.
 *
 * Specification: "POST /audio/transcriptions", "Transcription response".
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
import { idempotencyHeaders } from "./internal/idempotencyHeaders.ts"
import { Decimal, EndUser, ModelId } from "./Identifiers.ts"
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
 * @category schemas
 * @since 0.1.0
 */
export const AudioFormat = Schema.Literals(["wav", "mp3", "flac", "m4a", "ogg", "webm", "aac"])

/**
 * @category models
 * @since 0.1.0
 */
export type AudioFormat = typeof AudioFormat.Type

/**
 * The form of the response. `json` has `text` and `usage`. `verbose_json` adds task, language,
 * duration and timestamps, if the provider supports them.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ResponseFormat = Schema.Literals(["json", "verbose_json"])

/**
 * @category models
 * @since 0.1.0
 */
export type ResponseFormat = typeof ResponseFormat.Type

/**
 * The granularity of the timestamps. Used only with `verbose_json`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TimestampGranularity = Schema.Literals(["word", "segment"])

/**
 * @category models
 * @since 0.1.0
 */
export type TimestampGranularity = typeof TimestampGranularity.Type

const TimestampGranularities = Schema.Array(TimestampGranularity).check(isMaxItems(2))

const Language = Schema.String.check(Schema.isPattern(/^[A-Za-z]{2}$/u, { expected: "a two-letter ISO 639-1 code" }))

const temperatureBounds = Schema.isBetween({ minimum: 0, maximum: 1 })

/**
 * The JSON form of the request, with the audio in base64.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Request = Schema.Struct({
  /** Identifier of the speech-to-text model, as GET `/models` lists it. */
  model: ModelId,
  /** The audio. */
  input_audio: Schema.Struct({
    /** The audio file in base64. */
    data: Schema.String.check(Schema.isMinLength(1)),
    format: AudioFormat
  }),
  /** ISO 639-1 code. Default: the language is detected. */
  language: Schema.optionalKey(Language),
  /** Default: `json`. */
  response_format: Schema.optionalKey(ResponseFormat),
  /**
   * Sampling temperature from 0 to 1. A model that has none ignores it, and `warnings` says so.
   * Default: 0.
   */
  temperature: Schema.optionalKey(Schema.Finite.check(temperatureBounds)),
  /** At most 2 items. Default: `["segment"]`. */
  timestamp_granularities: Schema.optionalKey(TimestampGranularities),
  provider: Schema.optionalKey(Routing.Preferences),
  trace: Schema.optionalKey(Trace.Metadata),
  user: Schema.optionalKey(EndUser)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Request = { [Field in keyof typeof Request.Type]: Written<typeof Request.Type, Field> }

/**
 * The `multipart/form-data` form of the request, as other transcription APIs accept it. Fields come
 * in any order, `timestamp_granularities[]` may be repeated, `provider` and `trace` are JSON text.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Form = Schema.Struct({
  /** The audio file. Its format is detected from its content. */
  file: SingleFileSchema,
  /** Identifier of the speech-to-text model, as GET `/models` lists it. */
  model: ModelId,
  /** ISO 639-1 code. Default: the language is detected. */
  language: Schema.optionalKey(Language),
  /** Default: `json`. */
  response_format: Schema.optionalKey(ResponseFormat),
  /**
   * Sampling temperature from 0 to 1. A model that has none ignores it, and `warnings` says so.
   * Default: 0.
   */
  temperature: Schema.optionalKey(Decimal.check(temperatureBounds)),
  /** At most 2 items, each in a field of its own. Default: `segment`. */
  "timestamp_granularities[]": Schema.optionalKey(Schema.Union([TimestampGranularity, TimestampGranularities])),
  /** Provider routing preferences, as JSON text. */
  provider: Schema.optionalKey(Schema.fromJsonString(Routing.Preferences)),
  /** Tracing metadata, as JSON text. */
  trace: Schema.optionalKey(Schema.fromJsonString(Trace.Metadata)),
  user: Schema.optionalKey(EndUser)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Form = { [Field in keyof typeof Form.Type]: (typeof Form.Type)[Field] }

/**
 * The client's request: the audio in base64 as `input_audio`, or as bytes or a Blob in `file`. A
 * Blob is streamed, never read into memory as a whole. The format is detected from the filename,
 * which a File already has.
 *
 * @category models
 * @since 0.1.0
 */
export type Input = Omit<Request, "input_audio"> &
  (
    | { readonly input_audio: Request["input_audio"]; readonly file?: undefined }
    | { readonly file: Blob | Uint8Array; readonly filename?: string | undefined; readonly input_audio?: undefined }
  )

/**
 * A segment of speech. The fields after `text` are present only if the provider returns them.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Segment = Schema.Struct({
  /** Position of the segment, counted from 0. */
  id: Schema.Int,
  /** Start in seconds from the start of the audio. */
  start: Schema.Finite,
  /** End in seconds from the start of the audio. */
  end: Schema.Finite,
  /** What was said. */
  text: Schema.String,
  /** Offset of the window that the model processed, in the model's own unit. */
  seek: Schema.optionalKey(Schema.Finite),
  /** The model's tokens for the text. */
  tokens: Schema.optionalKey(Schema.Array(Schema.Int)),
  /** The sampling temperature that was used. */
  temperature: Schema.optionalKey(Schema.Finite),
  /** Mean logarithm of the tokens' probabilities. */
  avg_logprob: Schema.optionalKey(Schema.Finite),
  /** Compression ratio of the text. A high one is a sign of repetitions. */
  compression_ratio: Schema.optionalKey(Schema.Finite),
  /** Probability from 0 to 1 that the segment has no speech. */
  no_speech_prob: Schema.optionalKey(Schema.Finite),
  /** The number of the speaker, counted from 0, if the model tells speakers apart. */
  speaker: Schema.optionalKey(Schema.Int)
})

/** The specification shows no field of a segment, so the client requires none. */
const DecodedSegment = Schema.Struct({
  ...Segment.fields,
  id: Schema.optionalKey(Schema.Int),
  start: Schema.optionalKey(Schema.Finite),
  end: Schema.optionalKey(Schema.Finite),
  text: Schema.optionalKey(Schema.String)
})

/**
 * A segment as the client returns it, from this service or another one. This service sends `id`,
 * `start`, `end` and `text` always.
 *
 * @category models
 * @since 0.1.0
 */
export type Segment = { [Field in keyof typeof DecodedSegment.Type]: (typeof DecodedSegment.Type)[Field] }

/**
 * A word with its start and end.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Word = Schema.Struct({
  /** The word as it was said. */
  word: Schema.String,
  /** Start in seconds from the start of the audio. */
  start: Schema.Finite,
  /** End in seconds from the start of the audio. */
  end: Schema.Finite,
  /** The number of the speaker, counted from 0, if the model tells speakers apart. */
  speaker: Schema.optionalKey(Schema.Int)
})

/** The specification shows no field of a word, so the client requires none. */
const DecodedWord = Schema.Struct({
  word: Schema.optionalKey(Schema.String),
  start: Schema.optionalKey(Schema.Finite),
  end: Schema.optionalKey(Schema.Finite),
  speaker: Word.fields.speaker
})

/**
 * A word as the client returns it, from this service or another one. This service sends `word`,
 * `start` and `end` always.
 *
 * @category models
 * @since 0.1.0
 */
export type Word = { [Field in keyof typeof DecodedWord.Type]: (typeof DecodedWord.Type)[Field] }

/**
 * The transcript. Fields other than `text` and `usage` are present only with `verbose_json`, and
 * `words` only if the provider supports word timestamps.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** What was said. */
  text: Schema.String,
  /** What the request used. */
  usage: Schema.optionalKey(
    Schema.Struct({
      /** Cost in credits. */
      cost: Schema.optionalKey(Schema.Finite),
      /** Length of the audio in seconds, whatever is billed. */
      seconds: Schema.optionalKey(Schema.Finite),
      /** Tokens that were read, if the model charges by tokens. */
      input_tokens: Schema.optionalKey(Schema.Int),
      /** Tokens that were written, if the model charges by tokens. */
      output_tokens: Schema.optionalKey(Schema.Int),
      /** The sum of both. */
      total_tokens: Schema.optionalKey(Schema.Int)
    })
  ),
  /** What the model did, such as `transcribe`. */
  task: Schema.optionalKey(Schema.String),
  /** The language of the speech: its ISO 639-1 code, or the provider's word for it. */
  language: Schema.optionalKey(Schema.String),
  /** Length of the input audio in seconds. */
  duration: Schema.optionalKey(Schema.Finite),
  /** The segments, in the order of the audio. */
  segments: Schema.optionalKey(Schema.Array(Segment)),
  /** The words, in the order of the audio. */
  words: Schema.optionalKey(Schema.Array(Word)),
  /**
   * What the provider ignored of the request: a sentence for each. Absent if it used everything.
   */
  warnings: Schema.optionalKey(Schema.Array(Schema.String))
})

const Decoded = Schema.Struct({
  ...Response.fields,
  segments: Schema.optionalKey(Schema.Array(DecodedSegment)),
  words: Schema.optionalKey(Schema.Array(DecodedWord))
})

/**
 * A transcript as the client returns it, from this service or another one.
 *
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Decoded.Type]: (typeof Decoded.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const transcribeOperation = Operation.make("transcribe", "POST", "/audio/transcriptions", {
  access: "ordinary key",
  idempotency: "by key",
  bodyLimit: { json: "transcription", form: "transcriptionFile" },
  timeLimit: 330,
  success: Decoded,
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
 * @category endpoints
 * @since 0.1.0
 */
export const transcribeEndpoint = Operation.endpoint(transcribeOperation, () => ({
  success: Response,
  headers: idempotencyHeaders,
  payload: [Request, Form.pipe(HttpApiSchema.asMultipart())],
  reference: {
    summary: "Transcribe audio",
    example: {
      request: {
        model: "openai/whisper-1",
        input_audio: { data: "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=", format: "wav" },
        language: "en",
        response_format: "verbose_json",
        timestamp_granularities: ["segment"]
      },
      form: { model: "openai/whisper-1", response_format: "verbose_json", file: "interview.wav" },
      response: {
        text: "Meet me at the harbor at noon.",
        usage: { cost: 0.0003, seconds: 3 },
        task: "transcribe",
        language: "en",
        duration: 2.8,
        segments: [{ id: 0, start: 0, end: 2.8, text: "Meet me at the harbor at noon." }]
      }
    }
  }
}))

/**
 * The errors of {@link transcribe}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof transcribeOperation> | ClientError

/**
 * Turns speech into text. Send the audio in base64 as JSON, or as a file in a form.
 *
 * @category calls
 * @since 0.1.0
 */
export const transcribe = (request: Input, options?: CallOptions): Effect.Effect<Response, Failure, GatewayClient> =>
  call(transcribeOperation, {
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
