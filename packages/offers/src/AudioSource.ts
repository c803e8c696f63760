/**
 * The audio of a request: in memory if it was sent as base64, in a file if it was uploaded.
 *
 * @since 0.1.0
 */
import { Effect, FileSystem, type PlatformError, Stream } from "effect"

/**
 * Where the audio is.
 *
 * @category models
 * @since 0.1.0
 */
export type Location =
  | { readonly _tag: "Memory"; readonly bytes: Uint8Array }
  | { readonly _tag: "File"; readonly path: string }

/**
 * Audio that can be read whole or in chunks, any number of times.
 *
 * @category models
 * @since 0.1.0
 */
export interface AudioSource {
  /** For libraries that need a path or a buffer. */
  readonly location: Location
  /** In bytes. */
  readonly size: Effect.Effect<number, PlatformError.PlatformError>
  /** The whole audio in memory. */
  readonly bytes: Effect.Effect<Uint8Array, PlatformError.PlatformError>
  /** The audio in chunks, without all of it in memory. */
  readonly stream: Stream.Stream<Uint8Array, PlatformError.PlatformError>
}

/**
 * Audio in memory.
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromBytes = (bytes: Uint8Array): AudioSource => ({
  location: { _tag: "Memory", bytes },
  size: Effect.succeed(bytes.length),
  bytes: Effect.succeed(bytes),
  stream: Stream.succeed(bytes)
})

/**
 * Audio in a file. Nothing is read until `bytes` or `stream` runs; the file must stay until then.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { fromPath } from "@model-gateway/offers/AudioSource"
 *
 * const size = Effect.gen(function* () {
 *   const source = yield* fromPath("/tmp/upload.wav")
 *   return (yield* source.bytes).byteLength
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromPath = (path: string): Effect.Effect<AudioSource, never, FileSystem.FileSystem> =>
  Effect.map(FileSystem.FileSystem, (fs) => ({
    location: { _tag: "File", path },
    size: Effect.map(fs.stat(path), ({ size }) => Number(size)),
    bytes: fs.readFile(path),
    stream: fs.stream(path)
  }))
