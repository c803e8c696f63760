/** The body size limits of each operation. */
import { Effect, FileSystem } from "effect"
import { Multipart } from "effect/http"
import type { BodyLimit } from "@model-gateway/core/Operation"
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
  readonly inMemory: number
}

/** Bodies that are mostly written to a file as they arrive: how much remains in memory. */
const inMemory: { readonly [name in keyof BodyLimits]?: number } = { transcription: textBesideAudio }

/** The limits of a body, from those that its operation names. */
export const of = (limits: BodyLimits, { form, json }: BodyLimit, isForm: boolean): Limit => {
  if (form !== undefined && (isForm || json === undefined)) {
    return { body: limits[form] + formOverhead, file: limits[form], inMemory: formOverhead }
  }
  const name = json ?? "other"
  return { body: limits[name], inMemory: inMemory[name] ?? limits[name] }
}

/** The limit of the request's body in bytes, or of the file in it. */
export const ofRequest: Effect.Effect<number, never, RequestContext> = Effect.flatMap(RequestContext, ({ bodyLimit }) =>
  bodyLimit === undefined
    ? Effect.die(new Error("The body of this request was not admitted"))
    : Effect.succeed(bodyLimit)
)

/**
 * Enforces the operation's exact limit on an uploaded file at `path`, with a 413 if it is larger.
 * While the form is read, the limit is approximate, because it also counts the file's headers.
 */
export const checkFile = (path: string): Effect.Effect<void, never, FileSystem.FileSystem | RequestContext> =>
  Effect.gen(function* () {
    const fileSystem = yield* FileSystem.FileSystem
    const limit = yield* ofRequest
    const { size } = yield* Effect.orDie(fileSystem.stat(path))
    if (size > limit) {
      return yield* Effect.die(Multipart.MultipartError.fromReason("FileTooLarge"))
    }
  })
