/**
 * Prepares a File or a Blob for `gateway.transcribe`. The service detects the audio format from the
 * filename, and a Blob has none.
 *
 * @since 0.1.0
 */
import type { AudioFormat } from "@model-gateway/core/Transcription"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

/**
 * Audio with a filename, for `gateway.transcribe({ model, ...audio })`.
 *
 * @category models
 * @since 0.1.0
 */
export interface Audio {
  readonly file: Blob
  /** Ends in the format's extension. */
  readonly filename: string
}

/**
 * Neither the filename nor the media type is that of an audio format that the gateway accepts.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnsupportedAudio extends Data.TaggedError("UnsupportedAudio")<{
  readonly filename: string
  /** The Blob's media type. Empty if it has none. */
  readonly type: string
}> {
  override get message(): string {
    const what = this.filename === "" ? "This recording" : `“${this.filename}”`
    return `${what} is not in a format that can be transcribed${this.type === "" ? "" : ` (${this.type})`}. Use WAV, MP3, FLAC, M4A, OGG, WebM or AAC.`
  }
}

const byExtension: ReadonlyMap<string, AudioFormat> = new Map<string, AudioFormat>([
  ["wav", "wav"],
  ["wave", "wav"],
  ["mp3", "mp3"],
  ["mpga", "mp3"],
  ["flac", "flac"],
  ["m4a", "m4a"],
  ["mp4", "m4a"],
  ["ogg", "ogg"],
  ["oga", "ogg"],
  ["opus", "ogg"],
  ["webm", "webm"],
  ["aac", "aac"]
])

const byType: ReadonlyMap<string, AudioFormat> = new Map<string, AudioFormat>([
  ["wav", "wav"],
  ["x-wav", "wav"],
  ["wave", "wav"],
  ["vnd.wave", "wav"],
  ["mpeg", "mp3"],
  ["mp3", "mp3"],
  ["flac", "flac"],
  ["x-flac", "flac"],
  ["mp4", "m4a"],
  ["m4a", "m4a"],
  ["x-m4a", "m4a"],
  ["ogg", "ogg"],
  ["opus", "ogg"],
  ["webm", "webm"],
  ["aac", "aac"],
  ["aacp", "aac"],
  ["x-aac", "aac"]
])

/**
 * The audio format of a media type. Parameters are ignored: `audio/webm;codecs=opus` is `webm`.
 * Undefined if the type is not one of the seven formats.
 *
 * @category getters
 * @since 0.1.0
 */
export const formatOfType = (type: string): AudioFormat | undefined => {
  const [, subtype] = /^(?:audio|video|application)\/([^;\s]+)/.exec(type.trim().toLowerCase()) ?? []
  return subtype === undefined ? undefined : byType.get(subtype)
}

/**
 * Makes audio from a File or a Blob. The format comes from the extension of `filename` (default:
 * the File's name), or else from the media type. A Blob without a name gets one, such as
 * `audio.webm`.
 *
 * @example
 * ```ts
 * import { Audio } from "@model-gateway/browser"
 * import { Gateway } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * declare const dropped: File
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   const audio = yield* Audio.fromBlob(dropped)
 *   return yield* gateway.transcribe({ model: "sandbox/tones", ...audio })
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromBlob = (blob: Blob, filename?: string): Effect.Effect<Audio, UnsupportedAudio> => {
  const name = filename ?? (blob instanceof File ? blob.name : "")
  const dot = name.lastIndexOf(".")
  const named = byExtension.get(dot < 0 ? "" : name.slice(dot + 1).toLowerCase())
  const format = named ?? formatOfType(blob.type)
  if (format === undefined) return Effect.fail(new UnsupportedAudio({ filename: name, type: blob.type }))
  const base = dot > 0 ? name.slice(0, dot) : name
  return Effect.succeed({ file: blob, filename: `${base === "" ? "audio" : base}.${format}` })
}
