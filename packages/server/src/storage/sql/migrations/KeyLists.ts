/**
 * What the published shape of a key needs: the end user whom it was created for, and indexes for
 * lists without disabled keys.
 *
 * A page of these lists skips a number of keys. Each index also contains the columns of its own
 * condition, because SQLite checks the condition again: without them it would read the row of every
 * skipped key.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the column, and replaces and adds the indexes. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE keys ADD COLUMN external_user TEXT`
  yield* sql`DROP INDEX keys_organization`
  yield* sql`CREATE INDEX keys_organization ON keys (organization_id, created_at, hash, deleted_at)
    WHERE deleted_at IS NULL`
  yield* sql`DROP INDEX keys_workspace`
  yield* sql`CREATE INDEX keys_workspace ON keys (organization_id, workspace_id, created_at, hash, deleted_at)
    WHERE deleted_at IS NULL`
  yield* sql`CREATE INDEX keys_organization_enabled ON keys (organization_id, created_at, hash, deleted_at, disabled)
    WHERE deleted_at IS NULL AND disabled = 0`
  yield* sql`CREATE INDEX keys_workspace_enabled ON keys (organization_id, workspace_id, created_at, hash, deleted_at, disabled)
    WHERE deleted_at IS NULL AND disabled = 0`
})
