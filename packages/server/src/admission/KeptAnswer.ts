/**
 * A stored answer. Large answers are compressed, because answers repeat the documents of their
 * request.
 */
import { Effect, Schema } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import { deflate, inflate } from "node:zlib"
import * as Dialect from "../storage/sql/Dialect.ts"

/** An answer to a request. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** An answer to store. Its body is text, or bytes if {@link pack} compressed it. */
export interface PackedAnswer extends Omit<Answer, "body"> {
  readonly body: string | Uint8Array
}

/**
 * Bodies with at least this many characters are compressed. For smaller ones, compressing takes
 * longer than writing.
 */
const compressedFrom = 16_384

/** The approximate size of a row besides its body: keys, fingerprint, headers and index entries. */
const rowBytes = 512

/** Compresses a large answer, on a zlib thread. */
export const pack = (answer: Answer): Effect.Effect<PackedAnswer> =>
  answer.body.length < compressedFrom
    ? Effect.succeed(answer)
    : Effect.callback((resume) => {
        // The work is done and must be charged, so an answer that cannot be compressed is stored
        // uncompressed.
        deflate(answer.body, { level: 1 }, (error, body) => {
          resume(Effect.succeed(error === null ? { ...answer, body } : answer))
        })
      })

const unpack = (packed: Uint8Array) =>
  Effect.callback<string>((resume) => {
    inflate(packed, (error, body) => resume(error === null ? Effect.succeed(body.toString()) : Effect.die(error)))
  })

/** The bytes that storing the answer takes. */
export const bytesOf = ({ body }: PackedAnswer): number => rowBytes + Buffer.byteLength(body)

const decodeHeaders = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/** Reads the answer of a row that has a status. Null if the answer was too large to store. */
export const fromRow = Effect.fnUntraced(function* (row: Row): Effect.fn.Return<Answer | null> {
  const packed = Dialect.bytesOrNull(row, "packed")
  const body = packed === null ? Dialect.textOrNull(row, "body") : yield* unpack(packed)
  if (body === null) return null
  return { status: Dialect.int(row, "status"), headers: decodeHeaders(Dialect.text(row, "headers")), body }
})

/**
 * The columns of an answer of at most `most` bytes. For a larger answer only the status is written.
 */
export const columnsOf = (answer: PackedAnswer, most: number) => {
  const { body, headers, status } = answer
  const bytes = bytesOf(answer)
  if (bytes > most) return { status, headers: null, body: null, packed: null, bytes: rowBytes }
  return typeof body === "string"
    ? { status, headers: JSON.stringify(headers), body, packed: null, bytes }
    : { status, headers: JSON.stringify(headers), body: null, packed: body, bytes }
}
