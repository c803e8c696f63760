/**
 * What a transcription offer receives and returns, and what it may state about itself.
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"
import type { AudioFormat, TimestampGranularity } from "@model-gateway/core/Transcription"
import type { Schema } from "effect"
import type { AudioSource } from "./AudioSource.ts"

/**
 * A transcription request, as an offer receives it.
 *
 * @category models
 * @since 0.1.0
 */
export interface TranscriptionRequest {
  readonly audio: {
    readonly source: AudioSource
    readonly format: AudioFormat
    /** As measured by `AudioDuration`. */
    readonly durationSeconds: number
    /** The caller's field that the audio comes from, for issues. Default: `input_audio.data`. */
    readonly field?: string
  }
  /** ISO-639-1. Detected if absent. */
  readonly language?: string
  readonly temperature?: number
  readonly timestamp_granularities: ReadonlyArray<TimestampGranularity>
  /** The provider's entry of `provider.options`, unchanged. */
  readonly options?: Schema.JsonObject
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TranscriptionSegment {
  readonly id: number
  /** Seconds from the start of the audio. */
  readonly start: number
  readonly end: number
  readonly text: string
  readonly seek?: number
  readonly tokens?: ReadonlyArray<number>
  readonly temperature?: number
  readonly avg_logprob?: number
  readonly compression_ratio?: number
  readonly no_speech_prob?: number
  readonly speaker?: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TranscriptionWord {
  readonly word: string
  /** Seconds from the start of the audio. */
  readonly start: number
  readonly end: number
  readonly speaker?: number
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TranscriptionResponse {
  readonly text: string
  readonly language?: string
  /** Seconds of audio transcribed. */
  readonly duration: number
  readonly segments: ReadonlyArray<TranscriptionSegment>
  /** Present only if `word` timestamps were requested. */
  readonly words?: ReadonlyArray<TranscriptionWord>
  /**
   * What the upstream says that it ignored, a sentence for each. Added to the offer's `ignored`.
   */
  readonly warnings?: ReadonlyArray<string>
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TranscriptionCapabilities {
  /** The supported audio formats. */
  readonly audio_formats: ReadonlyArray<AudioFormat>
  /** Whether it supports `response_format: "verbose_json"`. */
  readonly verbose: boolean
  /** Whether it returns word timestamps. */
  readonly word_timestamps: boolean
  /** Whether it takes a `language`. Otherwise it ignores one. Default: true. */
  readonly language?: boolean
  /** Whether it takes a `temperature`. Otherwise it ignores one. Default: true. */
  readonly temperature?: boolean
  /** The largest audio file in bytes. Default: what the service accepts. */
  readonly max_bytes?: number | undefined
  /** The longest audio in seconds. Default: no limit. */
  readonly max_seconds?: number | undefined
}

/**
 * What a request asks of a model.
 *
 * @category models
 * @since 0.1.0
 */
export interface Wanted {
  readonly format: AudioFormat
  /** The request's field that the format comes from, for issues. */
  readonly formatField: string
  /** The request's field that the audio comes from, for issues. */
  readonly audioField: string
  /** The size of the audio in bytes. */
  readonly bytes: number
  /** The length of the audio in seconds. */
  readonly seconds: number
  readonly verbose: boolean
}

/**
 * What the model ignores of the request by its capabilities: a sentence for each field. The service
 * adds what the offer's own `ignored` says.
 *
 * @category validation
 * @since 0.1.0
 */
export const ignored = (
  request: Pick<TranscriptionRequest, "language" | "temperature" | "timestamp_granularities">,
  { language = true, temperature = true, word_timestamps }: TranscriptionCapabilities,
  publicId: string
): ReadonlyArray<string> => [
  ...(request.language === undefined || language
    ? []
    : [`language: ${publicId} takes no language, so it was ignored.`]),
  ...(request.temperature === undefined || temperature
    ? []
    : [`temperature: ${publicId} takes no temperature, so it was ignored.`]),
  ...(!request.timestamp_granularities.includes("word") || word_timestamps
    ? []
    : [`timestamp_granularities: ${publicId} returns no times of words, so "word" was ignored.`])
]

/**
 * The field of the request that the audio comes from, for issues.
 *
 * @category getters
 * @since 0.1.0
 */
export const audioFieldOf = ({ audio }: TranscriptionRequest): string => audio.field ?? "input_audio.data"

const format = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 1 })

/**
 * What the model does not support: the audio's format, its size, its length, or `verbose_json`.
 *
 * @category validation
 * @since 0.1.0
 */
export const unsupported = (
  wanted: Wanted,
  { audio_formats, max_bytes = Infinity, max_seconds = Infinity, verbose }: TranscriptionCapabilities,
  publicId: string
): ReadonlyArray<Issue> => [
  ...(audio_formats.includes(wanted.format)
    ? []
    : [
        {
          path: wanted.formatField,
          message: `the model "${publicId}" accepts ${audio_formats.join(", ")}, not ${wanted.format}`
        }
      ]),
  ...(wanted.bytes <= max_bytes
    ? []
    : [
        {
          path: wanted.audioField,
          message: `the model "${publicId}" accepts at most ${format(max_bytes)} bytes of audio, not ${format(wanted.bytes)}`
        }
      ]),
  ...(wanted.seconds <= max_seconds
    ? []
    : [
        {
          path: wanted.audioField,
          message: `the model "${publicId}" accepts at most ${format(max_seconds)} seconds of audio, not ${format(wanted.seconds)}`
        }
      ]),
  ...(wanted.verbose && !verbose
    ? [{ path: "response_format", message: `no provider of the model "${publicId}" supports verbose_json` }]
    : [])
]
