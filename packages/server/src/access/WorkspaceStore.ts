/**
 * The workspaces of an organization, who may act in which, and the first ones of a new database.
 *
 * An ordinary key is a member of its own workspace, a management key of all workspaces of its
 * organization.
 */
import { DeletionShape } from "@model-gateway/core/Files"
import { Clock, Context, Data, Effect, Layer, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import type { Key } from "./Key.ts"
import { KeyStore } from "./KeyStore.ts"
import * as Change from "../internal/Change.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"

/** A stored workspace. Times are epoch milliseconds, money is micro-credits. */
export interface Workspace {
  /** A UUID. */
  readonly id: string
  readonly organizationId: string
  readonly name: string
  /** The organization's workspace for callers that name none. */
  readonly isDefault: boolean
  /**
   * HTTPS URL that is notified of finished videos if the request names none. Null: no notification.
   */
  readonly defaultCallbackUrl: string | null
  /** Default: `native`. */
  readonly fileShape: DeletionShape
  readonly balance: MicroCredits.MicroCredits
  readonly createdAt: number
  readonly updatedAt: number
}

/** A change to a workspace. Absent fields stay as they are. */
export interface UpdateWorkspace {
  readonly name?: string | undefined
  readonly defaultCallbackUrl?: string | null | undefined
  readonly fileShape?: DeletionShape | undefined
}

/** The result of the first run. The plain keys are shown once and cannot be read again. */
export interface Bootstrapped {
  readonly workspace: Workspace
  readonly managementKey: Redacted.Redacted<string>
  readonly ordinaryKey: Redacted.Redacted<string>
}

/** Options of the first run. */
export interface BootstrapOptions {
  /** Credits of the default workspace. Default: 10 credits. */
  readonly credits?: MicroCredits.MicroCredits | undefined
}

/** The organization has no such workspace (status 404). */
export class WorkspaceNotFound extends Data.TaggedError("WorkspaceNotFound")<{
  readonly id: string
}> {
  override readonly message = "There is no such workspace."
}

/**
 * The caller is not a member of the workspace it named, or the workspace does not exist (status
 * 403). The error does not reveal which.
 */
export class NotAMember extends Data.TaggedError("NotAMember")<{
  readonly workspaceId: string
}> {
  override readonly message = "This key is not a member of the workspace."
}

/** The workspace service. */
export class WorkspaceStore extends Context.Service<
  WorkspaceStore,
  {
    readonly get: (organizationId: string, id: string) => Effect.Effect<Workspace, WorkspaceNotFound | StorageError>
    /**
     * A workspace by its id only: for the command line and for jobs, which act for the operator.
     */
    readonly find: (id: string) => Effect.Effect<Workspace, WorkspaceNotFound | StorageError>
    readonly create: (organizationId: string, name: string) => Effect.Effect<Workspace, StorageError>
    readonly update: (
      organizationId: string,
      id: string,
      change: UpdateWorkspace
    ) => Effect.Effect<Workspace, WorkspaceNotFound | StorageError>
    /**
     * The workspace of a request: the one it names, or the caller's default (an ordinary key's own,
     * or the default of a management key's organization). Fails with {@link NotAMember} if the
     * caller may not act there.
     */
    readonly resolve: (key: Key, workspaceId?: string) => Effect.Effect<Workspace, NotAMember | StorageError>
    /**
     * The first organization's default workspace, created with its credits if it does not exist.
     * The command line acts on it.
     */
    readonly ensureDefault: (options?: BootstrapOptions) => Effect.Effect<Workspace, StorageError>
    /**
     * On the first run, creates an organization, its default workspace with credits, a management
     * key and an ordinary key. Null on later runs, and for all but one of several processes that
     * try at once.
     */
    readonly bootstrap: (options?: BootstrapOptions) => Effect.Effect<Bootstrapped | null, StorageError>
  }
>()("@model-gateway/server/access/WorkspaceStore") {}

const defaultCredits = MicroCredits.make(10 * MicroCredits.perCredit)

const workspaceRow = (row: Row): Workspace => ({
  id: Dialect.text(row, "id"),
  organizationId: Dialect.text(row, "organization_id"),
  name: Dialect.text(row, "name"),
  isDefault: Dialect.bool(row, "is_default"),
  defaultCallbackUrl: Dialect.textOrNull(row, "default_callback_url"),
  fileShape: Dialect.oneOfOrNull(row, "file_shape", DeletionShape.literals) ?? "native",
  balance: MicroCredits.make(Dialect.int(row, "balance_micro")),
  createdAt: Dialect.int(row, "created_at"),
  updatedAt: Dialect.int(row, "updated_at")
})

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const keys = yield* KeyStore

  const find = Effect.fnUntraced(function* (id: string) {
    const [row] = yield* sql`SELECT * FROM workspaces WHERE id = ${id}`
    return row === undefined ? yield* new WorkspaceNotFound({ id }) : workspaceRow(row)
  })

  const get = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const workspace = yield* find(id)
    return workspace.organizationId === organizationId ? workspace : yield* new WorkspaceNotFound({ id })
  })

  const insert = Effect.fnUntraced(function* (
    organizationId: string,
    name: string,
    isDefault: boolean,
    credits: MicroCredits.MicroCredits
  ) {
    const now = yield* Clock.currentTimeMillis
    const id = yield* random.uuidV4()
    yield* sql`INSERT INTO workspaces ${sql.insert({
      id,
      organization_id: organizationId,
      name,
      is_default: Dialect.fromBool(isDefault),
      default_callback_url: null,
      file_shape: "native",
      balance_micro: credits,
      reserved_micro: 0,
      created_at: now,
      updated_at: now
    })}`
    if (credits !== 0) {
      yield* sql`INSERT INTO credit_ledger ${sql.insert({
        id: yield* random.uuidV7(),
        workspace_id: id,
        amount_micro: credits,
        balance_micro: credits,
        note: "first run",
        created_at: now
      })}`
    }
    return yield* Effect.catchTag(find(id), "WorkspaceNotFound", Effect.die)
  })

  const update = Effect.fn("WorkspaceStore.update")(
    function* (organizationId: string, id: string, change: UpdateWorkspace) {
      yield* Dialect.lock(sql, sql`SELECT 1 FROM workspaces WHERE id = ${id}`)
      const before = yield* get(organizationId, id)
      yield* sql`UPDATE workspaces SET ${sql.update({
        name: change.name ?? before.name,
        default_callback_url: Change.valueOf(change.defaultCallbackUrl, before.defaultCallbackUrl),
        file_shape: change.fileShape ?? before.fileShape,
        updated_at: yield* Clock.currentTimeMillis
      })} WHERE id = ${id}`
      return yield* find(id)
    },
    sql.withTransaction,
    mapSqlError("WorkspaceStore.update")
  )

  const defaultOf = Effect.fnUntraced(function* (organizationId: string) {
    const [row] = yield* sql`SELECT * FROM workspaces WHERE organization_id = ${organizationId} AND is_default = 1`
    return row === undefined ? undefined : workspaceRow(row)
  })

  const resolve = Effect.fnUntraced(
    function* (key: Key, workspaceId?: string) {
      if (key.isManagement && workspaceId === undefined) {
        const workspace = yield* defaultOf(key.organizationId)
        if (workspace !== undefined) return workspace
      }
      // UUIDs are case-insensitive.
      const id = workspaceId?.toLowerCase() ?? key.workspaceId
      // Check before the lookup, so that the response does not reveal whether the workspace exists.
      if (!key.isManagement && id !== key.workspaceId) return yield* new NotAMember({ workspaceId: id })
      return yield* get(key.organizationId, id)
    },
    Effect.catchTag("WorkspaceNotFound", ({ id }) => Effect.fail(new NotAMember({ workspaceId: id }))),
    mapSqlError("WorkspaceStore.resolve")
  )

  /**
   * Whether this transaction is the first to reach the milestone. Concurrent ones wait for it and
   * return false.
   */
  const reach = Effect.fnUntraced(function* (milestone: string) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`INSERT INTO milestones (name, reached_at) VALUES (${milestone}, ${now})
      ON CONFLICT (name) DO NOTHING RETURNING name`
    return rows.length > 0
  })

  const first = Effect.fnUntraced(function* (options?: BootstrapOptions) {
    if (yield* reach("default-workspace")) {
      const organizationId = yield* random.uuidV4()
      const now = yield* Clock.currentTimeMillis
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES (${organizationId}, ${"Default"}, ${now})`
      return yield* insert(organizationId, "Default", true, options?.credits ?? defaultCredits)
    }
    const [row] = yield* sql`SELECT w.* FROM workspaces w JOIN organizations o ON o.id = w.organization_id
      WHERE w.is_default = 1 ORDER BY o.created_at, o.id LIMIT 1`
    return row === undefined ? yield* Effect.die(new Error("The default workspace is missing")) : workspaceRow(row)
  })

  const ensureDefault = Effect.fn("WorkspaceStore.ensureDefault")(
    function* (options?: BootstrapOptions) {
      return yield* first(options)
    },
    sql.withTransaction,
    mapSqlError("WorkspaceStore.ensureDefault")
  )

  const bootstrap = Effect.fn("WorkspaceStore.bootstrap")(
    function* (options?: BootstrapOptions) {
      const workspace = yield* first(options)
      if (!(yield* reach("first-keys"))) return null
      const { id: workspaceId, organizationId } = workspace
      const management = yield* keys.create({
        organizationId,
        workspaceId,
        name: "First management key",
        isManagement: true
      })
      const ordinary = yield* keys.create({ organizationId, workspaceId, name: "First key" })
      return { workspace, managementKey: management.plain, ordinaryKey: ordinary.plain }
    },
    sql.withTransaction,
    mapSqlError("WorkspaceStore.bootstrap")
  )

  return WorkspaceStore.of({
    get: (organizationId, id) => get(organizationId, id).pipe(mapSqlError("WorkspaceStore.get")),
    find: (id) => find(id).pipe(mapSqlError("WorkspaceStore.find")),
    create: Effect.fn("WorkspaceStore.create")(
      function* (organizationId: string, name: string) {
        return yield* insert(organizationId, name, false, MicroCredits.zero)
      },
      sql.withTransaction,
      mapSqlError("WorkspaceStore.create")
    ),
    update,
    resolve,
    ensureDefault,
    bootstrap
  })
})

/** The store over the database. */
export const layerSql: Layer.Layer<WorkspaceStore, never, SqlClient | SecureRandom | KeyStore> = Layer.effect(
  WorkspaceStore,
  make
)
