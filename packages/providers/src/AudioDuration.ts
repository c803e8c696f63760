/**
 * What an audio file holds, by its contents and not by what a caller says: its format and its length.
 *
 * Lengths come from the packets themselves where the container's header does not know or is a guess: MP3 with a
 * variable bit rate, ADTS, Ogg, and WebM as browsers record it.
 *
 * @since 0.1.0
 */
import type { AudioFormat } from "@model-gateway/core/Transcription"
import { Effect, Match, Schema } from "effect"
import * as Media from "mediabunny"
import type { AudioSource } from "./AudioSource.ts"

/**
 * The bytes are no audio in any of the seven formats.
 *
 * @since 0.1.0
 */
export class NotAudio extends Schema.TaggedError<NotAudio>("@model-gateway/providers/NotAudio")("NotAudio", {
  message: Schema.String
}) {}

/**
 * The bytes are audio, in another format than was declared.
 *
 * @since 0.1.0
 */
export class WrongFormat extends Schema.TaggedError<WrongFormat>("@model-gateway/providers/WrongFormat")(
  "WrongFormat",
  { declared: Schema.String, actual: Schema.String }
) {
  override get message(): string {
    return `the audio is declared as ${this.declared} and is ${this.actual}`
  }
}

/**
 * The file could not be read. This is the gateway's own trouble and not the caller's.
 *
 * @since 0.1.0
 */
export class Unreadable extends Schema.TaggedError<Unreadable>("@model-gateway/providers/Unreadable")("Unreadable", {
  cause: Schema.Defect()
}) {
  override get message(): string {
    return "the audio could not be read"
  }
}

/** @since 0.1.0 */
export interface Measured {
  readonly format: AudioFormat
  /** In seconds, greater than 0. */
  readonly duration: number
}

/**
 * Format and length of audio.
 *
 * A file is read piece by piece, never held whole. Fails with `NotAudio`, with `WrongFormat` when a format is
 * declared and the contents are in another, and with `Unreadable`.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { measure } from "@model-gateway/providers/AudioDuration"
 * import { fromBytes } from "@model-gateway/providers/AudioSource"
 * import { wav } from "@model-gateway/providers/sandbox/DtmfTone"
 *
 * const seconds = Effect.map(measure(fromBytes(wav("0")), "wav"), ({ duration }) => duration) // 0.3
 * ```
 *
 * @since 0.1.0
 */
export const measure: (
  source: AudioSource,
  declared?: AudioFormat
) => Effect.Effect<Measured, NotAudio | WrongFormat | Unreadable> = Effect.fn("AudioDuration.measure")(
  function* (source, declared) {
    // The library prints to the console what it finds odd in a file; what matters comes back as an error.
    Media.Logging.level = Media.LogLevel.Silent
    return yield* Effect.acquireUseRelease(
      Effect.sync(() => new Media.Input({ source: open(source), formats: containers })),
      (input) => inspect(input, declared),
      (input) => Effect.sync(() => input.dispose())
    )
  }
)

const containers = [Media.WAVE, Media.MP3, Media.FLAC, Media.MP4, Media.QTFF, Media.OGG, Media.WEBM, Media.ADTS]

const open = (source: AudioSource): Media.Source =>
  Match.valueTags(source.location, {
    Memory: ({ bytes }) => new Media.BufferSource(bytes),
    File: ({ path }) =>
      new Media.FilePathSource(path, {
        maxCacheSize: 1 << 20,
        // Every read is awaited below, so what is left here is the abort of a read ahead.
        handleUnhandledError: () => {}
      })
  })

const inspect = Effect.fnUntraced(function* (input: Media.Input, declared: AudioFormat | undefined) {
  const attempt = <A>(read: () => Promise<A>) => Effect.tryPromise({ try: read, catch: classify })

  const format = formatOf(yield* attempt(() => input.getFormat()))
  if (format === undefined) return yield* new NotAudio({ message: "the audio is in a format that is not known" })
  if (declared !== undefined && declared !== format) return yield* new WrongFormat({ declared, actual: format })
  const track = yield* attempt(() => input.getPrimaryAudioTrack())
  if (track === null) return yield* new NotAudio({ message: `the ${format} file has no audio track` })
  const duration = yield* attempt(() => track.computeDuration())
  if (!Number.isFinite(duration) || duration <= 0) {
    return yield* new NotAudio({ message: `the ${format} file holds no audio` })
  }
  return { format, duration }
})

const formatOf = (format: Media.InputFormat): AudioFormat | undefined => {
  switch (format) {
    case Media.WAVE:
      return "wav"
    case Media.MP3:
      return "mp3"
    case Media.FLAC:
      return "flac"
    case Media.MP4:
    case Media.QTFF:
      return "m4a"
    case Media.OGG:
      return "ogg"
    case Media.WEBM:
      return "webm"
    case Media.ADTS:
      return "aac"
    default:
      return undefined
  }
}

/** A system error carries a code (`ENOENT`, `EIO`); everything else is the parser giving up on the contents. */
const classify = (error: unknown): NotAudio | Unreadable =>
  error instanceof Error && "code" in error && typeof error.code === "string"
    ? new Unreadable({ cause: error })
    : new NotAudio({ message: "the audio cannot be understood" })
