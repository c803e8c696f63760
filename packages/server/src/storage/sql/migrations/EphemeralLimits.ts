/** The restrictions of ephemeral keys, and which of them created a file or video job. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/**
 * Adds the columns. Existing ephemeral keys have no restrictions, and existing files and video jobs
 * belong to none of them.
 */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE ephemeral_keys ADD COLUMN operations TEXT`
  yield* sql`ALTER TABLE ephemeral_keys ADD COLUMN own_files INTEGER NOT NULL DEFAULT 0`
  yield* sql`ALTER TABLE files ADD COLUMN ephemeral_hash TEXT`
  yield* sql`ALTER TABLE video_jobs ADD COLUMN ephemeral_hash TEXT`
  yield* sql`CREATE INDEX files_ephemeral ON files (ephemeral_hash, created_at, id) WHERE ephemeral_hash IS NOT NULL`
})
