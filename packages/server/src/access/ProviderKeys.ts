/**
 * The provider keys that the callers of a workspace have stored.
 *
 * Secrets are encrypted by the {@link Vault}. The keys of a workspace are cached for a few seconds,
 * like callers in `CallerCache`: a change made in this process takes effect immediately, one made
 * in another process within that time.
 */
import type { Credential } from "@model-gateway/offers/Offer"
import { Clock, Context, Data, Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Change from "../internal/Change.ts"
import * as ShortCache from "../internal/ShortCache.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import type * as Table from "../storage/sql/Table.ts"
import { defaults, keyRow, labelOf, type Options, type ProviderKey, sealedRow, table } from "./ProviderKey.ts"
import { mapVaultError, type Owner, type Sealed, Vault } from "./Vault.ts"
import * as Workspace from "./Workspace.ts"

export type { Options, ProviderKey } from "./ProviderKey.ts"

/** A provider key that requests of the workspace may use. */
export interface UsableProviderKey extends ProviderKey {
  /** Undefined if the secret cannot be decrypted. The log says why. */
  readonly credential: Credential | undefined
}

/** A provider key to store. Absent options are false, or null. */
export interface CreateProviderKey extends Table.Change<Options> {
  readonly organizationId: string
  readonly workspaceId: string
  readonly provider: string
  readonly secret: Redacted.Redacted<string>
}

/** A change. Absent fields stay as they are. */
export interface UpdateProviderKey extends Table.Change<Options> {
  readonly sortOrder?: number | undefined
  readonly secret?: Redacted.Redacted<string> | undefined
}

/** The organization has no such provider key (status 404). */
export class ProviderKeyNotFound extends Data.TaggedError("ProviderKeyNotFound")<{ readonly id: string }> {
  override readonly message = "There is no such provider key."
}

/** The options are not allowed (status 400). */
export class InvalidProviderKey extends Data.TaggedError("InvalidProviderKey")<{
  /** The field on the wire. */
  readonly path: string
  readonly message: string
}> {}

/** The provider keys that a workspace can have. */
export const maxKeys = 100

const credentialPrefix = "byok_"

/** The id of the provider key that a credential is. Undefined: it is none. */
export const keyIdOf = (credential: Pick<Credential, "id">): string | undefined =>
  isProviderKey(credential) ? credential.id.slice(credentialPrefix.length) : undefined

/** Whether a credential of a request or a job is a provider key. */
export const isProviderKey = ({ id }: Pick<Credential, "id">): boolean => id.startsWith(credentialPrefix)

/** What the secret of a provider key belongs to. */
const ownerOf = ({ provider, workspaceId }: Pick<ProviderKey, "provider" | "workspaceId">): Owner => ({
  workspaceId,
  purpose: provider
})

/** The end of a call with a provider key. */
export interface Use {
  /** In epoch milliseconds. */
  readonly at: number
  /** `Success`, or the reason why it failed. */
  readonly outcome: string
  /** The HTTP status of the provider's error. */
  readonly status: number | undefined
}

/** The service. */
export class ProviderKeys extends Context.Service<
  ProviderKeys,
  {
    readonly create: (
      input: CreateProviderKey
    ) => Effect.Effect<ProviderKey, InvalidProviderKey | Workspace.WorkspaceNotFound | StorageError>
    readonly get: (organizationId: string, id: string) => Effect.Effect<ProviderKey, ProviderKeyNotFound | StorageError>
    /** All of a workspace, in the order of creation: at most {@link maxKeys}. */
    readonly list: (workspaceId: string) => Effect.Effect<ReadonlyArray<ProviderKey>, StorageError>
    readonly update: (
      organizationId: string,
      id: string,
      change: UpdateProviderKey
    ) => Effect.Effect<ProviderKey, InvalidProviderKey | ProviderKeyNotFound | StorageError>
    /** Deletes the key. Its secret is gone; video jobs that use it fail. */
    readonly remove: (organizationId: string, id: string) => Effect.Effect<void, ProviderKeyNotFound | StorageError>
    /** The keys of a workspace that are not disabled, in the order to try. */
    readonly usable: (workspaceId: string) => Effect.Effect<ReadonlyArray<UsableProviderKey>, StorageError>
    /**
     * The credential that a job of the workspace was submitted with. Undefined if its key was
     * deleted. A disabled key still finishes its jobs.
     */
    readonly credential: (
      workspaceId: string,
      credentialId: string
    ) => Effect.Effect<Credential | undefined, StorageError>
    /** The credential of a key, also of a disabled one. Undefined if it cannot be decrypted. */
    readonly credentialOf: (
      organizationId: string,
      id: string
    ) => Effect.Effect<Credential | undefined, ProviderKeyNotFound | StorageError>
    /** Writes how keys were used last, unless the database knows of a later use. */
    readonly used: (uses: ReadonlyMap<string, Use>) => Effect.Effect<void, StorageError>
    /** Encrypts every data key with the current master key. Returns how many were not yet. */
    readonly rewrap: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/access/ProviderKeys") {}

/** Below the number of parameters that every database accepts in one statement. */
const chunkSize = 500

/** The ids of the master keys that encrypted them. */
export const masterKeyIds = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT DISTINCT master_key_id FROM provider_keys`
  return rows.map((row) => Dialect.text(row, "master_key_id"))
}).pipe(mapSqlError("ProviderKeys.masterKeyIds"))

/** Makes the service over the database and the vault in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const vault = yield* Vault

  const rowsOf = (workspaceId: string) =>
    sql`SELECT * FROM provider_keys WHERE workspace_id = ${workspaceId} ORDER BY created_at, id`

  const lock = (id: string) => Dialect.lock(sql, sql`SELECT 1 FROM provider_keys WHERE id = ${id}`)

  const find = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const [row] = yield* sql`SELECT * FROM provider_keys WHERE id = ${id}`
    return row === undefined || row.organization_id !== organizationId
      ? yield* new ProviderKeyNotFound({ id })
      : keyRow(row)
  })

  /** The row's secret as a credential. Undefined if it cannot be decrypted. */
  const credentialOf = Effect.fnUntraced(function* (row: Row) {
    const { id, provider, workspaceId } = keyRow(row)
    return yield* vault.open(sealedRow(row), ownerOf({ provider, workspaceId })).pipe(
      Effect.map((secret): Credential => ({ id: `${credentialPrefix}${id}`, secret })),
      Effect.catch(({ message }) =>
        Effect.as(
          FailureLog.report({
            kind: `vault\n${message}`,
            event: "secret_unreadable",
            message,
            annotations: { provider, provider_key: id }
          }),
          undefined
        )
      )
    )
  })

  const cache = yield* ShortCache.make(
    Effect.fnUntraced(function* (workspaceId: string) {
      const rows = (yield* rowsOf(workspaceId)).filter((row) => !Dialect.bool(row, "disabled"))
      const keys = yield* Effect.forEach(rows, (row) =>
        Effect.map(credentialOf(row), (credential): UsableProviderKey => ({ ...keyRow(row), credential }))
      )
      return keys.toSorted((a, b) => a.sortOrder - b.sortOrder)
    }, mapSqlError("ProviderKeys.usable"))
  )

  /** Rejects options that contradict each other, and unknown API keys. */
  const check = Effect.fnUntraced(function* (organizationId: string, options: Options) {
    if (options.isByokOnly && options.isFallback) {
      return yield* new InvalidProviderKey({
        path: "is_byok_only",
        message: "Cannot be combined with is_fallback"
      })
    }
    const hashes = [...new Set(options.allowedKeys ?? [])]
    for (let at = 0; at < hashes.length; at += chunkSize) {
      const some = hashes.slice(at, at + chunkSize)
      const rows =
        yield* sql`SELECT hash, organization_id FROM keys WHERE deleted_at IS NULL AND ${sql.in("hash", some)}`
      const known = new Set(rows.filter((row) => row.organization_id === organizationId).map(({ hash }) => hash))
      if (some.some((hash) => !known.has(hash))) {
        return yield* new InvalidProviderKey({
          path: "allowed_api_key_hashes",
          message: "Expected hashes of API keys of this organization"
        })
      }
    }
  })

  const insert = Effect.fnUntraced(function* (
    { organizationId, provider, secret, workspaceId }: CreateProviderKey,
    options: Options,
    sealed: Sealed
  ) {
    yield* Workspace.lock(sql, workspaceId)
    const stored = (yield* rowsOf(workspaceId)).map(keyRow)
    if (stored.length >= maxKeys) {
      return yield* new InvalidProviderKey({
        path: "workspace_id",
        message: `The workspace already has ${maxKeys} provider keys. Delete one first`
      })
    }
    const now = yield* Clock.currentTimeMillis
    const id = yield* random.uuidV4()
    const places = stored.filter((key) => key.provider === provider).map(({ sortOrder }) => sortOrder + 1)
    const key = table.insert({
      ...options,
      ...sealed,
      id,
      organizationId,
      workspaceId,
      provider,
      label: labelOf(Redacted.value(secret)),
      sortOrder: Math.max(0, ...places),
      createdAt: now,
      updatedAt: now
    })
    yield* sql`INSERT INTO provider_keys ${sql.insert(key)}`
    yield* sql.afterCommit(cache.evict(workspaceId))
    return yield* Effect.catchTag(find(organizationId, id), "ProviderKeyNotFound", Effect.die)
  }, sql.withTransaction)

  const create = Effect.fn("ProviderKeys.create")(
    function* (input: CreateProviderKey) {
      const options = Change.apply(defaults, input)
      yield* check(input.organizationId, options)
      // Before the transaction: the vault may need another connection, and the workspace must not
      // wait for it.
      const sealed = yield* vault.seal(input.secret, ownerOf(input))
      return yield* insert(input, options, sealed)
    },
    mapVaultError("ProviderKeys.create"),
    mapSqlError("ProviderKeys.create")
  )

  const update = Effect.fn("ProviderKeys.update")(
    function* (organizationId: string, id: string, { secret, ...change }: UpdateProviderKey) {
      yield* lock(id)
      const before = yield* find(organizationId, id)
      yield* check(organizationId, Change.apply(before, change))
      const replaced =
        secret === undefined
          ? {}
          : {
              label: labelOf(Redacted.value(secret)),
              // Another secret, which was not used yet.
              usedAt: null,
              outcome: null,
              outcomeStatus: null,
              ...(yield* vault.seal(secret, ownerOf(before)))
            }
      const columns = table.update({ ...change, ...replaced, updatedAt: yield* Clock.currentTimeMillis })
      yield* sql`UPDATE provider_keys SET ${sql.update(columns)} WHERE id = ${id}`
      yield* sql.afterCommit(cache.evict(before.workspaceId))
      return yield* find(organizationId, id)
    },
    sql.withTransaction,
    mapVaultError("ProviderKeys.update"),
    mapSqlError("ProviderKeys.update")
  )

  const remove = Effect.fn("ProviderKeys.remove")(
    function* (organizationId: string, id: string) {
      yield* lock(id)
      const { workspaceId } = yield* find(organizationId, id)
      yield* sql`DELETE FROM provider_keys WHERE id = ${id}`
      yield* sql.afterCommit(cache.evict(workspaceId))
    },
    sql.withTransaction,
    mapSqlError("ProviderKeys.remove")
  )

  const credential = Effect.fnUntraced(function* (workspaceId: string, credentialId: string) {
    const id = keyIdOf({ id: credentialId })
    if (id === undefined) return undefined
    const [row] = yield* sql`SELECT * FROM provider_keys WHERE id = ${id}`
    return row === undefined || row.workspace_id !== workspaceId ? undefined : yield* credentialOf(row)
  }, mapSqlError("ProviderKeys.credential"))

  const rewrapped = Effect.fnUntraced(function* (id: string) {
    yield* lock(id)
    const [row] = yield* sql`SELECT * FROM provider_keys WHERE id = ${id}`
    if (row === undefined) return false
    const sealed = yield* vault.rewrap(sealedRow(row), ownerOf(keyRow(row)))
    if (sealed === undefined) return false
    yield* sql`UPDATE provider_keys SET ${sql.update(table.update(sealed))} WHERE id = ${id}`
    return true
  }, sql.withTransaction)

  const rewrap = Effect.gen(function* () {
    const rows = yield* sql`SELECT id FROM provider_keys ORDER BY id`
    const changes = yield* Effect.forEach(rows, (row) => rewrapped(Dialect.text(row, "id")))
    return changes.filter((changed) => changed).length
  }).pipe(
    mapVaultError("ProviderKeys.rewrap"),
    mapSqlError("ProviderKeys.rewrap"),
    Effect.withSpan("ProviderKeys.rewrap")
  )

  return ProviderKeys.of({
    create,
    get: (organizationId, id) => find(organizationId, id).pipe(mapSqlError("ProviderKeys.get")),
    list: (workspaceId) =>
      Effect.map(rowsOf(workspaceId), (rows) => rows.map(keyRow)).pipe(mapSqlError("ProviderKeys.list")),
    update,
    remove,
    usable: cache.get,
    credential,
    credentialOf: Effect.fnUntraced(function* (organizationId: string, id: string) {
      const [row] = yield* sql`SELECT * FROM provider_keys WHERE id = ${id} AND organization_id = ${organizationId}`
      return row === undefined ? yield* new ProviderKeyNotFound({ id }) : yield* credentialOf(row)
    }, mapSqlError("ProviderKeys.credentialOf")),
    used: Effect.fn("ProviderKeys.used")(
      function* (uses: ReadonlyMap<string, Use>) {
        // All processes lock the rows in one order, which prevents deadlocks.
        const sorted = [...uses].toSorted(([one], [other]) => (one < other ? -1 : 1))
        for (const [id, { at, outcome, status = null }] of sorted) {
          yield* sql`UPDATE provider_keys SET used_at = ${at}, outcome = ${outcome}, outcome_status = ${status}
            WHERE id = ${id} AND (used_at IS NULL OR used_at < ${at})`
        }
      },
      sql.withTransaction,
      mapSqlError("ProviderKeys.used")
    ),
    rewrap
  })
})

/** The service over the database. */
export const layerSql: Layer.Layer<ProviderKeys, never, SqlClient | SecureRandom | Vault> = Layer.effect(
  ProviderKeys,
  make
)
