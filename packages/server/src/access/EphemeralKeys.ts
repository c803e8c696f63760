/**
 * Short-lived keys (`mg_ek_…`) that an ordinary key creates for places that cannot keep a secret.
 *
 * An ephemeral key has no budget, guardrail or rights of its own. Until it expires it acts as its
 * parent, so it always agrees with the parent and stops with it. It can be restricted to some
 * operations, and to its own files, video jobs and requests. Its row is deleted some time
 * after it expires.
 */
import { Clock, Context, type Duration, Effect, Layer, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Background from "../internal/Background.ts"
import * as ShortCache from "../internal/ShortCache.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { type EphemeralKey, joinLimit, type Key, keyColumns, keyRow, tables } from "./Key.ts"
import * as KeyFormat from "./KeyFormat.ts"

export type { EphemeralKey } from "./Key.ts"

/** An ephemeral key and its parent. */
export interface Descendant {
  readonly ephemeral: EphemeralKey
  readonly parent: Key
}

/** A new ephemeral key. `plain` is shown once and cannot be read again. */
export interface CreatedEphemeralKey {
  readonly plain: Redacted.Redacted<string>
  readonly ephemeral: EphemeralKey
}

/** Restrictions of a new ephemeral key. */
export interface EphemeralLimits {
  /**
   * The identifiers of the operations that the key may call. Default: all that its parent may call.
   */
  readonly operations?: ReadonlyArray<string> | undefined
  /** Whether the key sees only its own files, video jobs and requests. Default: false. */
  readonly ownFiles?: boolean | undefined
}

/** The service. */
export class EphemeralKeys extends Context.Service<
  EphemeralKeys,
  {
    /**
     * Creates an ephemeral key with this lifetime in milliseconds. It never outlives its parent.
     */
    readonly create: (
      parent: Key,
      lifetime: number,
      limits?: EphemeralLimits
    ) => Effect.Effect<CreatedEphemeralKey, StorageError>
    /** The key with this hash, expired or not, or null. Cached for a few seconds. */
    readonly find: (hash: string) => Effect.Effect<EphemeralKey | null, StorageError>
    /** An unexpired key of the organization, or null. */
    readonly get: (organizationId: string, hash: string) => Effect.Effect<Descendant | null, StorageError>
    /** The unexpired keys of one parent, newest first. */
    readonly list: (parent: Key, request?: Page.OffsetRequest) => Effect.Effect<Page.Page<Descendant>, StorageError>
    /** The number of unexpired keys for each parent hash. Parents without any are left out. */
    readonly counts: (parentHashes: ReadonlyArray<string>) => Effect.Effect<ReadonlyMap<string, number>, StorageError>
    /** Revokes a key of the organization immediately. Returns whether it existed. */
    readonly remove: (organizationId: string, hash: string) => Effect.Effect<boolean, StorageError>
    /** Deletes all ephemeral keys of a parent. */
    readonly removeAllOf: (parentHash: string) => Effect.Effect<void, StorageError>
    /**
     * Deletes keys that expired at least an hour ago. Returns their number. `layerBackground` runs
     * it regularly.
     */
    readonly purge: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/access/EphemeralKeys") {}

/**
 * How long expired keys are kept, in milliseconds, so that their bearers learn that they have
 * expired instead of that they are unknown.
 */
const keptFor = 3_600_000

const table = tables.ephemeralKeys

const ephemeralRow = table.readOf("e")

const descendantRow = (row: Row): Descendant => ({ ephemeral: ephemeralRow(row), parent: keyRow(row) })

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const select = Dialect.fixed(sql, `SELECT ${table.columns} FROM ephemeral_keys WHERE hash = ?1`)
  // Apart from the cache of callers, so that a change of the parent affects its ephemeral keys.
  const cache = yield* ShortCache.make((hash) =>
    Effect.map(select(hash), ([row]) => (row === undefined ? null : table.read(row)))
  )
  const selectAll = sql.literal(`SELECT ${table.columnsOf("e")}, ${keyColumns} FROM ephemeral_keys e
    JOIN keys k ON k.hash = e.parent_hash ${joinLimit}`)

  const create = Effect.fn("EphemeralKeys.create")(function* (parent: Key, lifetime: number, limits?: EphemeralLimits) {
    const now = yield* Clock.currentTimeMillis
    const { hash, key, label } = yield* KeyFormat.generate(random, "ephemeral")
    const ephemeral: EphemeralKey = {
      hash,
      parentHash: parent.hash,
      label,
      createdAt: now,
      expiresAt: Math.min(now + lifetime, parent.expiresAt ?? Number.MAX_SAFE_INTEGER),
      operations: limits?.operations === undefined ? null : new Set(limits.operations),
      ownFiles: limits?.ownFiles ?? false
    }
    yield* sql`INSERT INTO ephemeral_keys ${sql.insert(table.insert(ephemeral))}`
    return { plain: key, ephemeral }
  }, mapSqlError("EphemeralKeys.create"))

  const get = Effect.fn("EphemeralKeys.get")(function* (organizationId: string, hash: string) {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* sql`${selectAll} WHERE e.hash = ${hash} AND e.expires_at > ${now}
      AND k.organization_id = ${organizationId} AND k.deleted_at IS NULL`
    return row === undefined ? null : descendantRow(row)
  }, mapSqlError("EphemeralKeys.get"))

  const list: EphemeralKeys["Service"]["list"] = Effect.fn("EphemeralKeys.list")(function* (parent, request) {
    const now = yield* Clock.currentTimeMillis
    return yield* Page.readAt(
      {
        rows: (limit, offset) => sql`${selectAll} WHERE e.hash IN (
            SELECT hash FROM ephemeral_keys WHERE parent_hash = ${parent.hash} AND expires_at > ${now}
            ORDER BY created_at DESC, hash DESC LIMIT ${limit} OFFSET ${offset}
          ) ORDER BY e.created_at DESC, e.hash DESC`,
        item: descendantRow
      },
      request
    )
  }, mapSqlError("EphemeralKeys.list"))

  const counts = Effect.fn("EphemeralKeys.counts")(function* (parentHashes: ReadonlyArray<string>) {
    if (parentHashes.length === 0) return new Map<string, number>()
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`SELECT parent_hash, COUNT(*) AS total FROM ephemeral_keys
      WHERE ${sql.in("parent_hash", parentHashes)} AND expires_at > ${now} GROUP BY parent_hash`
    return new Map(rows.map((row) => [Dialect.text(row, "parent_hash"), Dialect.int(row, "total")]))
  }, mapSqlError("EphemeralKeys.counts"))

  const remove = Effect.fn("EphemeralKeys.remove")(
    function* (organizationId: string, hash: string) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* sql`DELETE FROM ephemeral_keys WHERE hash = ${hash} AND expires_at > ${now}
        AND EXISTS (SELECT 1 FROM keys k WHERE k.hash = ephemeral_keys.parent_hash AND k.organization_id = ${organizationId})
        RETURNING hash`
      yield* sql.afterCommit(cache.evict(hash))
      return rows.length > 0
    },
    sql.withTransaction,
    mapSqlError("EphemeralKeys.remove")
  )

  return EphemeralKeys.of({
    create,
    find: (hash) => cache.get(hash).pipe(mapSqlError("EphemeralKeys.find")),
    get,
    list,
    counts,
    remove,
    removeAllOf: (parentHash) =>
      sql`DELETE FROM ephemeral_keys WHERE parent_hash = ${parentHash}`.pipe(
        Effect.asVoid,
        mapSqlError("EphemeralKeys.removeAllOf")
      ),
    purge: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const some = sql`DELETE FROM ephemeral_keys WHERE hash IN (
        SELECT hash FROM ephemeral_keys WHERE expires_at <= ${now - keptFor} LIMIT ${Purge.atOnce}
      ) RETURNING hash`
      return yield* Purge.all(Effect.map(some, (rows) => rows.length))
    }).pipe(mapSqlError("EphemeralKeys.purge"))
  })
})

/** The service over the database. It does not purge by itself; see {@link layerBackground}. */
export const layerSql: Layer.Layer<EphemeralKeys, never, SqlClient | SecureRandom> = Layer.effect(EphemeralKeys, make)

/** Purges in the background, at the start and then at an interval (default: 5 minutes). */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, EphemeralKeys> =>
  Background.layer({
    work: Effect.flatMap(EphemeralKeys, ({ purge }) => purge),
    every: options?.every ?? "5 minutes",
    failure: "Expired ephemeral keys could not be purged"
  })
