/** The body size limits of each operation. */
import { Effect, FileSystem } from "effect"
import { Multipart } from "effect/http"
import type { BodyLimits } from "../GatewayServerConfig.ts"
import { RequestContext } from "./RequestContext.ts"

/** Allowance for a form's other fields and the boundaries between its parts. */
const formOverhead = 1024 * 1024

/** The parser counts a part's headers with its content, and accepts at most 16 KiB of them. */
export const partOverhead = 32 * 1024

/**
 * Limit for the JSON of a transcription without its audio. The audio is written to a file as it
 * arrives.
 */
export const textBesideAudio = 1024 * 1024

/** The limits of one operation, in bytes. */
export interface Limit {
  readonly body: number
  /** Limit for the file of a form. */
  readonly file?: number
  /** How much of the body is in memory at a time. */
  readonly held: number
}

const json = (body: number): Limit => ({ body, held: body })

const form = (file: number): Limit => ({ body: file + formOverhead, file, held: formOverhead })

/** The limits of an operation, by its identifier and its body type. */
export const of = (limits: BodyLimits, operation: string, isForm: boolean): Limit => {
  switch (operation) {
    case "rerank":
      return json(limits.rerank)
    case "transcribe":
      return isForm ? form(limits.transcriptionFile) : { body: limits.transcription, held: textBesideAudio }
    case "submitVideo":
      return json(limits.videos)
    case "uploadFile":
      return form(limits.files)
    default:
      return json(limits.other)
  }
}

/**
 * Enforces the operation's exact limit on an uploaded file at `path`, with a 413 if it is larger.
 * While the form is read, the limit is approximate, because it also counts the file's headers.
 */
export const holdFile = (path: string): Effect.Effect<void, never, FileSystem.FileSystem | RequestContext> =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const { bodyLimit } = yield* RequestContext
    const { size } = yield* Effect.orDie(fileSystem.stat(path))
    if (bodyLimit !== undefined && size > bodyLimit) {
      return yield* Effect.die(Multipart.MultipartError.fromReason("FileTooLarge"))
    }
  })
