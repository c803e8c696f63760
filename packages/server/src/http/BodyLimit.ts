/** How large a request's body may be, by operation. */
import { Effect, FileSystem } from "effect"
import { Multipart } from "effect/http"
import type { BodyLimits } from "../GatewayServerConfig.ts"
import { RequestContext } from "./RequestContext.ts"

/** Room for a form's other fields and the lines between its parts. */
const formOverhead = 1024 * 1024

/** The parser counts a part's headers with its content, and takes at most 16 KiB of them. */
export const partOverhead = 32 * 1024

/** All of a transcription's JSON but its audio, which goes to a file as it comes. */
export const textBesideAudio = 1024 * 1024

/** The limits of one operation, in bytes. */
export interface Limit {
  readonly body: number
  /** The file of a form. */
  readonly file?: number
  /** How much of the body is in memory at a time. */
  readonly held: number
}

const json = (body: number): Limit => ({ body, held: body })

const form = (file: number): Limit => ({ body: file + formOverhead, file, held: formOverhead })

/** The limits of an operation, by its identifier and the form that its body comes in. */
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
 * Holds a file that a form brought, and that lies at `path`, to the limit of its operation to the byte; one that is larger is refused as any body is. While a form is read, its
 * file is held to that limit with some room only, as what is counted then are its headers too.
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
