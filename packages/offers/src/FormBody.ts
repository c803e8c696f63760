/**
 * A `multipart/form-data` body with one file, which is streamed.
 *
 * @since 0.1.0
 */
import { Effect, Stream } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import { HttpBody } from "effect/http"
import type { AudioSource } from "./AudioSource.ts"

/**
 * The fields come before the file, in their order.
 *
 * @category models
 * @since 0.1.0
 */
export interface Form {
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>
  readonly file: {
    readonly name: string
    readonly filename: string
    readonly contentType: string
    readonly source: AudioSource
  }
}

/**
 * Whether the name can stand in a part's header.
 *
 * @category predicates
 * @since 0.1.0
 */
export const isFieldName = (name: string): boolean => /^[\w.-]{1,64}(\[\])?$/.test(name)

const encoder = new TextEncoder()

type Fields = Form["fields"]

const fieldParts = (boundary: string, fields: Fields): string =>
  fields
    .map(([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join("")

/** As browsers write names of files. */
const escapes: Readonly<Record<string, string>> = { '"': "%22", "\r": "%0D", "\n": "%0A" }

const fileHead = (boundary: string, file: Omit<Form["file"], "source">): string =>
  `--${boundary}\r\ncontent-disposition: form-data; name="${file.name}"; ` +
  `filename="${file.filename.replace(/["\r\n]/g, (character) => escapes[character] ?? "")}"\r\n` +
  `content-type: ${file.contentType}\r\n\r\n`

/** Random, so that nobody can write a file that contains it. */
const randomBoundary = (random: SecureRandom["Service"]): Effect.Effect<string> =>
  Effect.map(random.uuidV4({ format: "string" }), (uuid) => `form-${uuid}`)

const typeOf = (boundary: string): string => `multipart/form-data; boundary=${boundary}`

/**
 * The body. Its length is known, so that it is sent with `content-length`.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (
  { fields, file }: Form,
  random: SecureRandom["Service"]
): Effect.fn.Return<{ readonly body: HttpBody.HttpBody; readonly bytes: number }> {
  const boundary = yield* randomBoundary(random)
  const head = encoder.encode(fieldParts(boundary, fields) + fileHead(boundary, file))
  const tail = encoder.encode(`\r\n--${boundary}--\r\n`)
  // The audio is on the service's own disk. If it cannot be read, no provider failure describes
  // that.
  const size = yield* Effect.orDie(file.source.size)
  const body = Stream.succeed(head).pipe(Stream.concat(file.source.stream), Stream.concat(Stream.succeed(tail)))
  const bytes = head.length + size + tail.length
  return { body: HttpBody.stream(body, typeOf(boundary), bytes), bytes }
})

/**
 * A form whose file is passed on while it arrives. The fields, which may arrive later, follow it.
 *
 * @category models
 * @since 0.1.0
 */
export interface PassedOn {
  readonly file: Omit<Form["file"], "source"> & { readonly content: Stream.Stream<Uint8Array, unknown> }
  readonly fields: Effect.Effect<Fields, unknown>
  /** Runs once the body is complete. */
  readonly onSent: Effect.Effect<unknown>
}

/**
 * The body of such a form. Its length is not known.
 *
 * @category running
 * @since 0.1.0
 */
export const passOn = ({ fields, file, onSent }: PassedOn, random: SecureRandom["Service"]) =>
  Effect.map(randomBoundary(random), (boundary) => {
    const tail = Effect.map(fields, (fields) =>
      encoder.encode(`\r\n${fieldParts(boundary, fields)}--${boundary}--\r\n`)
    )
    const body = Stream.succeed(encoder.encode(fileHead(boundary, file))).pipe(
      Stream.concat(file.content),
      Stream.concat(Stream.fromEffect(tail)),
      Stream.onEnd(onSent)
    )
    return HttpBody.stream(body, typeOf(boundary))
  })
