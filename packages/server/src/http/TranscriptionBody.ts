/**
 * Reads the body of a transcription request, JSON or form. Its audio is streamed to a temporary
 * file and never in memory as a whole.
 */
import { type BadRequest, PayloadTooLarge, phrases } from "@model-gateway/core/GatewayError"
import * as Transcription from "@model-gateway/core/Transcription"
import { Effect, FileSystem, Schema } from "effect"
import type { HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import * as BodyLimit from "./BodyLimit.ts"
import * as FormParts from "./FormParts.ts"
import * as Issues from "../internal/Issues.ts"
import * as JsonBody from "./JsonBody.ts"
import * as JsonScanner from "./JsonScanner.ts"
import * as PayloadIssues from "./PayloadIssues.ts"
import * as Base64Stream from "./Base64Stream.ts"

/** A JSON body. Its audio is the file at `audioPath`; `input_audio.data` is a placeholder. */
export interface JsonRequest {
  readonly _tag: "Json"
  readonly request: typeof Transcription.Request.Type
  readonly audioPath: string
}

/** A form. Its audio is in the form's file. */
export interface FormRequest {
  readonly _tag: "Form"
  readonly form: Transcription.Form
}

/** The body that was read. */
export type Body = JsonRequest | FormRequest

const notJson = Issues.invalid([{ path: "", message: "Expected a valid JSON body" }])

const notBase64 = Issues.invalid([{ path: "input_audio.data", message: "Expected base64" }])

const tooMuchText = new PayloadTooLarge({
  error: {
    message: `${phrases[413]}: at most ${BodyLimit.textBesideAudio / 1_048_576} MiB is accepted besides the audio`
  }
})

/** Replaces the audio when the schema decodes the body. */
const placeholder = Buffer.from("AAAA")

const decoded = <A>(effect: Effect.Effect<A, Schema.SchemaError>): Effect.Effect<A> =>
  Effect.catch(effect, (cause) => Effect.die(new HttpApiError.HttpApiSchemaError({ kind: "Payload", cause })))

const decodeRequest = Schema.decodeUnknownEffect(Transcription.Request, { errors: "all" })

const decodeForm = Schema.decodeUnknownEffect(Transcription.Form, { errors: "all" })

const boundsOfRequest = PayloadIssues.boundsOf(Transcription.Request)

const parse = (text: string): Effect.Effect<unknown, typeof notJson> =>
  Effect.try({ try: (): unknown => JSON.parse(text), catch: () => notJson })

const readJson = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, maxBytes: number) {
  const fileSystem = yield* FileSystem.FileSystem
  const audioPath = yield* Effect.orDie(fileSystem.makeTempFileScoped())
  const file = yield* Effect.orDie(fileSystem.open(audioPath, { flag: "w" }))

  const text: Array<Uint8Array> = []
  let textBytes = 0
  const keep = (bytes: Uint8Array): void => {
    text.push(Buffer.from(bytes))
    textBytes += bytes.length
  }

  let base64 = Base64Stream.make()
  let audio: Array<Uint8Array> = []
  let isFirst = true
  let startsAgain = false
  const scanner = JsonScanner.make({
    maxItems: boundsOfRequest,
    keep,
    extract: {
      field: "input_audio",
      member: "data",
      begin: () => {
        base64 = Base64Stream.make()
        audio = []
        isFirst = true
        startsAgain = true
      },
      take: (bytes) => {
        if (isFirst) keep(placeholder)
        isFirst = false
        audio.push(base64.push(bytes))
      }
    }
  })

  const write = Effect.fnUntraced(function* () {
    if (startsAgain) yield* file.truncate(0)
    startsAgain = false
    for (const bytes of audio) if (bytes.length > 0) yield* file.writeAll(bytes)
    audio = []
  }, Effect.orDie)

  yield* JsonBody.forEachChunk(request, maxBytes, (chunk): Effect.Effect<void, BadRequest | PayloadTooLarge> => {
    const issue = scanner.push(chunk)
    if (issue !== undefined) return Effect.fail(Issues.invalid([issue]))
    return textBytes > BodyLimit.textBesideAudio ? Effect.fail(tooMuchText) : write()
  })
  const decodedRequest = yield* decoded(decodeRequest(yield* parse(Buffer.concat(text).toString("utf8"))))
  const rest = base64.end()
  if (rest === undefined) return yield* notBase64
  audio.push(rest)
  yield* write()
  const body: JsonRequest = { _tag: "Json", request: decodedRequest, audioPath }
  return body
})

/** Form fields with JSON are scanned like a JSON body. */
const scanField = (name: "provider" | "trace", text: unknown): Effect.Effect<void, BadRequest> => {
  if (typeof text !== "string") return Effect.void
  const scanner = JsonScanner.make({ keep: () => {}, maxItems: (path) => boundsOfRequest(`${name}.${path}`) })
  const issue = scanner.push(Buffer.from(text))
  if (issue === undefined) return Effect.void
  return Effect.fail(Issues.invalid([{ ...issue, path: issue.path === "" ? name : `${name}.${issue.path}` }]))
}

const readForm = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const persisted = yield* Effect.orDie(FormParts.persist(request))
  yield* scanField("provider", persisted["provider"])
  yield* scanField("trace", persisted["trace"])
  const form = yield* decoded(decodeForm(persisted))
  yield* BodyLimit.checkFile(form.file.path)
  const body: FormRequest = { _tag: "Form", form }
  return body
})

const mediaTypeOf = ({ headers }: HttpServerRequest.HttpServerRequest): string =>
  (headers["content-type"] ?? "application/json").split(";", 1)[0]?.trim().toLowerCase() ?? ""

/**
 * Reads the body. Undefined if its content type is neither JSON nor a form. Closing the scope
 * removes the audio's file. A body that violates the contract is a 400, one above its limit a 413.
 */
export const read = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest, maxJsonBytes: number) {
  switch (mediaTypeOf(request)) {
    case "application/json":
      return yield* readJson(request, maxJsonBytes)
    case "multipart/form-data":
      return yield* readForm(request)
    default:
      return undefined
  }
})
