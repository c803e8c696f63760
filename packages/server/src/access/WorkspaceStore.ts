/**
 * The workspaces of an organization, who may act in which, and the first ones of a new database.
 *
 * An ordinary key is a member of its own workspace, a management key of all workspaces of its
 * organization, or of those that it is restricted to.
 */
import type { DeletionShape } from "@model-gateway/core/Files"
import { Clock, Context, Data, Effect, Layer, type Redacted } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Credits from "../accounting/Credits.ts"
import type { Key } from "./Key.ts"
import type { GeneratedKey } from "./KeyFormat.ts"
import { KeyRecord } from "./KeyRecord.ts"
import { KeyStore } from "./KeyStore.ts"
import * as Permission from "./Permission.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Milestones from "../storage/sql/Milestones.ts"
import * as Page from "../storage/sql/Page.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import type * as Table from "../storage/sql/Table.ts"
import { table, type Workspace, WorkspaceNotFound } from "./Workspace.ts"
import { WorkspaceParts } from "../storage/sql/WorkspacePart.ts"
import * as WorkspaceRemoval from "./WorkspaceRemoval.ts"

export { type Workspace, WorkspaceNotFound } from "./Workspace.ts"
export { WorkspaceInUse } from "./WorkspaceRemoval.ts"

/** The maximum number of workspaces of an organization. A list reads them all. */
export const maxPerOrganization = 1000

/** A new workspace. It has no credits. */
export interface CreateWorkspace {
  readonly name: string
  /** Lower-case letters, digits and hyphens, but no UUID. */
  readonly slug: string
  /** Default: null. */
  readonly description?: string | null | undefined
  /** Default: null. */
  readonly defaultCallbackUrl?: string | null | undefined
  /** Default: `native`. */
  readonly fileShape?: DeletionShape | undefined
  /** Default: null. */
  readonly createdBy?: string | null | undefined
}

/** A change to a workspace. Absent fields stay as they are. */
export type UpdateWorkspace = Table.Change<
  Pick<Workspace, "name" | "slug" | "description" | "defaultCallbackUrl" | "fileShape">
>

/** The result of the first run. The plain keys are shown once and cannot be read again. */
export interface Bootstrapped {
  readonly workspace: Workspace
  readonly managementKey: Redacted.Redacted<string>
  readonly ordinaryKey: Redacted.Redacted<string>
}

/** What became of a management key that the operator provides. */
export interface BootstrappedWith {
  readonly workspace: Workspace
  /**
   * `created`: this is the first run, and the key is the first one. `accepted`: an earlier run, or
   * another process, has created it. `refused`: the database had other first keys, or the key was
   * revoked, disabled or has expired. Nothing was changed.
   */
  readonly state: "created" | "accepted" | "refused"
}

/** Options of the first run. */
export interface BootstrapOptions {
  /** Credits of the default workspace. Default: 10 credits. */
  readonly credits?: MicroCredits.MicroCredits | undefined
  /** Whether the ordinary key is of the free tier. Default: false. */
  readonly isFreeTier?: boolean | undefined
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

/** Another workspace of the organization has the slug (status 400). */
export class SlugTaken extends Data.TaggedError("SlugTaken")<{ readonly slug: string }> {
  override readonly message = "Another workspace of the organization has this slug."
}

/** The organization has {@link maxPerOrganization} workspaces (status 400). */
export class TooManyWorkspaces extends Data.TaggedError("TooManyWorkspaces")<{ readonly organizationId: string }> {
  override readonly message = `An organization has at most ${maxPerOrganization} workspaces.`
}

/** The workspace service. */
export class WorkspaceStore extends Context.Service<
  WorkspaceStore,
  {
    /** A workspace by its id or its slug. */
    readonly get: (organizationId: string, ref: string) => Effect.Effect<Workspace, WorkspaceNotFound | StorageError>
    /**
     * A workspace by its id only, also a deleted one: for the command line and for jobs, which act
     * for the operator.
     */
    readonly find: (id: string) => Effect.Effect<Workspace, WorkspaceNotFound | StorageError>
    /** In the order of creation. Only those with these ids; default: all. */
    readonly list: (
      organizationId: string,
      request?: Page.OffsetRequest,
      ids?: ReadonlyArray<string>
    ) => Effect.Effect<Page.CountedPage<Workspace>, StorageError>
    readonly create: (
      organizationId: string,
      input: CreateWorkspace
    ) => Effect.Effect<Workspace, SlugTaken | TooManyWorkspaces | StorageError>
    readonly update: (
      organizationId: string,
      ref: string,
      change: UpdateWorkspace
    ) => Effect.Effect<Workspace, SlugTaken | WorkspaceNotFound | StorageError>
    /**
     * Deletes a workspace permanently: see {@link WorkspaceRemoval}. Its credits become those of
     * the default workspace. `actor` is the hash of the management key that does it.
     */
    readonly remove: (
      organizationId: string,
      ref: string,
      actor?: string
    ) => Effect.Effect<void, WorkspaceRemoval.WorkspaceInUse | WorkspaceNotFound | StorageError>
    /**
     * The workspace of a request: the one it names, or the caller's default (an ordinary key's own,
     * or the default of a management key's organization; if a key is restricted to other
     * workspaces, the first of those). Fails with {@link NotAMember} if the caller may not act
     * there.
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
    /**
     * As `bootstrap`, with a management key that the operator provides. It creates no other key,
     * and on later runs none at all.
     */
    readonly bootstrapWith: (
      managementKey: GeneratedKey,
      options?: Pick<BootstrapOptions, "credits">
    ) => Effect.Effect<BootstrappedWith, StorageError>
  }
>()("@model-gateway/server/access/WorkspaceStore") {}

const isUuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/

const defaultCredits = MicroCredits.make(10 * MicroCredits.perCredit)

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const keys = yield* KeyStore
  const record = yield* KeyRecord
  const credits = Credits.make(sql, random)

  const find = Effect.fnUntraced(function* (id: string) {
    const [row] = yield* sql`SELECT * FROM workspaces WHERE id = ${id}`
    return row === undefined ? yield* new WorkspaceNotFound({ id }) : table.read(row)
  })

  const bySlug = Effect.fnUntraced(function* (organizationId: string, slug: string) {
    const [row] = yield* sql`SELECT * FROM workspaces
      WHERE organization_id = ${organizationId} AND slug = ${slug} AND deleted_at IS NULL`
    return row
  })

  const byId = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const [row] = yield* sql`SELECT * FROM workspaces WHERE id = ${id} AND deleted_at IS NULL`
    return row?.organization_id === organizationId ? row : undefined
  })

  const get = Effect.fnUntraced(function* (organizationId: string, ref: string) {
    const row = yield* (isUuid.test(ref) ? byId : bySlug)(organizationId, ref)
    return row === undefined ? yield* new WorkspaceNotFound({ id: ref }) : table.read(row)
  })

  /** Slugs are unique in an organization, so one transaction at a time chooses one. */
  const lockOrganization = (id: string) => Dialect.lock(sql, sql`SELECT 1 FROM organizations WHERE id = ${id}`)

  const allOf = (organizationId: string) =>
    sql`SELECT * FROM workspaces WHERE organization_id = ${organizationId} AND deleted_at IS NULL
      ORDER BY created_at, id`

  const insert = Effect.fnUntraced(function* (
    organizationId: string,
    input: CreateWorkspace & { readonly isDefault: boolean; readonly credits: MicroCredits.MicroCredits }
  ) {
    const now = yield* Clock.currentTimeMillis
    const id = yield* random.uuidV4()
    const workspace = table.insert({
      ...input,
      id,
      organizationId,
      fileShape: input.fileShape ?? "native",
      balance: MicroCredits.zero,
      reserved: MicroCredits.zero,
      createdAt: now,
      updatedAt: now
    })
    yield* sql`INSERT INTO workspaces ${sql.insert(workspace)}`
    if (input.credits !== 0) {
      yield* Effect.catchTag(
        credits.add(id, input.credits, { kind: "initial", note: "first run" }),
        "BalanceOutOfRange",
        Effect.die
      )
    }
    return yield* Effect.catchTag(find(id), "WorkspaceNotFound", Effect.die)
  })

  const create = Effect.fn("WorkspaceStore.create")(
    function* (organizationId: string, input: CreateWorkspace) {
      yield* lockOrganization(organizationId)
      const total = (yield* allOf(organizationId)).length
      if (total >= maxPerOrganization) return yield* new TooManyWorkspaces({ organizationId })
      if ((yield* bySlug(organizationId, input.slug)) !== undefined) return yield* new SlugTaken({ slug: input.slug })
      return yield* insert(organizationId, { ...input, isDefault: false, credits: MicroCredits.zero })
    },
    sql.withTransaction,
    mapSqlError("WorkspaceStore.create")
  )

  const list = Effect.fn("WorkspaceStore.list")(function* (
    organizationId: string,
    request?: Page.OffsetRequest,
    ids?: ReadonlyArray<string>
  ) {
    // At most maxPerOrganization rows.
    const all = (yield* allOf(organizationId)).filter(
      (row) => ids === undefined || ids.includes(Dialect.text(row, "id"))
    )
    const { items, totalCount } = Page.ofAll(all, request)
    return { items: items.map(table.read), totalCount }
  }, mapSqlError("WorkspaceStore.list"))

  const update = Effect.fn("WorkspaceStore.update")(
    function* (organizationId: string, ref: string, change: UpdateWorkspace) {
      if (change.slug !== undefined) yield* lockOrganization(organizationId)
      const { id } = yield* get(organizationId, ref)
      yield* Dialect.lock(sql, sql`SELECT 1 FROM workspaces WHERE id = ${id}`)
      const before = yield* get(organizationId, id)
      const slug = change.slug ?? before.slug
      if (slug !== before.slug && (yield* bySlug(organizationId, slug)) !== undefined) {
        return yield* new SlugTaken({ slug })
      }
      const columns = table.update({ ...change, updatedAt: yield* Clock.currentTimeMillis })
      yield* sql`UPDATE workspaces SET ${sql.update(columns)} WHERE id = ${id}`
      return yield* find(id)
    },
    sql.withTransaction,
    mapSqlError("WorkspaceStore.update")
  )

  const removal = WorkspaceRemoval.make(sql, random, yield* WorkspaceParts)

  const remove = Effect.fn("WorkspaceStore.remove")(
    function* (organizationId: string, ref: string, actor?: string) {
      yield* removal(yield* get(organizationId, ref), actor)
    },
    sql.withTransaction,
    mapSqlError("WorkspaceStore.remove")
  )

  const defaultOf = Effect.fnUntraced(function* (organizationId: string) {
    const [row] = yield* sql`SELECT * FROM workspaces WHERE organization_id = ${organizationId} AND is_default = 1`
    return row === undefined ? undefined : table.read(row)
  })

  const resolve = Effect.fnUntraced(
    function* (key: Key, workspaceId?: string) {
      if (key.isManagement && workspaceId === undefined) {
        const workspace = yield* defaultOf(key.organizationId)
        if (workspace !== undefined && Permission.sees(key, workspace.id)) return workspace
      }
      // UUIDs are case-insensitive.
      const id = workspaceId?.toLowerCase() ?? key.workspaceIds?.[0] ?? key.workspaceId
      // Check before the lookup, so that the response does not reveal whether the workspace exists.
      if (!(key.isManagement ? Permission.sees(key, id) : id === key.workspaceId))
        return yield* new NotAMember({ workspaceId: id })
      return yield* get(key.organizationId, id)
    },
    Effect.catchTag("WorkspaceNotFound", ({ id }) => Effect.fail(new NotAMember({ workspaceId: id }))),
    mapSqlError("WorkspaceStore.resolve")
  )

  const first = Effect.fnUntraced(function* (options?: BootstrapOptions) {
    if (yield* Milestones.reach(sql, "default-workspace")) {
      const organizationId = yield* random.uuidV4()
      const now = yield* Clock.currentTimeMillis
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES (${organizationId}, ${"Default"}, ${now})`
      return yield* insert(organizationId, {
        name: "Default",
        slug: "default",
        isDefault: true,
        credits: options?.credits ?? defaultCredits
      })
    }
    const [row] = yield* sql`SELECT w.* FROM workspaces w JOIN organizations o ON o.id = w.organization_id
      WHERE w.is_default = 1 ORDER BY o.created_at, o.id LIMIT 1`
    return row === undefined ? yield* Effect.die(new Error("The default workspace is missing")) : table.read(row)
  })

  const ensureDefault = Effect.fn("WorkspaceStore.ensureDefault")(
    function* (options?: BootstrapOptions) {
      return yield* first(options)
    },
    sql.withTransaction,
    mapSqlError("WorkspaceStore.ensureDefault")
  )

  /** The default workspace, and whether the caller is the first to create keys. */
  const begin = Effect.fnUntraced(function* (options?: BootstrapOptions) {
    const workspace = yield* first(options)
    return { workspace, isFirst: yield* Milestones.reach(sql, "first-keys") }
  })

  // Without a user: the account that runs a service is no person, and the management key may name
  // the user of each key that it creates.
  const createFirst = (key: Parameters<typeof keys.create>[0]) => Effect.tap(keys.create(key), ({ key }) => record(key))

  const createManagementKey = ({ id: workspaceId, organizationId }: Workspace, generated?: GeneratedKey) =>
    createFirst({ organizationId, workspaceId, name: "First management key", isManagement: true, generated })

  const bootstrap = Effect.fn("WorkspaceStore.bootstrap")(
    function* (options?: BootstrapOptions) {
      const { isFirst, workspace } = yield* begin(options)
      if (!isFirst) return null
      const management = yield* createManagementKey(workspace)
      const ordinary = yield* createFirst({
        organizationId: workspace.organizationId,
        workspaceId: workspace.id,
        name: "First key",
        isFreeTier: options?.isFreeTier
      })
      return { workspace, managementKey: management.plain, ordinaryKey: ordinary.plain }
    },
    sql.withTransaction,
    Effect.catchTags({ WorkspaceNotFound: Effect.die, ManagementKeyOfFreeTier: Effect.die }),
    mapSqlError("WorkspaceStore.bootstrap")
  )

  const beginWith = Effect.fnUntraced(function* (managementKey: GeneratedKey, options?: BootstrapOptions) {
    const begun = yield* begin(options)
    if (begun.isFirst) yield* createManagementKey(begun.workspace, managementKey)
    return begun
  }, sql.withTransaction)

  const bootstrapWith: WorkspaceStore["Service"]["bootstrapWith"] = Effect.fn("WorkspaceStore.bootstrapWith")(
    function* (managementKey, options) {
      if (managementKey.kind !== "management") return yield* Effect.die(new Error("The key is not a management key"))
      const { isFirst, workspace } = yield* beginWith(managementKey, options)
      if (isFirst) return { workspace, state: "created" as const }
      const state = yield* keys.authenticate(managementKey.key).pipe(
        Effect.as("accepted" as const),
        Effect.catchTag("InvalidKey", () => Effect.succeed("refused" as const))
      )
      return { workspace, state }
    },
    Effect.catchTags({ WorkspaceNotFound: Effect.die, ManagementKeyOfFreeTier: Effect.die }),
    mapSqlError("WorkspaceStore.bootstrapWith")
  )

  return WorkspaceStore.of({
    get: (organizationId, ref) => get(organizationId, ref).pipe(mapSqlError("WorkspaceStore.get")),
    find: (id) => find(id).pipe(mapSqlError("WorkspaceStore.find")),
    list,
    create,
    update,
    remove,
    resolve,
    ensureDefault,
    bootstrap,
    bootstrapWith
  })
})

/** The store over the database. */
export const layerSql: Layer.Layer<WorkspaceStore, never, SqlClient | SecureRandom | KeyStore | WorkspaceParts> =
  Layer.effect(WorkspaceStore, make)
