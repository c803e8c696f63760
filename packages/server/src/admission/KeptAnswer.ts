/**
 * A stored answer. An abridged one lacks what a repeated request has in its own body, such as the
 * documents of a rerank. Large answers are compressed.
 */
import { Effect, Schema } from "effect"
import { Model } from "effect/schema"
import { deflate, inflate } from "node:zlib"
import * as Table from "../storage/sql/Table.ts"

const Headers = Schema.Record(Schema.String, Schema.String)

/** The table `idempotency`: a claim of a key, and then its answer. */
export class Kept extends Model.Class<Kept>("KeptAnswer")({
  /** The hash of the API key that was sent, ephemeral or not. */
  scope: Table.constant(Schema.String),
  key: Table.constant(Schema.String),
  /** The API key whose stored bytes are counted. */
  keyHash: Table.constant(Schema.String),
  /** As stored, after compression. */
  bytes: Table.Whole,
  /** Epoch milliseconds. */
  expiresAt: Table.Whole,
  fingerprint: Table.constant(Schema.String),
  /** The process that has claimed the key. Null: there is an answer. */
  owner: Table.nullable(Schema.String),
  status: Table.nullable(Table.Whole),
  /** Null if the answer is abridged, or was too large to store. */
  headers: Table.nullable(Schema.fromJsonString(Headers)),
  /** Null if it is compressed, or was too large to store. */
  body: Table.nullable(Schema.String),
  packed: Table.nullable(Schema.Uint8Array)
}) {}

/** The rows of the table. */
export const table = Table.make(Kept, { key: "idempotency_key" })

/** An answer to a request. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /**
   * Whether the body lacks what the request contains. Its headers are not stored. Default: false.
   */
  readonly isAbridged?: boolean
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

/**
 * The answer of a row. Null if it was too large to store, which is also how a process of a version
 * before abridged answers reads one of them.
 */
export const answerOf = Effect.fnUntraced(function* (
  { body, headers, packed }: Pick<Kept, "headers" | "body" | "packed">,
  status: number
): Effect.fn.Return<Answer | null> {
  const text = packed === null ? body : yield* unpack(packed)
  if (text === null) return null
  return headers === null ? { status, headers: {}, body: text, isAbridged: true } : { status, headers, body: text }
})

/**
 * The columns of an answer of at most `maxBytes`. For a larger answer only the status is written.
 */
export const columnsOf = (answer: PackedAnswer, maxBytes: number) => {
  const { body, isAbridged, status } = answer
  const bytes = bytesOf(answer)
  if (bytes > maxBytes) return { status, headers: null, body: null, packed: null, bytes: rowBytes }
  const headers = isAbridged === true ? null : JSON.stringify(answer.headers)
  return typeof body === "string"
    ? { status, headers, body, packed: null, bytes }
    : { status, headers, body: null, packed: body, bytes }
}
