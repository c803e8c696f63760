/** A `multipart/form-data` body with one file, streamed from where the audio is. */
import { Effect, Stream } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import { HttpBody } from "effect/http"
import type { AudioSource } from "../AudioSource.ts"

/** The fields come before the file, in their order. */
export interface Form {
  readonly fields: ReadonlyArray<readonly [name: string, value: string]>
  readonly file: {
    readonly name: string
    readonly filename: string
    readonly contentType: string
    readonly source: AudioSource
  }
}

/** Whether the name can stand in a part's header. */
export const isFieldName = (name: string): boolean => /^[\w.-]{1,64}(\[\])?$/.test(name)

/**
 * The body. Its length is known, so that it is sent with `content-length`. The boundary is random,
 * so that nobody can write a file that contains it.
 */
export const make = Effect.fnUntraced(function* (
  { fields, file }: Form,
  random: SecureRandom["Service"]
): Effect.fn.Return<{ readonly body: HttpBody.HttpBody; readonly bytes: number }> {
  const boundary = `form-${yield* random.uuidV4({ format: "string" })}`
  const encoder = new TextEncoder()
  const head = encoder.encode(
    fields
      .map(([name, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
      .join("") +
      `--${boundary}\r\ncontent-disposition: form-data; name="${file.name}"; filename="${file.filename}"\r\n` +
      `content-type: ${file.contentType}\r\n\r\n`
  )
  const tail = encoder.encode(`\r\n--${boundary}--\r\n`)
  // The audio is on the service's own disk. If it cannot be read, no provider failure describes that.
  const size = yield* Effect.orDie(file.source.size)
  const body = Stream.succeed(head).pipe(Stream.concat(file.source.stream), Stream.concat(Stream.succeed(tail)))
  const bytes = head.length + size + tail.length
  return { body: HttpBody.stream(body, `multipart/form-data; boundary=${boundary}`, bytes), bytes }
})
