/**
 * Indexes for paging. Each contains exactly the rows of one list in its order, so that every page
 * costs the same. Deleted keys are in no list.
 *
 * Ephemeral keys expire in another order than they are created. The index of their list also
 * contains the expiry, so that expired keys are skipped without reading their rows. The other index
 * counts a key's unexpired ephemeral keys.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Replaces and adds the indexes. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`DROP INDEX keys_organization`
  yield* sql`CREATE INDEX keys_organization ON keys (organization_id, created_at, hash) WHERE deleted_at IS NULL`
  yield* sql`CREATE INDEX keys_workspace ON keys (organization_id, workspace_id, created_at, hash) WHERE deleted_at IS NULL`
  yield* sql`DROP INDEX keys_guardrail`
  yield* sql`CREATE INDEX keys_guardrail ON keys (guardrail_id, created_at, hash) WHERE guardrail_id IS NOT NULL`
  yield* sql`DROP INDEX ephemeral_keys_parent`
  yield* sql`CREATE INDEX ephemeral_keys_parent ON ephemeral_keys (parent_hash, created_at, hash, expires_at)`
  yield* sql`CREATE INDEX ephemeral_keys_unexpired ON ephemeral_keys (parent_hash, expires_at)`
})
