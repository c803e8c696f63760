/**
 * Records of uploaded files. A file exists as long as its row does; its bytes lie in the object store.
 *
 * A file's identifier is `file_` and a UUID v7 without hyphens, so it tells when it was made and newer ones sort after older ones. That makes a listing's `after` work even when the file it names
 * has been deleted meanwhile.
 */
import { Context, Data, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Dialect from "../storage/Dialect.ts"
import { limitOf, type Slice, slice, type SliceRequest } from "../storage/Page.ts"
import { refine, type StorageError } from "../storage/StorageError.ts"

/** A file as it is stored. */
export interface FileRecord {
  readonly id: string
  readonly workspaceId: string
  /** Of the key that uploaded it; of an ephemeral key, its parent. */
  readonly keyHash: string
  /** Of the ephemeral key that uploaded it; null where that was no ephemeral key. */
  readonly ephemeralHash: string | null
  /** As the caller named it: for showing, never for a path. */
  readonly filename: string
  readonly purpose: string
  readonly contentType: string
  readonly bytes: number
  /** Lower-case hex. */
  readonly sha256: string
  readonly objectKey: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** The workspace has no such file (status 404); whether another has is not told. */
export class FileNotFound extends Data.TaggedError("FileNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such file."
}

/** `after` is no file's identifier (status 400). */
export class InvalidCursor extends Data.TaggedError("InvalidCursor")<{ readonly after: string }> {
  override readonly message = "`after` is no file's identifier."
}

/** Whose files are meant. */
export interface FileScope {
  readonly workspaceId: string
  /** Only those that this ephemeral key uploaded. Default: all of the workspace. */
  readonly ephemeralHash?: string | undefined
}

/** The records. */
export class FileStore extends Context.Service<
  FileStore,
  {
    /** A new identifier; nothing is stored yet. */
    readonly nextId: Effect.Effect<string>
    /** Records a file whose bytes are stored. `id` is one of {@link nextId}. */
    readonly create: (file: Omit<FileRecord, "createdAt">) => Effect.Effect<FileRecord, StorageError>
    readonly get: (scope: FileScope, id: string) => Effect.Effect<FileRecord, FileNotFound | StorageError>
    /** Those older than `after`, newest first; `limit` from 1 to 1000, default 100. */
    readonly list: (
      scope: FileScope,
      request?: SliceRequest
    ) => Effect.Effect<Slice<FileRecord>, InvalidCursor | StorageError>
    /** Deletes the record for good and answers it. From then on nobody can read the file. */
    readonly remove: (scope: FileScope, id: string) => Effect.Effect<FileRecord, FileNotFound | StorageError>
    /** Which of these identifiers, of whatever workspace, are files. */
    readonly known: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StorageError>
  }
>()("@model-gateway/server/files/FileStore") {}

const idForm = /^file_([0-9a-f]{12})7[0-9a-f]{3}[89ab][0-9a-f]{15}$/

/** The moment an identifier was made, in epoch milliseconds; undefined when it is none of a file. */
export const timeOf = (id: string): number | undefined => {
  const digits = idForm.exec(id)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

const fromRow = (row: Row): FileRecord => ({
  id: Dialect.text(row, "id"),
  workspaceId: Dialect.text(row, "workspace_id"),
  keyHash: Dialect.text(row, "key_hash"),
  ephemeralHash: Dialect.textOrNull(row, "ephemeral_hash"),
  filename: Dialect.text(row, "filename"),
  purpose: Dialect.text(row, "purpose"),
  contentType: Dialect.text(row, "content_type"),
  bytes: Dialect.int(row, "size_bytes"),
  sha256: Dialect.text(row, "sha256"),
  objectKey: Dialect.text(row, "object_key"),
  createdAt: Dialect.int(row, "created_at")
})

/** Over the database of the service. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom

  const within = ({ ephemeralHash, workspaceId }: FileScope) =>
    ephemeralHash === undefined
      ? sql`workspace_id = ${workspaceId}`
      : sql`workspace_id = ${workspaceId} AND ephemeral_hash = ${ephemeralHash}`

  const create = Effect.fn("FileStore.create")(function* (file: Omit<FileRecord, "createdAt">) {
    const createdAt = timeOf(file.id)
    if (createdAt === undefined) return yield* Effect.die(new RangeError("A file's identifier has not the form of one"))
    yield* sql`INSERT INTO files ${sql.insert({
      id: file.id,
      workspace_id: file.workspaceId,
      key_hash: file.keyHash,
      ephemeral_hash: file.ephemeralHash,
      filename: file.filename,
      purpose: file.purpose,
      content_type: file.contentType,
      size_bytes: file.bytes,
      sha256: file.sha256,
      object_key: file.objectKey,
      created_at: createdAt
    })}`
    return { ...file, createdAt }
  }, refine("FileStore.create"))

  const get = Effect.fn("FileStore.get")(function* (scope: FileScope, id: string) {
    const [row] = yield* sql`SELECT * FROM files WHERE id = ${id} AND ${within(scope)}`
    return row === undefined ? yield* new FileNotFound({ id }) : fromRow(row)
  }, refine("FileStore.get"))

  const list = Effect.fn("FileStore.list")(function* (scope: FileScope, request?: SliceRequest) {
    const limit = limitOf(request)
    const after = request?.after
    const time = after === undefined ? undefined : timeOf(after)
    if (after !== undefined && time === undefined) return yield* new InvalidCursor({ after })
    const older = after === undefined || time === undefined ? sql`1 = 1` : sql`(created_at, id) < (${time}, ${after})`
    const rows = yield* sql`SELECT * FROM files WHERE ${within(scope)} AND ${older}
      ORDER BY created_at DESC, id DESC LIMIT ${limit + 1}`
    return slice(rows, limit, fromRow)
  }, refine("FileStore.list"))

  const remove = Effect.fn("FileStore.remove")(function* (scope: FileScope, id: string) {
    const [row] = yield* sql`DELETE FROM files WHERE id = ${id} AND ${within(scope)} RETURNING *`
    return row === undefined ? yield* new FileNotFound({ id }) : fromRow(row)
  }, refine("FileStore.remove"))

  const known = Effect.fn("FileStore.known")(function* (ids: ReadonlyArray<string>) {
    if (ids.length === 0) return new Set<string>()
    const rows = yield* sql`SELECT id FROM files WHERE ${sql.in("id", ids)}`
    return new Set(rows.map((row) => Dialect.text(row, "id")))
  }, refine("FileStore.known"))

  return FileStore.of({
    nextId: Effect.map(random.uuidV7(), (uuid) => `file_${uuid.replaceAll("-", "")}`),
    create,
    get,
    list,
    remove,
    known
  })
})

/** Records in the database of the service. */
export const layerSql: Layer.Layer<FileStore, never, SqlClient | SecureRandom> = Layer.effect(FileStore, make)
