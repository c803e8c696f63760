/**
 * An answer as the database keeps it: a large one compressed, because answers echo the documents of
 * their request.
 */
import { Effect, Schema } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import { deflate, inflate } from "node:zlib"
import * as Dialect from "../storage/Dialect.ts"

/** An answer to a request. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** An answer to be written: its body is text, or bytes where {@link pack} has compressed it. */
export interface PackedAnswer extends Omit<Answer, "body"> {
  readonly body: string | Uint8Array
}

/**
 * Bodies of so many characters and more are compressed. Smaller ones take less time to write than
 * to compress.
 */
const compressedFrom = 16_384

/**
 * What a row takes besides its body, about: keys, fingerprint, headers and the entries of its
 * indexes.
 */
const rowBytes = 512

/** Compresses the answer where that is worth it, on a thread of zlib's own. */
export const pack = (answer: Answer): Effect.Effect<PackedAnswer> =>
  answer.body.length < compressedFrom
    ? Effect.succeed(answer)
    : Effect.callback((resume) => {
        // The work is done and has to be charged, so an answer that cannot be compressed is kept as
        // it is.
        deflate(answer.body, { level: 1 }, (error, body) => {
          resume(Effect.succeed(error === null ? { ...answer, body } : answer))
        })
      })

const unpack = (packed: Uint8Array) =>
  Effect.callback<string>((resume) => {
    inflate(packed, (error, body) => resume(error === null ? Effect.succeed(body.toString()) : Effect.die(error)))
  })

/** The bytes that keeping the answer takes. */
export const bytesOf = ({ body }: PackedAnswer): number => rowBytes + Buffer.byteLength(body)

const decodeHeaders = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

/** Reads the answer of a row that has a status; null where the answer was too large to be kept. */
export const fromRow = Effect.fnUntraced(function* (row: Row): Effect.fn.Return<Answer | null> {
  const packed = Dialect.bytesOrNull(row, "packed")
  const body = packed === null ? Dialect.textOrNull(row, "body") : yield* unpack(packed)
  if (body === null) return null
  return { status: Dialect.int(row, "status"), headers: decodeHeaders(Dialect.text(row, "headers")), body }
})

/**
 * The columns `status`, `headers`, `body`, `packed` and `bytes` of an answer that takes at most
 * `most` bytes. Of a larger one only the status is written.
 */
export const columnsOf = (answer: PackedAnswer, most: number) => {
  const bytes = bytesOf(answer)
  if (bytes > most) return [answer.status, null, null, null, rowBytes] as const
  const { body, headers, status } = answer
  return typeof body === "string"
    ? ([status, JSON.stringify(headers), body, null, bytes] as const)
    : ([status, JSON.stringify(headers), null, body, bytes] as const)
}
