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
 * @since 0.1.0
 */
export interface TranscriptionRequest {
  readonly audio: {
    readonly source: AudioSource
    readonly format: AudioFormat
    /** As measured by `AudioDuration`. */
    readonly durationSeconds: number
  }
  /** ISO-639-1. Detected if absent. */
  readonly language?: string
  readonly temperature?: number
  readonly timestamp_granularities: ReadonlyArray<TimestampGranularity>
  /** The provider's entry of `provider.options`, unchanged. */
  readonly options?: Schema.JsonObject
}

/** @since 0.1.0 */
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
  readonly speaker?: string
}

/** @since 0.1.0 */
export interface TranscriptionWord {
  readonly word: string
  /** Seconds from the start of the audio. */
  readonly start: number
  readonly end: number
  readonly speaker?: string
}

/** @since 0.1.0 */
export interface TranscriptionResponse {
  readonly text: string
  readonly language?: string
  /** Seconds of audio transcribed. */
  readonly duration: number
  readonly segments: ReadonlyArray<TranscriptionSegment>
  /** Present only if `word` timestamps were requested. */
  readonly words?: ReadonlyArray<TranscriptionWord>
}

/** @since 0.1.0 */
export interface TranscriptionCapabilities {
  /** The supported audio formats. */
  readonly audio_formats: ReadonlyArray<AudioFormat>
  /** Whether it supports `response_format: "verbose_json"`. */
  readonly verbose: boolean
  /** Whether it returns word timestamps. */
  readonly word_timestamps: boolean
}

/**
 * What the model does not support: the audio's format, or `verbose_json`. `field` is the request's
 * field that the format comes from.
 *
 * @since 0.1.0
 */
export const unsupported = (
  wanted: { readonly format: AudioFormat; readonly field: string; readonly verbose: boolean },
  { audio_formats, verbose }: TranscriptionCapabilities,
  publicId: string
): ReadonlyArray<Issue> => [
  ...(audio_formats.includes(wanted.format)
    ? []
    : [
        {
          path: wanted.field,
          message: `the model "${publicId}" accepts ${audio_formats.join(", ")}, not ${wanted.format}`
        }
      ]),
  ...(wanted.verbose && !verbose
    ? [{ path: "response_format", message: `no provider of the model "${publicId}" supports verbose_json` }]
    : [])
]
