/**
 * A file on disk as a Blob, read only while it is sent: for
 * `gateway.transcribe` and `gateway.uploadFile`.
 *
 * @since 0.1.0
 */
import { Data, Effect } from "effect"
import { openAsBlob } from "node:fs"
import { stat } from "node:fs/promises"
import { basename } from "node:path"

/**
 * The path names no file that can be read.
 *
 * @since 0.1.0
 */
export class UnreadableFile extends Data.TaggedError("UnreadableFile")<{
  readonly path: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `cannot read ${this.path}${this.cause instanceof Error ? `: ${this.cause.message}` : ""}`
  }
}

/**
 * Opens a file without reading it into memory. `filename` is the path's last part,
 * from which the service tells the format of audio.
 *
 * The file must stay as it is until the call is done: a Blob whose bytes changed
 * underneath fails to be read, and with it the call.
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
 * @since 0.1.0
 */
export const fromPath = (
  path: string,
  options?: {
    /** Its media type; none unless told. */
    readonly type?: string | undefined
  }
): Effect.Effect<{ readonly blob: Blob; readonly filename: string }, UnreadableFile> =>
  Effect.tryPromise({
    try: async () => {
      // `openAsBlob` takes a folder for an empty file.
      if (!(await stat(path)).isFile()) throw new Error("it is no file")
      return { blob: await openAsBlob(path, { type: options?.type ?? "" }), filename: basename(path) }
    },
    catch: (cause) => new UnreadableFile({ path, cause })
  })
