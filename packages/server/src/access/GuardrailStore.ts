/**
 * The guardrails of an organization and the keys they are assigned to. A key has at most one
 * guardrail; assigning another one replaces it.
 */
import { Clock, Context, Data, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { Model } from "effect/schema"
import { SqlClient } from "effect/sql/SqlClient"
import type * as Statement from "effect/sql/Statement"
import type { Row } from "effect/sql/SqlConnection"
import * as Budgets from "../accounting/Budgets.ts"
import * as SpendingLimit from "../accounting/SpendingLimit.ts"
import { CallerCache } from "./CallerCache.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Page from "../storage/sql/Page.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as Table from "../storage/sql/Table.ts"
import {
  type CreateGuardrail,
  type Guardrail,
  guardrailColumns,
  guardrailRow,
  joinLimit,
  table,
  type UpdateGuardrail
} from "./Guardrail.ts"

export type { CreateGuardrail, Guardrail, UpdateGuardrail } from "./Guardrail.ts"

/** A guardrail with what its keys have used. */
export interface ListedGuardrail extends Guardrail {
  readonly budget: Budgets.Budget
  /** When the budget was read: epoch milliseconds. */
  readonly readAt: number
}

/** The keys of a guardrail: those that were assigned first, and the number of all. */
export interface KeysOfGuardrail {
  readonly first: ReadonlyArray<AssignedKey>
  readonly count: number
}

/** The maximum number of keys that {@link KeysOfGuardrail} has. */
export const maxFirstKeys = 10

/** The result of an assignment. */
export interface Assignment {
  /** The number of distinct known keys, changed or not. */
  readonly assignedCount: number
  /** The distinct hashes that match no key of the organization, in the given order. */
  readonly notFound: ReadonlyArray<string>
  /** The keys that had another guardrail before. */
  readonly replaced: ReadonlyArray<{ readonly keyHash: string; readonly previousGuardrailId: string }>
}

/** A key that a guardrail is assigned to: some columns of `keys`. */
export class AssignedKey extends Model.Class<AssignedKey>("AssignedKey")({
  keyHash: Schema.String,
  name: Schema.String,
  label: Schema.String,
  guardrailId: Schema.String,
  /** The user whose key made the assignment. Null: unknown. */
  assignedBy: Schema.NullOr(Schema.String),
  /** Epoch milliseconds. */
  assignedAt: Table.Whole
}) {}

const assignedKeys = Table.make(AssignedKey, {
  keyHash: "hash",
  assignedBy: "guardrail_assigned_by",
  assignedAt: "guardrail_assigned_at"
})

/** The organization has no such guardrail (status 404). */
export class GuardrailNotFound extends Data.TaggedError("GuardrailNotFound")<{
  readonly id: string
}> {
  override readonly message = "There is no such guardrail."
}

/** The guardrail service. Every method sees only the given organization. */
export class GuardrailStore extends Context.Service<
  GuardrailStore,
  {
    readonly create: (input: CreateGuardrail) => Effect.Effect<ListedGuardrail, StorageError>
    readonly get: (
      organizationId: string,
      id: string
    ) => Effect.Effect<ListedGuardrail, GuardrailNotFound | StorageError>
    /** Newest first. With workspaces, only those listed in them. */
    readonly list: (
      filter: { readonly organizationId: string; readonly workspaceIds?: ReadonlyArray<string> | undefined },
      request?: Page.OffsetRequest
    ) => Effect.Effect<Page.CountedPage<ListedGuardrail>, StorageError>
    /**
     * The keys of at most 100 guardrails, in the order of the guardrails. With workspaces, only
     * keys of these.
     */
    readonly keysOf: (
      ids: ReadonlyArray<string>,
      workspaceIds?: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<KeysOfGuardrail>, StorageError>
    readonly update: (
      organizationId: string,
      id: string,
      change: UpdateGuardrail
    ) => Effect.Effect<ListedGuardrail, GuardrailNotFound | StorageError>
    /** Deletes the guardrail. Its keys then have none. */
    readonly remove: (organizationId: string, id: string) => Effect.Effect<void, GuardrailNotFound | StorageError>
    /**
     * Assigns the guardrail to the keys, in one transaction. A repeated hash counts once.
     * `assignedBy` is the user who does it. Default: null, unknown. With workspaces, keys of others
     * are not found.
     */
    readonly assign: (
      organizationId: string,
      id: string,
      keyHashes: ReadonlyArray<string>,
      assignedBy?: string | null,
      workspaceIds?: ReadonlyArray<string>
    ) => Effect.Effect<Assignment, GuardrailNotFound | StorageError>
    /**
     * Removes the guardrail from those keys that have it, and returns how many did. With
     * workspaces, only from keys of these.
     */
    readonly unassign: (
      organizationId: string,
      id: string,
      keyHashes: ReadonlyArray<string>,
      workspaceIds?: ReadonlyArray<string>
    ) => Effect.Effect<number, GuardrailNotFound | StorageError>
    /**
     * The keys that the guardrail is assigned to, in the order of their assignment. Null: the keys
     * of all guardrails of the organization. With workspaces, only keys of these.
     */
    readonly assignments: (
      organizationId: string,
      id: string | null,
      request?: Page.OffsetRequest,
      workspaceIds?: ReadonlyArray<string>
    ) => Effect.Effect<Page.CountedPage<AssignedKey>, GuardrailNotFound | StorageError>
  }
>()("@model-gateway/server/access/GuardrailStore") {}

/** Below the number of parameters that every build of both databases accepts in one statement. */
const chunkSize = 500

const chunks = <A>(items: ReadonlyArray<A>): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / chunkSize) }, (_, i) => items.slice(i * chunkSize, (i + 1) * chunkSize))

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const callers = yield* CallerCache
  const columns = sql.literal(`${guardrailColumns}, gb.*`)
  const limitOfGuardrail = sql.literal(joinLimit)
  const limits = SpendingLimit.make(sql)
  const assignedKeyColumns = sql.literal(assignedKeys.columnsOf("k"))

  const listedAt =
    (readAt: number) =>
    (row: Row): ListedGuardrail => ({ ...guardrailRow(row), budget: Budgets.fromRow(row, readAt), readAt })

  const find = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const rows = yield* sql`SELECT ${columns} FROM guardrails g ${limitOfGuardrail}
      WHERE g.id = ${id} AND g.organization_id = ${organizationId}`
    const row = rows[0]
    return row === undefined ? yield* new GuardrailNotFound({ id }) : listedAt(yield* Clock.currentTimeMillis)(row)
  })

  /**
   * Finds the guardrail for a transaction that changes or assigns it, and locks its row.
   */
  const findLocked = Effect.fnUntraced(function* (organizationId: string, id: string) {
    yield* Dialect.lock(sql, sql`SELECT 1 FROM guardrails WHERE id = ${id}`)
    return yield* find(organizationId, id)
  })

  const create = Effect.fn("GuardrailStore.create")(
    function* (input: CreateGuardrail) {
      const now = yield* Clock.currentTimeMillis
      const id = yield* random.uuidV4()
      const guardrail = table.insert({ ...input, id, createdAt: now, updatedAt: now })
      yield* sql`INSERT INTO guardrails ${sql.insert(guardrail)}`
      yield* limits.create({ ...input, id, kind: "guardrail", includeByokInLimit: false })
      return yield* Effect.catchTag(find(input.organizationId, id), "GuardrailNotFound", Effect.die)
    },
    sql.withTransaction,
    mapSqlError("GuardrailStore.create")
  )

  const list: GuardrailStore["Service"]["list"] = Effect.fn("GuardrailStore.list")(function* (
    { organizationId, workspaceIds },
    request
  ) {
    const ofOrganization = sql`organization_id = ${organizationId}`
    const newest = Page.ofWorkspaces(sql, {
      table: "guardrails",
      key: "id",
      time: "created_at",
      order: "DESC",
      where: ofOrganization,
      workspaceIds
    })
    return yield* Page.readCounted(
      {
        // The skipped guardrails are read from the index only.
        rows: (limit, offset) => sql`SELECT ${columns} FROM (${newest(limit, offset)}) p
          JOIN guardrails g ON g.id = p.id ${limitOfGuardrail}
          ORDER BY g.created_at DESC, g.id DESC`,
        total: sql`SELECT COUNT(*) AS total_count FROM guardrails
          WHERE ${Page.inWorkspaces(sql, ofOrganization, workspaceIds)}`,
        item: listedAt(yield* Clock.currentTimeMillis)
      },
      request
    )
  }, mapSqlError("GuardrailStore.list"))

  const keysOf = Effect.fn("GuardrailStore.keysOf")(function* (
    ids: ReadonlyArray<string>,
    workspaceIds?: ReadonlyArray<string>
  ) {
    // The index of the assigned keys of a workspace begins with the organization.
    const ofOrganization =
      workspaceIds === undefined
        ? []
        : [sql`organization_id = (SELECT organization_id FROM guardrails WHERE id = ${ids[0] ?? ""})`]
    const of = (guardrails: Statement.Fragment) =>
      Page.inWorkspaces(sql, sql.and([guardrails, sql`guardrail_id IS NOT NULL`, ...ofOrganization]), workspaceIds)
    const [head, ...rest] = ids.map(
      (id) => sql`SELECT ${assignedKeyColumns} FROM (
        SELECT hash FROM keys WHERE ${of(sql`guardrail_id = ${id}`)}
        ORDER BY guardrail_assigned_at, hash LIMIT ${maxFirstKeys}
      ) p JOIN keys k ON k.hash = p.hash`
    )
    if (head === undefined) return []
    const rows = yield* rest.reduce((all, next) => sql`${all} UNION ALL ${next}`, head)
    const keys = yield* Page.itemsOf(rows, assignedKeys.readOf("k"))
    const counted = yield* sql`SELECT guardrail_id, COUNT(*) AS total_count FROM keys
      WHERE ${of(sql.in("guardrail_id", ids))} GROUP BY guardrail_id`
    const counts = new Map(counted.map((row) => [Dialect.text(row, "guardrail_id"), Dialect.int(row, "total_count")]))
    return ids.map((id) => ({
      first: keys
        .filter(({ guardrailId }) => guardrailId === id)
        .toSorted((a, b) => a.assignedAt - b.assignedAt || (a.keyHash < b.keyHash ? -1 : 1)),
      count: counts.get(id) ?? 0
    }))
  }, mapSqlError("GuardrailStore.keysOf"))

  const update = Effect.fn("GuardrailStore.update")(
    function* (organizationId: string, id: string, change: UpdateGuardrail) {
      yield* findLocked(organizationId, id)
      const columns = table.update({ ...change, updatedAt: yield* Clock.currentTimeMillis })
      yield* sql`UPDATE guardrails SET ${sql.update(columns)} WHERE id = ${id}`
      yield* limits.update(id, change)
      yield* sql.afterCommit(callers.evictAll)
      return yield* find(organizationId, id)
    },
    sql.withTransaction,
    mapSqlError("GuardrailStore.update")
  )

  /** Removes the guardrail from all keys in batches, so that reads can run in between. */
  const releaseKeys = Effect.fnUntraced(function* (id: string) {
    yield* Dialect.lock(sql, sql`SELECT 1 FROM keys WHERE guardrail_id = ${id} ORDER BY hash`)
    for (let released = chunkSize; released === chunkSize;) {
      const rows = yield* sql`UPDATE keys SET guardrail_id = NULL WHERE hash IN (
        SELECT hash FROM keys WHERE guardrail_id = ${id} LIMIT ${chunkSize}) RETURNING hash`
      released = rows.length
      yield* Effect.yieldNow
    }
  })

  const remove = Effect.fn("GuardrailStore.remove")(
    function* (organizationId: string, id: string) {
      yield* findLocked(organizationId, id)
      yield* releaseKeys(id)
      yield* sql`DELETE FROM guardrails WHERE id = ${id}`
      yield* limits.remove(id)
      yield* sql.afterCommit(callers.evictAll)
    },
    sql.withTransaction,
    mapSqlError("GuardrailStore.remove")
  )

  /**
   * Locks the known keys among the hashes, and returns each with its guardrail, and the unknown
   * hashes.
   */
  const lookUp = Effect.fnUntraced(function* (
    organizationId: string,
    hashes: ReadonlyArray<string>,
    workspaceIds: ReadonlyArray<string> | undefined
  ) {
    const wanted = [...new Set(hashes)]
    const known = new Map<string, string | null>()
    for (const some of chunks(wanted.toSorted())) {
      yield* Dialect.lock(sql, sql`SELECT 1 FROM keys WHERE ${sql.in("hash", some)} ORDER BY hash`)
      // Compare the organization here: in the statement, SQLite would read all keys of the
      // organization for every batch.
      const rows =
        yield* sql`SELECT hash, organization_id, workspace_id, guardrail_id FROM keys WHERE deleted_at IS NULL AND ${sql.in("hash", some)}`
      for (const row of rows) {
        if (row.organization_id !== organizationId) continue
        if (workspaceIds?.includes(Dialect.text(row, "workspace_id")) === false) continue
        known.set(Dialect.text(row, "hash"), Dialect.textOrNull(row, "guardrail_id"))
      }
      yield* Effect.yieldNow
    }
    return { known, notFound: wanted.filter((hash) => !known.has(hash)) }
  })

  const setGuardrail = Effect.fnUntraced(function* (
    id: string | null,
    hashes: ReadonlyArray<string>,
    assignedBy: string | null
  ) {
    const now = yield* Clock.currentTimeMillis
    const assigned = sql.update({
      guardrail_id: id,
      guardrail_assigned_at: id === null ? null : now,
      guardrail_assigned_by: assignedBy,
      updated_at: now
    })
    for (const some of chunks(hashes)) {
      yield* sql`UPDATE keys SET ${assigned} WHERE ${sql.in("hash", some)}`
      yield* Effect.yieldNow
    }
    yield* sql.afterCommit(callers.evict(hashes))
  })

  const assign = Effect.fn("GuardrailStore.assign")(
    function* (
      organizationId: string,
      id: string,
      keyHashes: ReadonlyArray<string>,
      assignedBy: string | null = null,
      workspaceIds?: ReadonlyArray<string>
    ) {
      yield* findLocked(organizationId, id)
      const { known, notFound } = yield* lookUp(organizationId, keyHashes, workspaceIds)
      const changed = [...known].filter(([, previous]) => previous !== id)
      yield* setGuardrail(
        id,
        changed.map(([hash]) => hash),
        assignedBy
      )
      const replaced = changed.flatMap(([keyHash, previousGuardrailId]) =>
        previousGuardrailId === null ? [] : [{ keyHash, previousGuardrailId }]
      )
      return { assignedCount: known.size, notFound, replaced }
    },
    sql.withTransaction,
    mapSqlError("GuardrailStore.assign")
  )

  const unassign = Effect.fn("GuardrailStore.unassign")(
    function* (
      organizationId: string,
      id: string,
      keyHashes: ReadonlyArray<string>,
      workspaceIds?: ReadonlyArray<string>
    ) {
      yield* findLocked(organizationId, id)
      const { known } = yield* lookUp(organizationId, keyHashes, workspaceIds)
      const assigned = [...known].flatMap(([hash, guardrail]) => (guardrail === id ? [hash] : []))
      yield* setGuardrail(null, assigned, null)
      return assigned.length
    },
    sql.withTransaction,
    mapSqlError("GuardrailStore.unassign")
  )

  const assignments: GuardrailStore["Service"]["assignments"] = Effect.fn("GuardrailStore.assignments")(function* (
    organizationId,
    id,
    request,
    workspaceIds
  ) {
    if (id !== null) yield* find(organizationId, id)
    // A deleted key has no guardrail.
    const isAssigned = sql.and([
      sql`guardrail_id IS NOT NULL`,
      ...(id === null ? [] : [sql`guardrail_id = ${id}`]),
      // The index of a guardrail's keys does not begin with the organization.
      ...(id === null || workspaceIds !== undefined ? [sql`organization_id = ${organizationId}`] : [])
    ])
    const earliest = Page.ofWorkspaces(sql, {
      table: "keys",
      key: "hash",
      time: "guardrail_assigned_at",
      order: "ASC",
      where: isAssigned,
      workspaceIds
    })
    return yield* Page.readCounted(
      {
        // The skipped keys are read from the index only.
        rows: (limit, offset) => sql`SELECT ${assignedKeyColumns} FROM (${earliest(limit, offset)}) p
          JOIN keys k ON k.hash = p.hash
          ORDER BY k.guardrail_assigned_at, k.hash`,
        total: sql`SELECT COUNT(*) AS total_count FROM keys WHERE ${Page.inWorkspaces(sql, isAssigned, workspaceIds)}`,
        item: assignedKeys.readOf("k")
      },
      request
    )
  }, mapSqlError("GuardrailStore.assignments"))

  return GuardrailStore.of({
    create,
    get: (organizationId, id) => find(organizationId, id).pipe(mapSqlError("GuardrailStore.get")),
    list,
    keysOf,
    update,
    remove,
    assign,
    unassign,
    assignments
  })
})

/** The store over the database. */
export const layerSql: Layer.Layer<GuardrailStore, never, SqlClient | SecureRandom | CallerCache> = Layer.effect(
  GuardrailStore,
  make
)
