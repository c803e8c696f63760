/**
 * Creates, authenticates, lists, updates and deletes API keys.
 *
 * Only the SHA-256 of a key is stored. Lookups use that hash, so their timing reveals nothing about
 * any key. Authentication results are cached for a few seconds ({@link CallerCache}): a change made
 * in this process takes effect immediately, one made in another process within that time. Expiry is
 * checked at every use.
 *
 * A key that is rotated gets another secret and keeps its hash, which is that of its first secret.
 * `key_secrets` says which secrets it has and when they end. A key that never was has no rows
 * there.
 *
 * An ephemeral key is looked up first, then its parent. Each has its own cache entry, so an
 * ephemeral key never has more rights than its parent.
 */
import { Clock, Context, Data, Effect, Layer, Redacted, Result } from "effect"
import type { KeySort } from "@model-gateway/core/Keys"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Budgets from "../accounting/Budgets.ts"
import * as SpendingLimit from "../accounting/SpendingLimit.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import type * as Table from "../storage/sql/Table.ts"
import * as EphemeralKeys from "./EphemeralKeys.ts"
import * as KeyFormat from "./KeyFormat.ts"
import type { Caller } from "./Caller.ts"
import { type InvalidKey, invalid } from "./InvalidKey.ts"
import { joinLimit, type Key, keyColumns, keyRow, tables } from "./Key.ts"
import { CallerCache } from "./CallerCache.ts"
import type { Permission } from "./Permission.ts"
import * as Workspace from "./Workspace.ts"

export type { Caller } from "./Caller.ts"
export { InvalidKey } from "./InvalidKey.ts"
export type { Key } from "./Key.ts"

/** A new key. */
export interface CreateKey
  extends
    Pick<Key, "organizationId" | "workspaceId" | "name">,
    /** Default: null. A limit then never resets, and a key never expires. */
    Table.Change<Pick<Key, "creatorUserId" | "externalUser" | "expiresAt" | "limit" | "limitReset">>,
    /** Default: false. */
    Table.Change<Pick<Key, "isManagement" | "isFreeTier" | "includeByokInLimit">>,
    /** Of a management key. Default: `admin`, and null for all workspaces. */
    Table.Change<Permission> {
  /** Default: `freeDailyRequests` of the settings. */
  readonly freeDailyLimit?: number | undefined
  /** Default: a random one. It must not exist yet. */
  readonly generated?: KeyFormat.GeneratedKey | undefined
}

/** A change to a key. Absent fields stay as they are. */
export type UpdateKey = Table.Change<
  Pick<
    Key,
    | "name"
    | "disabled"
    | "role"
    | "workspaceIds"
    | "isFreeTier"
    | "expiresAt"
    | "limit"
    | "limitReset"
    | "includeByokInLimit"
    | "freeDailyLimit"
  >
>

/** The keys to list. */
export interface KeyFilter {
  readonly organizationId: string
  /** Default: those of all workspaces. */
  readonly workspaceIds?: ReadonlyArray<string> | undefined
  /** Whether disabled keys are listed too. Default: false. */
  readonly includeDisabled?: boolean | undefined
  /** Only keys whose name or label has this text. */
  readonly search?: string | undefined
  /** Default: `created`. */
  readonly sort?: KeySort | undefined
}

/**
 * A search, and any order but that of creation, reads this many of the newest keys, so that a page
 * takes milliseconds however many keys there are.
 */
export const maxSearched = 10_000

/** The most keys that `expiring` lists. */
export const maxExpiring = 100

/** A key of a list, with its budget at that time. */
export interface ListedKey extends Key {
  readonly budget: Budgets.Budget
  /** The start of the UTC day of its last paid request. Null: there was none. */
  readonly lastUsedDay: number | null
}

/** A page of keys, and the number of keys on all pages. */
export interface KeyPage extends Page.Page<ListedKey> {
  readonly totalCount: number
}

/** A new key. `plain` is shown once and cannot be read again. */
export interface CreatedKey {
  readonly plain: Redacted.Redacted<string>
  readonly key: Key
}

/** The new secret of a key that was rotated. `plain` is shown once and cannot be read again. */
export interface RotatedKey extends CreatedKey {
  /** Until when the secret before it is accepted, in epoch milliseconds. Null: it has ended. */
  readonly previousEndsAt: number | null
}

/** How to rotate a key. */
export interface RotateKey {
  /** For how many milliseconds the present secret is still accepted. 0: it ends at once. */
  readonly grace: number
  /** The new secret. Default: a random one. */
  readonly generated?: KeyFormat.GeneratedKey | undefined
}

/** The organization has no such key, or no longer has it (status 404). */
export class KeyNotFound extends Data.TaggedError("KeyNotFound")<{
  readonly hash: string
}> {
  override readonly message = "There is no such key."
}

/** A management key, which cannot spend, would be in the free tier (status 400). */
export class ManagementKeyOfFreeTier extends Data.TaggedError("ManagementKeyOfFreeTier") {
  override readonly message = "A management key cannot be in the free tier, because it cannot spend."
}

/** The key service. */
export class KeyStore extends Context.Service<
  KeyStore,
  {
    /** Makes a key. */
    readonly create: (
      input: CreateKey
    ) => Effect.Effect<CreatedKey, ManagementKeyOfFreeTier | Workspace.WorkspaceNotFound | StorageError>
    /**
     * A key of the organization that is not deleted, by its hash or by that of any of its secrets.
     */
    readonly get: (organizationId: string, hash: string) => Effect.Effect<Key, KeyNotFound | StorageError>
    /** The organization's keys that are not deleted, newest first by default. */
    readonly list: (filter: KeyFilter, request?: Page.OffsetRequest) => Effect.Effect<KeyPage, StorageError>
    /** The names of those of these keys that are the organization's, also deleted ones, by hash. */
    readonly names: (
      organizationId: string,
      hashes: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyMap<string, string>, StorageError>
    /**
     * Keys that expire before a time and are neither disabled nor deleted, those that expire first.
     * At most {@link maxExpiring}.
     */
    readonly expiring: (
      organizationId: string,
      before: number,
      workspaceId?: string | null
    ) => Effect.Effect<ReadonlyArray<Key>, StorageError>
    /**
     * Applies the change and returns the updated key, unless `check` fails for the key before the
     * change.
     */
    readonly update: <E = never>(
      organizationId: string,
      hash: string,
      change: UpdateKey,
      check?: (before: Key) => Effect.Effect<void, E>
    ) => Effect.Effect<Key, KeyNotFound | ManagementKeyOfFreeTier | StorageError | E>
    /**
     * Gives the key a new secret, unless `check` fails for it. Of its earlier secrets only the
     * newest is still accepted, until the grace ends. The others end at once, so that at most two
     * are valid.
     */
    readonly rotate: <E = never>(
      organizationId: string,
      hash: string,
      options: RotateKey,
      check?: (before: Key) => Effect.Effect<void, E>
    ) => Effect.Effect<RotatedKey, KeyNotFound | StorageError | E>
    /**
     * Deletes the key permanently, unless `check` fails for it. The key and its ephemeral keys stop
     * working immediately; its usage is kept. Deleting it again fails with {@link KeyNotFound}.
     */
    readonly remove: <E = never>(
      organizationId: string,
      hash: string,
      check?: (before: Key) => Effect.Effect<void, E>
    ) => Effect.Effect<void, KeyNotFound | StorageError | E>
    /** Authenticates a key. For an ephemeral key, the caller's key is its parent. */
    readonly authenticate: (key: Redacted.Redacted<string>) => Effect.Effect<Caller, InvalidKey | StorageError>
    /**
     * The caller of a secret that is not that of an ephemeral key, by the hash of the secret. Fails
     * as `authenticate` does. For what was authenticated earlier by the secret, such as a session.
     */
    readonly usable: (secretHash: string) => Effect.Effect<Caller, InvalidKey | StorageError>
    /**
     * Reads the same caller again. Fails if its key can no longer be used. For requests that wait.
     */
    readonly refresh: (caller: Caller) => Effect.Effect<Caller, InvalidKey | StorageError>
  }
>()("@model-gateway/server/access/KeyStore") {}

/** How a searched list is sorted. */
const orders: Readonly<Record<KeySort, string>> = {
  created: "k.created_at DESC",
  name: "LOWER(k.name), k.name",
  usage: "b.usage DESC",
  last_used: "b.day_start DESC"
}

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const callers = yield* CallerCache
  const { freeDailyRequests } = yield* GatewayServerConfig
  const ephemerals = yield* EphemeralKeys.EphemeralKeys
  const columns = sql.literal(keyColumns)
  const limitOfKey = sql.literal(joinLimit)
  const limits = SpendingLimit.make(sql)

  const find = Effect.fnUntraced(function* (organizationId: string, hash: string, ofKey = sql`${hash}`) {
    const rows = yield* sql`SELECT ${columns} FROM keys k ${limitOfKey}
      WHERE k.hash = ${ofKey} AND k.organization_id = ${organizationId} AND k.deleted_at IS NULL`
    const row = rows[0]
    return row === undefined ? yield* new KeyNotFound({ hash }) : keyRow(row)
  })

  /** Like `find`, also by the hash of a secret. */
  const findBySecret = (organizationId: string, hash: string) =>
    find(
      organizationId,
      hash,
      sql`COALESCE((SELECT key_hash FROM key_secrets WHERE hash = ${hash}), CAST(${hash} AS TEXT))`
    )

  const create = Effect.fn("KeyStore.create")(
    function* (input: CreateKey) {
      const now = yield* Clock.currentTimeMillis
      const isManagement = input.isManagement === true
      const isFreeTier = input.isFreeTier === true
      if (isManagement && isFreeTier) return yield* new ManagementKeyOfFreeTier()
      const generated = input.generated ?? (yield* KeyFormat.generate(random, isManagement ? "management" : "ordinary"))
      const { hash, label } = generated
      yield* Workspace.lock(sql, input.workspaceId)
      const key = tables.keys.insert({
        ...input,
        hash,
        label,
        isManagement,
        role: input.role ?? "admin",
        isFreeTier,
        disabled: false,
        freeDailyLimit: input.freeDailyLimit ?? freeDailyRequests,
        createdAt: now,
        updatedAt: now
      })
      yield* sql`INSERT INTO keys ${sql.insert(key)}`
      yield* limits.create({ ...input, id: hash, kind: "key", includeByokInLimit: input.includeByokInLimit === true })
      return {
        plain: generated.key,
        key: yield* Effect.catchTag(find(input.organizationId, hash), "KeyNotFound", Effect.die)
      }
    },
    sql.withTransaction,
    mapSqlError("KeyStore.create")
  )

  const list: KeyStore["Service"]["list"] = Effect.fn("KeyStore.list")(function* (filter, request) {
    const now = yield* Clock.currentTimeMillis
    const listed = sql.and([
      sql`organization_id = ${filter.organizationId}`,
      sql`deleted_at IS NULL`,
      // As text: a parameter would not match the condition of the index.
      ...(filter.includeDisabled === true ? [] : [sql`disabled = 0`])
    ])
    const { search, sort = "created", workspaceIds } = filter
    const newest = Page.ofWorkspaces(sql, {
      table: "keys",
      key: "hash",
      time: "created_at",
      order: "DESC",
      where: listed,
      workspaceIds
    })
    const item = (row: Row): ListedKey => ({
      ...keyRow(row),
      budget: Budgets.fromRow(row, now),
      lastUsedDay: Budgets.lastDayOf(row)
    })
    // The skipped keys are read from the index only.
    const inOrder = {
      rows: (limit: number, offset: number) => sql`SELECT ${columns}, b.* FROM (${newest(limit, offset)}) p
        JOIN keys k ON k.hash = p.hash ${limitOfKey} ORDER BY k.created_at DESC, k.hash DESC`,
      total: sql`SELECT COUNT(*) AS total_count FROM keys WHERE ${Page.inWorkspaces(sql, listed, workspaceIds)}`
    }
    const pattern = `%${search?.replaceAll(/[!%_]/g, "!$&") ?? ""}%`
    const found = sql`FROM (${newest(maxSearched, 0)}) p JOIN keys k ON k.hash = p.hash ${limitOfKey}
      WHERE LOWER(k.name) LIKE LOWER(${pattern}) ESCAPE '!' OR LOWER(k.label) LIKE LOWER(${pattern}) ESCAPE '!'`
    const searched = {
      rows: (limit: number, offset: number) => sql`SELECT ${columns}, b.* ${found}
        ORDER BY ${sql.literal(orders[sort])}, k.created_at DESC, k.hash DESC LIMIT ${limit} OFFSET ${offset}`,
      total: sql`SELECT COUNT(*) AS total_count ${found}`
    }
    const { rows, total } = search === undefined && sort === "created" ? inOrder : searched
    const page = yield* Page.readAt({ rows, item }, request)
    const end = (request?.offset ?? 0) + page.items.length
    if (!page.hasMore && (page.items.length > 0 || end === 0)) return { ...page, totalCount: end }
    const [counted] = yield* total
    return { ...page, totalCount: counted === undefined ? 0 : Dialect.int(counted, "total_count") }
  }, mapSqlError("KeyStore.list"))

  const names = Effect.fn("KeyStore.names")(function* (organizationId: string, hashes: ReadonlyArray<string>) {
    const wanted = Array.from(new Set(hashes))
    if (wanted.length === 0) return new Map<string, string>()
    const rows = yield* sql`SELECT hash, name FROM keys
      WHERE ${sql.in("hash", wanted)} AND organization_id = ${organizationId}`
    return new Map(rows.map((row) => [Dialect.text(row, "hash"), Dialect.text(row, "name")]))
  }, mapSqlError("KeyStore.names"))

  const expiring: KeyStore["Service"]["expiring"] = Effect.fn("KeyStore.expiring")(function* (
    organizationId,
    before,
    workspaceId = null
  ) {
    const now = yield* Clock.currentTimeMillis
    // Not both: SQLite would not use the index of the workspace.
    const owned = workspaceId === null ? sql`organization_id = ${organizationId}` : sql`workspace_id = ${workspaceId}`
    const rows = yield* sql`SELECT ${columns} FROM (SELECT hash FROM keys
        WHERE ${owned} AND expires_at > ${now} AND expires_at <= ${before} AND deleted_at IS NULL AND disabled = 0
        ORDER BY expires_at LIMIT ${maxExpiring}) p
      JOIN keys k ON k.hash = p.hash ${limitOfKey} ORDER BY k.expires_at`
    return yield* Page.itemsOf(rows, keyRow)
  }, mapSqlError("KeyStore.expiring"))

  const update = Effect.fn("KeyStore.update")(
    function* <E>(
      organizationId: string,
      hash: string,
      change: UpdateKey,
      check: (before: Key) => Effect.Effect<void, E> = () => Effect.void
    ) {
      yield* Dialect.lock(sql, sql`SELECT 1 FROM keys WHERE hash = ${hash}`)
      const before = yield* find(organizationId, hash)
      yield* check(before)
      if (before.isManagement && change.isFreeTier === true) return yield* new ManagementKeyOfFreeTier()
      const columns = tables.keys.update({ ...change, updatedAt: yield* Clock.currentTimeMillis })
      yield* sql`UPDATE keys SET ${sql.update(columns)} WHERE hash = ${hash}`
      yield* limits.update(hash, change)
      yield* sql.afterCommit(callers.evict([hash]))
      return yield* find(organizationId, hash)
    },
    sql.withTransaction,
    mapSqlError("KeyStore.update")
  )

  const rotate = Effect.fn("KeyStore.rotate")(
    function* <E>(
      organizationId: string,
      hash: string,
      { generated: given, grace }: RotateKey,
      check: (before: Key) => Effect.Effect<void, E> = () => Effect.void
    ) {
      yield* Dialect.lock(sql, sql`SELECT 1 FROM keys WHERE hash = ${hash}`)
      const before = yield* find(organizationId, hash)
      yield* check(before)
      const generated = given ?? (yield* KeyFormat.generate(random, before.isManagement ? "management" : "ordinary"))
      const now = yield* Clock.currentTimeMillis
      const endsAt = now + grace
      // The row of the first secret stays: without it, the hash of the key would be accepted again.
      yield* sql`DELETE FROM key_secrets WHERE key_hash = ${hash} AND hash <> ${hash} AND ends_at IS NOT NULL`
      yield* sql`UPDATE key_secrets SET ends_at = ${now} WHERE hash = ${hash} AND ends_at > ${now}`
      yield* sql`INSERT INTO key_secrets ${sql.insert({ hash, key_hash: hash, ends_at: null })}
        ON CONFLICT (hash) DO NOTHING`
      yield* sql`UPDATE key_secrets SET ends_at = ${endsAt} WHERE key_hash = ${hash} AND ends_at IS NULL`
      yield* sql`INSERT INTO key_secrets ${sql.insert({ hash: generated.hash, key_hash: hash, ends_at: null })}`
      yield* sql`UPDATE keys SET ${sql.update(tables.keys.update({ label: generated.label, updatedAt: now }))}
        WHERE hash = ${hash}`
      yield* sql.afterCommit(callers.evict([hash]))
      const rotated: RotatedKey = {
        plain: generated.key,
        key: yield* find(organizationId, hash),
        previousEndsAt: grace > 0 ? endsAt : null
      }
      return rotated
    },
    sql.withTransaction,
    mapSqlError("KeyStore.rotate")
  )

  const remove = Effect.fn("KeyStore.remove")(
    function* <E>(
      organizationId: string,
      hash: string,
      check: (before: Key) => Effect.Effect<void, E> = () => Effect.void
    ) {
      yield* Dialect.lock(sql, sql`SELECT 1 FROM keys WHERE hash = ${hash}`)
      yield* check(yield* find(organizationId, hash))
      const now = yield* Clock.currentTimeMillis
      const rows = yield* sql`UPDATE keys SET deleted_at = ${now}, updated_at = ${now}, guardrail_id = NULL
      WHERE hash = ${hash} AND organization_id = ${organizationId} AND deleted_at IS NULL RETURNING hash`
      if (rows.length === 0) return yield* new KeyNotFound({ hash })
      yield* ephemerals.removeAllOf(hash)
      yield* sql.afterCommit(callers.evict([hash]))
    },
    sql.withTransaction,
    mapSqlError("KeyStore.remove")
  )

  /**
   * The caller of a key's hash. With `isSecret`, of the hash of a secret, which must not have
   * ended.
   */
  const usable = Effect.fnUntracedEager(function* (hash: string, isSecret = false) {
    const { caller, secretEndsAt } = yield* callers.get(hash)
    if (isSecret && secretEndsAt !== null && secretEndsAt <= (yield* Clock.currentTimeMillis)) {
      return yield* invalid("replaced", caller.key)
    }
    if (caller.key.disabled) return yield* invalid("disabled", caller.key)
    const { expiresAt } = caller.key
    if (expiresAt !== null && expiresAt <= (yield* Clock.currentTimeMillis)) {
      return yield* invalid("expired", caller.key)
    }
    return caller
  })

  const usableEphemeral = Effect.fnUntracedEager(function* (hash: string) {
    const ephemeral = yield* ephemerals.find(hash)
    if (ephemeral === null) return yield* invalid("unknown")
    if (ephemeral.expiresAt <= (yield* Clock.currentTimeMillis)) {
      return yield* invalid("expired", (yield* callers.get(ephemeral.parentHash)).caller.key)
    }
    const parent = yield* usable(ephemeral.parentHash)
    const caller: Caller = { ...parent, ephemeral }
    return caller
  })

  const authenticate = Effect.fnUntracedEager(function* (plain: Redacted.Redacted<string>) {
    const parsed = KeyFormat.parse(Redacted.value(plain))
    if (Result.isFailure(parsed)) return yield* invalid(parsed.failure)
    const { hash, kind } = parsed.success
    return yield* kind === "ephemeral" ? usableEphemeral(hash) : usable(hash, true)
  })

  const refresh = ({ ephemeral, key }: Caller) =>
    ephemeral === null ? usable(key.hash) : usableEphemeral(ephemeral.hash)

  return KeyStore.of({
    create,
    get: (organizationId, hash) => findBySecret(organizationId, hash).pipe(mapSqlError("KeyStore.get")),
    list,
    expiring,
    names,
    update,
    rotate,
    remove,
    authenticate,
    usable: (secretHash) => usable(secretHash, true),
    refresh
  })
})

/** The store over the database, with its ephemeral keys. */
export const layerSql: Layer.Layer<
  KeyStore | EphemeralKeys.EphemeralKeys,
  never,
  SqlClient | SecureRandom | CallerCache
> = Layer.effect(KeyStore, make).pipe(Layer.provideMerge(EphemeralKeys.layerSql))
