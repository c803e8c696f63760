/**
 * Takes in a file as `multipart/form-data`, part by part as it comes: its bytes go straight to the object store and are never held.
 *
 * The fields may come in any order; parts that are neither `file` nor `purpose` are read and dropped. Whatever is wrong with the form, at the end nothing of it is stored.
 */
import { Form } from "@model-gateway/core/Files"
import { BadRequest, type Issue, PayloadTooLarge, phrases } from "@model-gateway/core/GatewayError"
import { Effect, Schema, Stream } from "effect"
import { type HttpServerRequest, Multipart } from "effect/http"
import * as FormParts from "../http/FormParts.ts"
import * as RequestBlocks from "./RequestBlocks.ts"
import * as SpentBlocks from "./SpentBlocks.ts"
import { ObjectStore, type ObjectStoreError, type StoredObject } from "./ObjectStore.ts"

/** What came in: stored, and not yet recorded. */
export interface Uploaded extends StoredObject {
  readonly filename: string
  readonly contentType: string
  readonly purpose: string
}

const isPurpose = Schema.is(Form.fields.purpose)

const badForm = (issues: ReadonlyArray<Issue>) =>
  new BadRequest({
    error: {
      message: `${phrases[400]}: ${issues.map(({ message, path }) => `${path}: ${message}`).join("; ")}`,
      metadata: { issues }
    }
  })

const tooLarge = new PayloadTooLarge({ error: { message: phrases[413] } })

const notMultipart = badForm([{ path: "content-type", message: "Expected multipart/form-data with a boundary" }])

const purposeIssue: Issue = { path: "purpose", message: "Expected 1 to 64 characters" }

const contentTypeForm = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/

/** The media type without its parameters, or the one that says nothing. */
const contentTypeOf = (part: Multipart.File): string => {
  const [type = ""] = part.contentType.split(";")
  return contentTypeForm.test(type.trim()) ? type.trim().toLowerCase() : "application/octet-stream"
}

/** The last segment of the name that the caller gave, without control characters and at most 255 characters long. It is shown and never made a path of. */
export const filenameOf = (name: string): string => {
  const segment = name.toWellFormed().split(/[/\\]/).at(-1) ?? ""
  // oxlint-disable-next-line no-control-regex
  const shown = segment.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "").trim()
  return shown === "" || shown === "." || shown === ".." ? "file" : Array.from(shown).slice(0, 255).join("")
}

/**
 * Reads the form, stores the file under `key`, and has it recorded. Until `record` has succeeded, whatever goes wrong takes the object away again: a wrong form, a failure, an interruption.
 *
 * Fails with a 400 for a form that is wrong or cut short or a file that is empty, with a 413 as soon as the file passes `maxBytes`, and as `record` does.
 */
export const receive = Effect.fn("Upload.receive")(function* <A, E, R>(
  request: HttpServerRequest.HttpServerRequest,
  { key, maxBytes }: { readonly key: string; readonly maxBytes: number },
  record: (uploaded: Uploaded) => Effect.Effect<A, E, R>
) {
  const objects = yield* ObjectStore
  let kept = false
  return yield* read(request, key, maxBytes).pipe(
    Effect.flatMap((uploaded) =>
      Effect.uninterruptible(
        Effect.tap(record(uploaded), () =>
          Effect.sync(() => {
            kept = true
          })
        )
      )
    ),
    Effect.onError(() => (kept ? Effect.void : Effect.ignore(objects.remove(key))))
  )
})

const read = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  key: string,
  maxBytes: number
): Effect.fn.Return<Uploaded, BadRequest | PayloadTooLarge | ObjectStoreError, ObjectStore> {
  const objects = yield* ObjectStore
  const contentType = request.headers["content-type"] ?? ""
  if (!/^multipart\/form-data\s*;.*\bboundary=/i.test(contentType)) return yield* notMultipart

  const spent = SpentBlocks.make()
  let purpose: string | undefined
  let stored: (StoredObject & Pick<Uploaded, "filename" | "contentType">) | undefined

  const onField = (field: Multipart.Field) => {
    if (field.key !== "purpose") return Effect.void
    if (purpose !== undefined) return Effect.fail(badForm([{ path: "purpose", message: "Expected it once" }]))
    if (!isPurpose(field.value)) return Effect.fail(badForm([purposeIssue]))
    purpose = field.value
    return Effect.void
  }

  const onFile = Effect.fnUntraced(function* (part: Multipart.File) {
    if (part.key !== "file") return yield* Stream.runDrain(part.content)
    if (stored !== undefined) return yield* badForm([{ path: "file", message: "Expected one file" }])
    const object = yield* objects.put(key, part.content, { maxBytes, onStored: spent.stored })
    stored = { ...object, filename: filenameOf(part.name), contentType: contentTypeOf(part) }
  })

  yield* RequestBlocks.stream(request).pipe(
    Stream.mapArray((blocks) => {
      blocks.forEach(spent.received)
      return blocks
    }),
    FormParts.parse(request.headers),
    // The store counts the file's bytes, exactly; the body as a whole has a limit of its own.
    Stream.provideService(Multipart.MaxFileSize, undefined),
    Stream.runForEach((part) => (part._tag === "Field" ? onField(part) : onFile(part))),
    Effect.catchTags({
      MultipartError: (error) => Effect.die(error),
      ObjectTooLarge: () => Effect.fail(tooLarge)
    })
  )

  const issues: ReadonlyArray<Issue> = [
    ...(stored === undefined ? [{ path: "file", message: "Expected a file" }] : []),
    ...(stored?.bytes === 0 ? [{ path: "file", message: "Expected at least 1 byte" }] : []),
    ...(purpose === undefined ? [purposeIssue] : [])
  ]
  if (issues.length > 0 || stored === undefined || purpose === undefined) return yield* badForm(issues)
  return { ...stored, purpose }
})
