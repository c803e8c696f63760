/**
 * Deletes workspaces, and what belongs to them.
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
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
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
export const make = (sql: SqlClient, random: SecureRandom["Service"]) => {
  const credits = Credits.make(sql, random)
  const inUse = (id: string, message: string) => Effect.fail(new WorkspaceInUse({ id, message }))

  const read = Effect.fnUntraced(function* (id: string) {
    const [row] = yield* sql`SELECT * FROM workspaces WHERE id = ${id} AND deleted_at IS NULL`
    return row === undefined ? yield* new WorkspaceNotFound({ id }) : table.read(row)
  })

  const check = Effect.fnUntraced(function* ({ id, organizationId }: Workspace) {
    const keys = yield* sql`SELECT 1 FROM keys
      WHERE organization_id = ${organizationId} AND workspace_id = ${id} AND deleted_at IS NULL LIMIT 1`
    if (keys.length > 0) return yield* inUse(id, "The workspace has API keys. Delete them first, disabled ones too.")
    const files = yield* sql`SELECT 1 FROM files WHERE workspace_id = ${id} LIMIT 1`
    if (files.length > 0) return yield* inUse(id, "The workspace has files. Delete them first.")
    const open = yield* sql`SELECT 1 FROM intents WHERE workspace_id = ${id} AND state = 'open' LIMIT 1`
    if (open.length > 0) {
      return yield* inUse(id, "Requests or video jobs of the workspace are still running. Wait until they have ended.")
    }
  })

  const moveCredits = Effect.fnUntraced(
    function* ({ balance, id, name }: Workspace, main: string) {
      if (balance === 0) return
      yield* credits.add(main, balance, `of the deleted workspace ${name}`)
      yield* credits.add(id, MicroCredits.subtract(MicroCredits.zero, balance), "deleted")
    },
    (moved, { id }) =>
      Effect.catchTag(moved, "BalanceOutOfRange", () =>
        inUse(id, "The default workspace cannot count the credits of this one too.")
      )
  )

  return Effect.fnUntraced(function* ({ id, isDefault, organizationId }: Workspace) {
    if (isDefault) return yield* inUse(id, "The default workspace cannot be deleted.")
    const [row] = yield* sql`SELECT id FROM workspaces WHERE organization_id = ${organizationId} AND is_default = 1`
    if (row === undefined) return yield* inUse(id, "The organization has no default workspace to take the credits.")
    const main = Dialect.text(row, "id")
    // In the order in which paid requests lock them.
    yield* Dialect.lock(sql, sql`SELECT 1 FROM workspaces WHERE ${sql.in("id", [id, main])} ORDER BY id`)
    const workspace = yield* read(id)
    yield* check(workspace)
    yield* moveCredits(workspace, main)
    const now = yield* Clock.currentTimeMillis
    yield* sql`UPDATE guardrails SET workspace_id = NULL WHERE workspace_id = ${id}`
    yield* sql`DELETE FROM provider_keys WHERE workspace_id = ${id}`
    yield* sql`DELETE FROM destinations WHERE workspace_id = ${id}`
    yield* sql`DELETE FROM webhook_secrets WHERE workspace_id = ${id}`
    yield* sql`UPDATE webhook_deliveries SET status = 'failed', claim = NULL, due_at = NULL, finished_at = ${now}
      WHERE workspace_id = ${id} AND status = 'pending'`
    yield* sql`UPDATE workspaces SET deleted_at = ${now}, updated_at = ${now} WHERE id = ${id}`
  })
}

/** Deletes what is left of deleted workspaces. Returns the number of deleted video jobs. */
export const purge: Effect.Effect<number, StorageError, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const idsOf = (rows: ReadonlyArray<Record<string, unknown>>) => rows.map((row) => Dialect.text(row, "id"))

  const someDeliveries = (id: string, end: number) =>
    Effect.gen(function* () {
      const ids = idsOf(
        yield* sql`SELECT id FROM webhook_deliveries WHERE workspace_id = ${id} AND finished_at <= ${end}
        LIMIT ${Purge.atOnce} ${Dialect.locked(sql)}`
      )
      if (ids.length === 0) return 0
      yield* sql`DELETE FROM webhook_attempts WHERE ${sql.in("delivery_id", ids)}`
      yield* sql`DELETE FROM webhook_deliveries WHERE ${sql.in("id", ids)}`
      return ids.length
    }).pipe(sql.withTransaction)

  const someJobs = (id: string, end: number) =>
    Effect.gen(function* () {
      const ids = idsOf(
        yield* sql`SELECT id FROM video_jobs WHERE workspace_id = ${id} AND completed_at <= ${end}
        LIMIT ${Purge.atOnce} ${Dialect.locked(sql)}`
      )
      if (ids.length === 0) return 0
      yield* sql`DELETE FROM video_requests WHERE ${sql.in("job_id", ids)}`
      yield* sql`DELETE FROM video_jobs WHERE ${sql.in("id", ids)}`
      return ids.length
    }).pipe(sql.withTransaction)

  const empty = Effect.fnUntraced(function* (id: string, deletedAt: number) {
    const now = yield* Clock.currentTimeMillis
    const end = now - settledWithin
    yield* sql`UPDATE keys SET deleted_at = ${now}, guardrail_id = NULL WHERE workspace_id = ${id} AND organization_id = (
      SELECT organization_id FROM workspaces w WHERE w.id = ${id}) AND deleted_at IS NULL`
    // The object sweep removes their bytes.
    for (const table of ["files", "provider_keys", "destinations", "webhook_secrets"]) {
      yield* sql`DELETE FROM ${sql(table)} WHERE workspace_id = ${id}`
    }
    yield* sql`UPDATE guardrails SET workspace_id = NULL WHERE workspace_id = ${id}`
    yield* Purge.all(someDeliveries(id, end))
    const jobs = yield* Purge.all(someJobs(id, end))
    const left = yield* sql`SELECT 1 FROM video_jobs WHERE workspace_id = ${id} LIMIT 1`
    if (left.length === 0 && deletedAt <= end) {
      yield* sql`UPDATE workspaces SET emptied_at = ${now} WHERE id = ${id}`
    }
    return jobs
  })

  const deleted = yield* sql`SELECT id, deleted_at FROM workspaces WHERE deleted_at > 0 AND emptied_at IS NULL`
  let jobs = 0
  for (const row of deleted) jobs += yield* empty(Dialect.text(row, "id"), Dialect.int(row, "deleted_at"))
  return jobs
}).pipe(mapSqlError("WorkspaceRemoval.purge"), Effect.withSpan("WorkspaceRemoval.purge"))

/** Purges in the background, at the start and then at an interval (default: 10 minutes). */
export const layerPurge = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, SqlClient> =>
  Background.layerRepeating({
    work: purge,
    every: options?.every ?? "10 minutes",
    failure: "What belonged to deleted workspaces could not be deleted"
  })
