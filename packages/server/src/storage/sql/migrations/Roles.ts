/** What a management key may do, and in which workspaces: a JSON list, or null for all. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. The keys that exist may do everything, as before. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE keys ADD COLUMN role TEXT NOT NULL DEFAULT 'admin'`
  yield* sql`ALTER TABLE keys ADD COLUMN workspace_ids TEXT`
  // The assigned keys of a workspace, in the order of their assignment.
  yield* sql`CREATE INDEX keys_guarded_workspace
    ON keys (organization_id, workspace_id, guardrail_assigned_at, hash, guardrail_id) WHERE guardrail_id IS NOT NULL`
})
