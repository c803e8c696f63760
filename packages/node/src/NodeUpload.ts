/**
 * Receives a file that a caller of your server uploads in a multipart form, for
 * `gateway.transcribe` and `gateway.uploadFile`.
 *
 * The file goes to the disk, not into memory. From there it is sent as often as needed: a body that
 * can be read only once could not be sent again after a lost connection or a 503.
 *
 * @since 0.1.0
 */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeMultipart from "@effect/platform-node/NodeMultipart"
import * as NodePath from "@effect/platform-node/NodePath"
import { GatewayError } from "@model-gateway/core"
import { Effect, Layer, type Scope } from "effect"
import { Multipart } from "effect/http"
import { createWriteStream, openAsBlob } from "node:fs"
import type { IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"

/**
 * @category models
 * @since 0.1.0
 */
export interface Upload {
  /** Is read from the disk while it is sent. Its `type` is the media type that the caller sent. */
  readonly file: Blob
  /** The name that the caller sent, for example for the audio format. It can be any text. */
  readonly filename: string
  /** The texts of the form, each of at most 64 KiB. Of several with one name, the first one. */
  readonly fields: Readonly<Record<string, string>>
}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** The largest file in bytes. Default: 25 MiB, the gateway's own default for audio. */
  readonly maxBytes?: number | undefined
  /** The name of the file in the form. Default: `file`. */
  readonly name?: string | undefined
}

const Services = Layer.merge(NodeFileSystem.layer, NodePath.layer)

const incomplete = "not a complete multipart form"

const alreadyRead = "The body was read before. Receive uploads before anything else reads or parses the body."

/** Texts are in memory, so all of them may have less than 7 MB. */
const maxFieldBytes = 65_536

const maxParts = 100

/** The parser counts the header of a part as part of its file. */
const maxHeaderBytes = 65_536

const sourceOf = (request: Request | IncomingMessage) => {
  if (request instanceof Readable) {
    return { source: request, headers: request.headers, isRead: request.readableDidRead }
  }
  const { body, bodyUsed, headers } = request
  const source = body === null || bodyUsed ? Readable.from([]) : Readable.fromWeb(body)
  return { source, headers: Object.fromEntries(headers), isRead: bodyUsed }
}

/** Writes a file of the form. Its path ends with the name that the caller sent. */
const write = (path: string, file: Multipart.File) =>
  path.includes("\0")
    ? Effect.fail(Multipart.MultipartError.fromReason("Parse", new Error("a file name has a zero byte")))
    : Effect.tryPromise({
        try: (signal) => pipeline(NodeMultipart.fileToReadable(file), createWriteStream(path), { signal }),
        catch: (cause) => Multipart.MultipartError.fromReason("InternalError", cause)
      })

const invalid = (path: string, message: string) =>
  new GatewayError.BadRequest({
    error: { message: `${GatewayError.phrases[400]}: ${path}: ${message}`, metadata: { issues: [{ path, message }] } }
  })

const tooLarge = (maxBytes: number) =>
  new GatewayError.PayloadTooLarge({
    error: { message: `${GatewayError.phrases[413]}: at most ${maxBytes} bytes` }
  })

const explain = (
  { reason }: Multipart.MultipartError,
  source: Readable,
  maxBytes: number
): Effect.Effect<never, GatewayError.BadRequest | GatewayError.PayloadTooLarge> => {
  switch (reason._tag) {
    case "InternalError":
      // The caller has gone, unless it is the disk that failed.
      return source.errored === null ? Effect.die(reason.cause) : Effect.fail(invalid("body", incomplete))
    case "Parse":
      return Effect.fail(invalid("body", incomplete))
    case "FieldTooLarge":
      return Effect.fail(invalid("body", `a text is larger than ${maxFieldBytes} bytes`))
    case "TooManyParts":
      return Effect.fail(invalid("body", `the form has more than ${maxParts} parts`))
    default:
      return Effect.fail(tooLarge(maxBytes))
  }
}

/**
 * Reads the form of a request: of the Fetch API, as Next.js and Hono have it, or of Node, as
 * Express has it (Fastify: `request.raw`). If something has read the body before, it dies with an
 * error that says so.
 *
 * It fails with `BadRequest` if the request is not a form with such a file, or ends early, and with
 * `PayloadTooLarge` if the file is too large. The file is deleted when the scope closes.
 *
 * @example
 * ```ts
 * import { Transcription } from "@model-gateway/core"
 * import { NodeUpload } from "@model-gateway/node"
 * import { Effect } from "effect"
 *
 * const transcribe = (request: Request) =>
 *   NodeUpload.fromRequest(request).pipe(
 *     Effect.flatMap(({ file, filename }) =>
 *       Transcription.transcribe({ model: "sandbox/tones", file, filename })
 *     ),
 *     Effect.scoped
 *   )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromRequest = (
  request: Request | IncomingMessage,
  { maxBytes = 26_214_400, name = "file" }: Options = {}
): Effect.Effect<Upload, GatewayError.BadRequest | GatewayError.PayloadTooLarge, Scope.Scope> =>
  Effect.gen(function* () {
    const { headers, isRead, source } = sourceOf(request)
    if (isRead) return yield* Effect.die(new Error(alreadyRead))
    const limits = {
      maxFieldSize: maxFieldBytes,
      maxFileSize: maxBytes + maxHeaderBytes,
      maxTotalSize: maxBytes + 1_048_576,
      maxParts
    }
    const form = yield* Multipart.toPersisted(NodeMultipart.stream(source, headers), write).pipe(
      Effect.provideContext(Multipart.limitsServices(limits)),
      Effect.provide(Services),
      Effect.catch((error) => explain(error, source, maxBytes))
    )
    const fields: Record<string, string> = {}
    for (const [key, value] of Object.entries(form)) {
      const first = typeof value === "string" ? value : value[0]
      if (typeof first === "string") fields[key] = first
    }
    const values = form[name]
    const file = typeof values === "object" ? values[0] : undefined
    if (typeof file !== "object") return yield* Effect.fail(invalid(name, "the form has no such file"))
    const blob = yield* Effect.promise(() => openAsBlob(file.path, { type: file.contentType }))
    if (blob.size > maxBytes) return yield* Effect.fail(tooLarge(maxBytes))
    return { file: blob, filename: file.name, fields }
  })
