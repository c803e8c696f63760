/**
 * Receives a file as `multipart/form-data`. Its bytes are streamed to the object store, or passed
 * on to a provider while they arrive, and are never in memory as a whole.
 *
 * The fields may come in any order. Parts other than `file` and `purpose` are read and discarded,
 * except `expires_after`: a file that a caller expects to expire must not be kept.
 * If anything is wrong with the form, nothing of it stays stored.
 */
import { Purpose } from "@model-gateway/core/Files"
import { type BadRequest, type Issue, PayloadTooLarge, phrases } from "@model-gateway/core/GatewayError"
import type { FileUpload } from "@model-gateway/offers/FileApi"
import { Effect, Pull, Schema, Stream } from "effect"
import { type HttpServerRequest, Multipart } from "effect/http"
import { invalid } from "../internal/Issues.ts"
import { defaultPurpose } from "../dialect/FileShape.ts"
import * as FormParts from "./FormParts.ts"
import { ObjectStore, type ObjectStoreError, type StoredObject } from "../objects/ObjectStore.ts"

/** An uploaded file that is stored but not recorded yet. */
export interface Uploaded extends StoredObject {
  readonly filename: string
  readonly contentType: string
  readonly purpose: string
}

const isPurpose = Schema.is(Purpose)

const isForm = /^multipart\/form-data\s*;.*\bboundary=/i

const badForm = (issues: ReadonlyArray<Issue>) =>
  invalid(issues, issues.map(({ message, path }) => `${path}: ${message}`).join("; "))

const tooLarge = new PayloadTooLarge({ error: { message: phrases[413] } })

const notMultipart = badForm([{ path: "content-type", message: "Expected multipart/form-data with a boundary" }])

const purposeIssue: Issue = { path: "purpose", message: "Expected 1 to 64 characters" }

const noFile: Issue = { path: "file", message: "Expected a file" }

const emptyFile: Issue = { path: "file", message: "Expected at least 1 byte" }

const secondFile = badForm([{ path: "file", message: "Expected one file" }])

const expiring = badForm([{ path: "expires_after", message: "This field is not supported: files do not expire" }])

/** Takes the form's fields and keeps its purpose. */
const purposeOf = () => {
  let purpose: string | undefined
  return {
    value: (): string | undefined => purpose,
    take: (field: Multipart.Field): Effect.Effect<void, BadRequest> => {
      if (/^expires_after\b/.test(field.key)) return Effect.fail(expiring)
      if (field.key !== "purpose") return Effect.void
      if (purpose !== undefined) return Effect.fail(badForm([{ path: "purpose", message: "Expected the field once" }]))
      if (!isPurpose(field.value)) return Effect.fail(badForm([purposeIssue]))
      purpose = field.value
      return Effect.void
    }
  }
}

const contentTypeForm = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/

/** The media type without its parameters, or the generic one. */
const contentTypeOf = (part: Multipart.File): string => {
  const [type = ""] = part.contentType.split(";")
  return contentTypeForm.test(type.trim()) ? type.trim().toLowerCase() : "application/octet-stream"
}

/**
 * The last segment of the caller's name for the file, without control characters, at most 255
 * characters long. For display only; it never becomes part of a path.
 */
const filenameOf = (name: string): string => {
  const segment = name.toWellFormed().split(/[/\\]/).at(-1) ?? ""
  // oxlint-disable-next-line no-control-regex
  const shown = segment.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "").trim()
  return shown === "" || shown === "." || shown === ".." ? "file" : Array.from(shown).slice(0, 255).join("")
}

/** The parts of the form. What takes its file counts the bytes exactly. */
const partsOf = (request: HttpServerRequest.HttpServerRequest) =>
  request.stream.pipe(
    FormParts.parse(request.headers),
    // The body as a whole has its own limit.
    Stream.provideService(Multipart.MaxFileSize, undefined),
    // By default, a file of JSON is a field.
    Stream.provideService(Multipart.FieldMimeTypes, [])
  )

/**
 * Reads the form, stores the file under `key` and calls `record`, which runs `keep` when it has
 * written a record of the object. Without that, the object is removed: after a wrong form, a
 * failure or an interruption, or if the answer names an earlier file. If `record` fails after
 * `keep`, the record may have been committed all the same. The sweep removes the object if not.
 *
 * Fails with a 400 if the form is wrong or incomplete or the file is empty, with a 413 as soon as
 * the file exceeds `maxBytes`, and as `record` does.
 */
export const receive = Effect.fn("Upload.receive")(function* <A, E, R>(
  request: HttpServerRequest.HttpServerRequest,
  { key, maxBytes }: { readonly key: string; readonly maxBytes: number },
  record: (uploaded: Uploaded, keep: Effect.Effect<void>) => Effect.Effect<A, E, R>
) {
  const objects = yield* ObjectStore
  let isKept = false
  const keep = Effect.sync(() => {
    isKept = true
  })
  return yield* read(request, key, maxBytes).pipe(
    Effect.flatMap((uploaded) => Effect.uninterruptible(record(uploaded, keep))),
    Effect.ensuring(Effect.suspend(() => (isKept ? Effect.void : Effect.ignore(objects.remove(key)))))
  )
})

const read = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  key: string,
  maxBytes: number
): Effect.fn.Return<Uploaded, BadRequest | PayloadTooLarge | ObjectStoreError, ObjectStore> {
  const objects = yield* ObjectStore
  if (!isForm.test(request.headers["content-type"] ?? "")) return yield* notMultipart

  const purpose = purposeOf()
  let stored: (StoredObject & Pick<Uploaded, "filename" | "contentType">) | undefined

  const onFile = Effect.fnUntraced(function* (part: Multipart.File) {
    if (part.key !== "file") return yield* Stream.runDrain(part.content)
    if (stored !== undefined) return yield* secondFile
    const object = yield* objects.put(key, part.content, { maxBytes })
    stored = { ...object, filename: filenameOf(part.name), contentType: contentTypeOf(part) }
  })

  yield* partsOf(request).pipe(
    Stream.runForEach((part) => (part._tag === "Field" ? purpose.take(part) : onFile(part))),
    Effect.catchTags({
      MultipartError: (error) => Effect.die(error),
      ObjectTooLarge: () => Effect.fail(tooLarge)
    })
  )

  if (stored === undefined) return yield* badForm([noFile])
  if (stored.bytes === 0) return yield* badForm([emptyFile])
  return { ...stored, purpose: purpose.value() ?? defaultPurpose }
})

/**
 * Reads the form up to its file and passes the file on to `send` while it arrives. The rest of the
 * form is read when `send` asks for the purpose.
 *
 * Fails like {@link receive} if the form is wrong, also when `send` fails for that reason, and else
 * as `send` does.
 */
export const passOn = Effect.fn("Upload.passOn")(
  function* <A, E, R>(
    request: HttpServerRequest.HttpServerRequest,
    maxBytes: number,
    send: (file: FileUpload) => Effect.Effect<A, E, R>
  ) {
    if (!isForm.test(request.headers["content-type"] ?? "")) return yield* notMultipart
    const pull = yield* Stream.toPull(partsOf(request))
    const purpose = purposeOf()
    const parts: Array<Multipart.Part> = []
    /** The next file that is named `file`, if there is one. */
    const nextFile = Effect.gen(function* () {
      for (;;) {
        if (parts.length === 0) parts.push(...(yield* Pull.catchDone(pull, () => Effect.succeed([]))))
        const part = parts.shift()
        if (part === undefined) return undefined
        if (part._tag === "Field") yield* purpose.take(part)
        else if (part.key === "file") return part
        else yield* Stream.runDrain(part.content)
      }
    })
    const part = yield* nextFile
    if (part === undefined) return yield* badForm([noFile])

    let wrong: BadRequest | PayloadTooLarge | Multipart.MultipartError | undefined
    const note = (error: BadRequest | PayloadTooLarge | Multipart.MultipartError) =>
      Effect.sync(() => {
        wrong = error
      })
    let bytes = 0
    const content = part.content.pipe(
      Stream.tap((chunk) => ((bytes += chunk.length) > maxBytes ? Effect.fail(tooLarge) : Effect.void)),
      Stream.tapError(note)
    )
    const rest = Effect.gen(function* () {
      if (bytes === 0) return yield* badForm([emptyFile])
      if ((yield* nextFile) !== undefined) return yield* secondFile
      return purpose.value()
    }).pipe(Effect.tapError(note))
    const file = { filename: filenameOf(part.name), contentType: contentTypeOf(part), content, purpose: rest }
    return yield* Effect.catch(send(file), (error) => Effect.fail(wrong ?? error))
  },
  Effect.scoped,
  Effect.catchTag("MultipartError", (error) => Effect.die(error))
)
