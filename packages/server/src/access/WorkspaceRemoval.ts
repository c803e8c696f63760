/**
 * Deletes workspaces, and what belongs to them. Each folder deletes its own part.
 *
 * A workspace that still has keys, files or unfinished requests is not deleted, so that nobody
 * loses what is in use. Its credits become those of the organization's default workspace. Its
 * provider keys, broadcast destinations and webhook secrets are deleted with it, and webhooks that
 * were not delivered are given up. Its guardrails stay, because keys of other workspaces may have
 * them, and are then listed in no workspace.
 *
 * Its video jobs and webhook deliveries may be many, so {@link purge} deletes them later, in small
 * batches. It also deletes what a request that ran at the same time has added. The row of the
 * workspace stays, because the credit ledger and deleted keys refer to it.
 */
import { Clock, Data, type Duration, Effect, type Layer } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Credits from "../accounting/Credits.ts"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { type WorkspacePart, WorkspaceParts } from "../storage/sql/WorkspacePart.ts"
import { table, type Workspace, WorkspaceNotFound } from "./Workspace.ts"

/** The workspace cannot be deleted now (status 400). The message says why. */
export class WorkspaceInUse extends Data.TaggedError("WorkspaceInUse")<{
  readonly id: string
  readonly message: string
}> {}

/**
 * How long a job or a delivery is kept after its end, in milliseconds. A worker may still be busy
 * with it.
 */
const settledWithin = 3_600_000

/** Makes the deletion. It runs in the transaction of the caller. */
export const make = (sql: SqlClient, random: SecureRandom["Service"], parts: ReadonlyArray<WorkspacePart>) => {
  const credits = Credits.make(sql, random)
  const inUse = (id: string, message: string) => Effect.fail(new WorkspaceInUse({ id, message }))

  const read = Effect.fnUntraced(function* (id: string) {
    const [row] = yield* sql`SELECT * FROM workspaces WHERE id = ${id} AND deleted_at IS NULL`
    return row === undefined ? yield* new WorkspaceNotFound({ id }) : table.read(row)
  })

  const check = Effect.fnUntraced(function* (workspace: Workspace) {
    for (const part of parts) {
      const reason = part.inUse === undefined ? undefined : yield* part.inUse(workspace)
      if (reason !== undefined) return yield* inUse(workspace.id, reason)
    }
  })

  const moveCredits = Effect.fnUntraced(
    function* ({ balance, id, name }: Workspace, main: string, actor: string | undefined) {
      if (balance === 0) return
      const moved = { kind: "moved" as const, actor }
      yield* credits.add(main, balance, { ...moved, note: `of the deleted workspace ${name}` })
      yield* credits.add(id, MicroCredits.subtract(MicroCredits.zero, balance), { ...moved, note: "deleted" })
    },
    (moved, { id }) =>
      Effect.catchTag(moved, "BalanceOutOfRange", () =>
        inUse(id, "The default workspace cannot count the credits of this one too.")
      )
  )

  return Effect.fnUntraced(function* ({ id, isDefault, organizationId }: Workspace, actor?: string) {
    if (isDefault) return yield* inUse(id, "The default workspace cannot be deleted.")
    const [row] = yield* sql`SELECT id FROM workspaces WHERE organization_id = ${organizationId} AND is_default = 1`
    if (row === undefined) return yield* inUse(id, "The organization has no default workspace to take the credits.")
    const main = Dialect.text(row, "id")
    // In the order in which paid requests lock them.
    yield* Dialect.lock(sql, sql`SELECT 1 FROM workspaces WHERE ${sql.in("id", [id, main])} ORDER BY id`)
    const workspace = yield* read(id)
    yield* check(workspace)
    yield* moveCredits(workspace, main, actor)
    const now = yield* Clock.currentTimeMillis
    for (const { remove } of parts) if (remove !== undefined) yield* remove(workspace, now)
    yield* sql`UPDATE workspaces SET deleted_at = ${now}, updated_at = ${now} WHERE id = ${id}`
  })
}

/**
 * Deletes what is left of deleted workspaces. Returns the number of rows that were deleted in
 * batches.
 */
export const purge: Effect.Effect<number, StorageError, SqlClient | WorkspaceParts> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const parts = yield* WorkspaceParts

  const empty = Effect.fnUntraced(function* (workspace: Workspace, deletedAt: number) {
    const { id } = workspace
    const now = yield* Clock.currentTimeMillis
    const end = now - settledWithin
    let deleted = 0
    let isEmpty = true
    for (const part of parts) {
      if (part.remove !== undefined) yield* part.remove(workspace, now)
      if (part.purge !== undefined) deleted += yield* part.purge(id, end)
      if (part.isEmpty !== undefined) isEmpty = (yield* part.isEmpty(id)) && isEmpty
    }
    if (isEmpty && deletedAt <= end) yield* sql`UPDATE workspaces SET emptied_at = ${now} WHERE id = ${id}`
    return deleted
  })

  const rows = yield* sql`SELECT * FROM workspaces WHERE deleted_at > 0 AND emptied_at IS NULL`
  let total = 0
  for (const row of rows) {
    const workspace = table.read(row)
    total += yield* empty(workspace, workspace.deletedAt ?? 0)
  }
  return total
}).pipe(mapSqlError("WorkspaceRemoval.purge"), Effect.withSpan("WorkspaceRemoval.purge"))

/** Purges in the background, at the start and then at an interval (default: 10 minutes). */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, SqlClient | WorkspaceParts> =>
  Background.layer({
    work: purge,
    every: options?.every ?? "10 minutes",
    failure: "What belonged to deleted workspaces could not be deleted"
  })
