/**
 * Opens a file on disk as a Blob for `gateway.transcribe` and `gateway.uploadFile`. The file is
 * read while it is sent.
 *
 * @since 0.1.0
 */
import { Data, Effect } from "effect"
import { openAsBlob } from "node:fs"
import { stat } from "node:fs/promises"
import { basename } from "node:path"

/**
 * The file does not exist or cannot be read.
 *
 * @category errors
 * @since 0.1.0
 */
export class UnreadableFile extends Data.TaggedError("UnreadableFile")<{
  readonly path: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `Cannot read ${this.path}${this.cause instanceof Error ? `: ${this.cause.message}` : ""}`
  }
}

/**
 * Opens a file without reading it into memory. `filename` is the last part of the path. The service
 * detects the audio format from it.
 *
 * Do not change the file before the call ends: if it changes, reading the Blob fails, and so does
 * the call.
 *
 * @example
 * ```ts
 * import { Gateway } from "@model-gateway/core"
 * import { NodeFile } from "@model-gateway/node"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   const { blob, filename } = yield* NodeFile.fromPath("meeting.wav")
 *   return yield* gateway.transcribe({ model: "sandbox/tones", file: blob, filename })
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromPath = (
  path: string,
  options?: {
    /** The file's media type. Default: none. */
    readonly type?: string | undefined
  }
): Effect.Effect<{ readonly blob: Blob; readonly filename: string }, UnreadableFile> =>
  Effect.tryPromise({
    try: async () => {
      // `openAsBlob` would open a folder as an empty file.
      if (!(await stat(path)).isFile()) throw new Error("it is not a file")
      return { blob: await openAsBlob(path, { type: options?.type ?? "" }), filename: basename(path) }
    },
    catch: (cause) => new UnreadableFile({ path, cause })
  })
