/**
 * What guardrails forbid, the workspace that each is listed in, and who assigned them when.
 *
 * Pages of guardrails are read by `guardrails_organization` and `guardrails_workspace`, pages of
 * assignments by `keys_guardrail` (of one guardrail) and `keys_guarded` (of an organization). The
 * last one has only keys with a guardrail.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns and the indexes. Existing guardrails are listed in no workspace. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE guardrails ADD COLUMN workspace_id TEXT REFERENCES workspaces (id) ON DELETE SET NULL`
  yield* sql`ALTER TABLE guardrails ADD COLUMN ignored_models TEXT`
  yield* sql`ALTER TABLE guardrails ADD COLUMN ignored_providers TEXT`
  yield* sql`CREATE INDEX guardrails_workspace ON guardrails (workspace_id, organization_id, created_at, id) WHERE workspace_id IS NOT NULL`
  yield* sql`ALTER TABLE keys ADD COLUMN guardrail_assigned_at BIGINT`
  yield* sql`ALTER TABLE keys ADD COLUMN guardrail_assigned_by TEXT`
  // An assignment changes `updated_at`, so it is the best time known of the existing ones.
  yield* sql`UPDATE keys SET guardrail_assigned_at = updated_at WHERE guardrail_id IS NOT NULL`
  yield* sql`DROP INDEX keys_guardrail`
  yield* sql`CREATE INDEX keys_guardrail ON keys (guardrail_id, guardrail_assigned_at, hash) WHERE guardrail_id IS NOT NULL`
  yield* sql`CREATE INDEX keys_guarded ON keys (organization_id, guardrail_assigned_at, hash, guardrail_id) WHERE guardrail_id IS NOT NULL`
})
