/**
 * Indexes of the lists of video jobs: those of a workspace, those in one state, and those of one
 * ephemeral key. Identifiers start with their time, so their order is that of the list.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the indexes, of which the first replaces that of the workspace. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`DROP INDEX video_jobs_workspace`
  yield* sql`CREATE INDEX video_jobs_newest ON video_jobs (workspace_id, id)`
  yield* sql`CREATE INDEX video_jobs_status ON video_jobs (workspace_id, status, id)`
  yield* sql`CREATE INDEX video_jobs_ephemeral ON video_jobs (workspace_id, ephemeral_hash, id)
    WHERE ephemeral_hash IS NOT NULL`
})
