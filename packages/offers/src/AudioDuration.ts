/**
 * Detects the format and the duration of an audio file from its content, regardless of what the
 * caller declares.
 *
 * The duration is the longest audio that any decoder can read in the file, because upstreams bill
 * what their decoder reads. All bytes are read: every frame of MP3, AAC and FLAC, every packet of
 * Ogg and WebM, every sample of MP4, whatever headers and times say. Files that follow each other
 * count together, and of tracks at the same time the longest counts (in Ogg: their sum). A file
 * that decoders read in different ways is refused, such as a WAV file with two `data` chunks. A
 * file that was cut short is measured as far as it goes, or refused if the parser cannot find its
 * end.
 *
 * @since 0.1.0
 */
import type { AudioFormat } from "@model-gateway/core/Transcription"
import { Effect, Match, Schema } from "effect"
import type { AudioSource } from "./AudioSource.ts"
import { AudioThread, threads } from "./internal/audioThread.ts"

/**
 * The bytes are not audio in any of the seven formats, or decoders differ in what they read.
 *
 * @category errors
 * @since 0.1.0
 */
export class NotAudio extends Schema.TaggedError<NotAudio>("@model-gateway/offers/NotAudio")("NotAudio", {
  message: Schema.String
}) {}

/**
 * The bytes are audio, but not in the declared format.
 *
 * @category errors
 * @since 0.1.0
 */
export class WrongFormat extends Schema.TaggedError<WrongFormat>("@model-gateway/offers/WrongFormat")("WrongFormat", {
  declared: Schema.String,
  actual: Schema.String
}) {
  override get message(): string {
    return `the audio is declared as ${this.declared} and is ${this.actual}`
  }
}

/**
 * The file could not be read. This is the gateway's failure, not the caller's.
 *
 * @category errors
 * @since 0.1.0
 */
export class Unreadable extends Schema.TaggedError<Unreadable>("@model-gateway/offers/Unreadable")("Unreadable", {
  cause: Schema.Defect()
}) {
  override get message(): string {
    return "the audio could not be read"
  }
}

/**
 * The number of files measured at the same time. Further ones wait.
 *
 * @category constants
 * @since 0.1.0
 */
export const concurrency: number = threads

/**
 * @category models
 * @since 0.1.0
 */
export interface Measured {
  readonly format: AudioFormat
  /** In seconds, greater than 0. */
  readonly duration: number
}

/**
 * Format and length of audio.
 *
 * The work is done in a thread of its own: audio that leads its parser astray is given up after a
 * second (and 100 ms more for each megabyte) as `NotAudio`, and delays no other audio. A file up to
 * 64 MiB is in memory while it is measured, a larger one is read piece by piece. Fails with
 * `NotAudio`, with `WrongFormat` when a format is declared and the contents are in another, and
 * with `Unreadable`.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { measure } from "@model-gateway/offers/AudioDuration"
 * import { fromPath } from "@model-gateway/offers/AudioSource"
 *
 * const seconds = Effect.gen(function* () {
 *   const { duration } = yield* measure(yield* fromPath("talk.wav"), "wav")
 *   return duration
 * })
 * ```
 *
 * @category measuring
 * @since 0.1.0
 */
export const measure: (
  source: AudioSource,
  declared?: AudioFormat
) => Effect.Effect<Measured, NotAudio | WrongFormat | Unreadable> = Effect.fn("AudioDuration.measure")(
  function* (source, declared) {
    const thread = yield* AudioThread
    const measured = yield* Match.valueTags(yield* thread.ask(source.location), {
      Measured: ({ duration, format }) => Effect.succeed({ format, duration }),
      NotAudio: ({ message }) => new NotAudio({ message }),
      Unreadable: ({ message }) => new Unreadable({ cause: message })
    })
    if (declared !== undefined && declared !== measured.format) {
      return yield* new WrongFormat({ declared, actual: measured.format })
    }
    return measured
  }
)
