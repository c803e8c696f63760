/**
 * Records of uploaded files. A file exists as long as its row does; its bytes are in the object
 * store.
 *
 * A file's identifier is `file_` and a UUID v7 without hyphens, so it contains its creation time
 * and newer identifiers sort after older ones. A list's `after` therefore works even if the file it
 * names was deleted.
 */
import type { Order } from "@model-gateway/core/Files"
import { Context, Data, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as Table from "../storage/sql/Table.ts"
import type { ObjectOwner } from "./ObjectSweep.ts"

/** The table `files`. */
class StoredFile extends Model.Class<StoredFile>("File")({
  id: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  /** The key that uploaded the file. For an ephemeral key, its parent. */
  keyHash: Table.constant(Schema.String),
  /** The ephemeral key that uploaded the file, or null if another kind of key did. */
  ephemeralHash: Table.constantOrNull(Schema.String),
  /** The caller's name for the file. For display only; it never becomes part of a path. */
  filename: Table.constant(Schema.String),
  purpose: Table.constant(Schema.String),
  contentType: Table.constant(Schema.String),
  bytes: Table.constant(Table.Whole),
  /** Lowercase hex. */
  sha256: Table.constant(Schema.String),
  objectKey: Table.constant(Schema.String),
  /** Epoch milliseconds. */
  createdAt: Table.constant(Table.Whole)
}) {}

/** A stored file record. */
export interface FileRecord extends StoredFile {}

const table = Table.make(StoredFile, { bytes: "size_bytes" })

/**
 * The workspace has no such file (status 404). The error does not reveal whether another workspace
 * has it.
 */
export class FileNotFound extends Data.TaggedError("FileNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such file."
}

/** The files that an operation may see. */
export interface FileScope {
  readonly workspaceId: string
  /** Only the files that this ephemeral key uploaded. Default: all files of the workspace. */
  readonly ephemeralHash?: string | undefined
}

/** The records. */
export class FileStore extends Context.Service<
  FileStore,
  {
    /** A new identifier. Nothing is stored yet. */
    readonly nextId: Effect.Effect<string>
    /** Records a file whose bytes are stored. `id` comes from {@link nextId}. */
    readonly create: (file: Omit<FileRecord, "createdAt">) => Effect.Effect<FileRecord, StorageError>
    readonly get: (scope: FileScope, id: string) => Effect.Effect<FileRecord, FileNotFound | StorageError>
    /**
     * Newest first unless `order` says otherwise. Fails with {@link Page.UnknownCursor} if `after`
     * is not a file identifier.
     */
    readonly list: (
      scope: FileScope,
      request?: Page.Request & { readonly order?: Order | undefined }
    ) => Effect.Effect<Page.Page<FileRecord>, Page.UnknownCursor | StorageError>
    /** Deletes the record permanently and returns it. The file can no longer be read. */
    readonly remove: (scope: FileScope, id: string) => Effect.Effect<FileRecord, FileNotFound | StorageError>
    /** Returns which of these identifiers are files, in any workspace. */
    readonly known: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StorageError>
  }
>()("@model-gateway/server/objects/FileStore") {}

const idForm = /^file_([0-9a-f]{12})7[0-9a-f]{3}[89ab][0-9a-f]{15}$/

/**
 * The creation time of an identifier in epoch milliseconds, or undefined if it is not a file
 * identifier.
 */
const timeOf = (id: string): number | undefined => {
  const digits = idForm.exec(id)?.[1]
  return digits === undefined ? undefined : Number.parseInt(digits, 16)
}

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom

  const within = ({ ephemeralHash, workspaceId }: FileScope) =>
    ephemeralHash === undefined
      ? sql`workspace_id = ${workspaceId}`
      : sql`workspace_id = ${workspaceId} AND ephemeral_hash = ${ephemeralHash}`

  const create = Effect.fn("FileStore.create")(function* (file: Omit<FileRecord, "createdAt">) {
    const createdAt = timeOf(file.id)
    if (createdAt === undefined) return yield* Effect.die(new RangeError("The file identifier is malformed"))
    yield* sql`INSERT INTO files ${sql.insert(table.insert({ ...file, createdAt }))}`
    return { ...file, createdAt }
  }, mapSqlError("FileStore.create"))

  const get = Effect.fn("FileStore.get")(function* (scope: FileScope, id: string) {
    const [row] = yield* sql`SELECT * FROM files WHERE id = ${id} AND ${within(scope)}`
    return row === undefined ? yield* new FileNotFound({ id }) : table.read(row)
  }, mapSqlError("FileStore.get"))

  const list = Effect.fn("FileStore.list")(function* (
    scope: FileScope,
    { order, ...request }: Page.Request & { readonly order?: Order | undefined } = {}
  ) {
    const isOldestFirst = order === "asc"
    return yield* Page.read(
      {
        start: isOldestFirst ? Page.oldestFirst : Page.newestFirst,
        createdAt: (after) => Effect.succeed(timeOf(after)),
        rows: (place, limit) =>
          isOldestFirst
            ? sql`SELECT * FROM files
                WHERE ${within(scope)} AND (created_at, id) > (${place.createdAt}, ${place.name})
                ORDER BY created_at, id LIMIT ${limit}`
            : sql`SELECT * FROM files
                WHERE ${within(scope)} AND (created_at, id) < (${place.createdAt}, ${place.name})
                ORDER BY created_at DESC, id DESC LIMIT ${limit}`,
        item: table.read
      },
      request
    )
  }, mapSqlError("FileStore.list"))

  const remove = Effect.fn("FileStore.remove")(function* (scope: FileScope, id: string) {
    const [row] = yield* sql`DELETE FROM files WHERE id = ${id} AND ${within(scope)} RETURNING *`
    return row === undefined ? yield* new FileNotFound({ id }) : table.read(row)
  }, mapSqlError("FileStore.remove"))

  const known = Effect.fn("FileStore.known")(function* (ids: ReadonlyArray<string>) {
    if (ids.length === 0) return new Set<string>()
    const rows = yield* sql`SELECT id FROM files WHERE ${sql.in("id", ids)}`
    return new Set(rows.map((row) => Dialect.text(row, "id")))
  }, mapSqlError("FileStore.known"))

  return FileStore.of({
    nextId: Effect.map(random.uuidV7(), (uuid) => `file_${uuid.replaceAll("-", "")}`),
    create,
    get,
    list,
    remove,
    known
  })
})

/** The store over the database. */
export const layerSql: Layer.Layer<FileStore, never, SqlClient | SecureRandom> = Layer.effect(FileStore, make)

/** For the object sweep: the records own the uploads, which are named after them. */
export const objectOwner: Effect.Effect<ObjectOwner, never, FileStore> = Effect.map(FileStore, ({ known }) => ({
  kind: "files",
  recordOf: (name) => name,
  known
}))
