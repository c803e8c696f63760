/**
 * Workspaces have a slug, a description and a creator, and can be deleted. The row of a deleted
 * workspace stays, because the credit ledger and deleted keys refer to it; `emptied_at` is when
 * nothing else did any more.
 *
 * The index of video jobs finds those of a workspace, newest or oldest first.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns and the indexes. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE workspaces ADD COLUMN slug TEXT NOT NULL DEFAULT ''`
  yield* sql`ALTER TABLE workspaces ADD COLUMN description TEXT`
  yield* sql`ALTER TABLE workspaces ADD COLUMN created_by TEXT`
  yield* sql`ALTER TABLE workspaces ADD COLUMN deleted_at BIGINT`
  yield* sql`ALTER TABLE workspaces ADD COLUMN emptied_at BIGINT`
  yield* sql`UPDATE workspaces SET slug = CASE is_default WHEN 1 THEN 'default' ELSE 'workspace-' || id END`
  yield* sql`CREATE UNIQUE INDEX workspaces_slug ON workspaces (organization_id, slug) WHERE deleted_at IS NULL`
  yield* sql`CREATE INDEX workspaces_organization ON workspaces (organization_id, created_at, id) WHERE deleted_at IS NULL`
  yield* sql`CREATE INDEX video_jobs_workspace ON video_jobs (workspace_id, created_at, id)`
  yield* sql`CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE emptied_at IS NULL`
})
