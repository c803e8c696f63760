/**
 * The candidates of a video job, in order of preference, so that the next one is tried if an
 * upstream is down; and since when the current one may have the job, so that it is then tried
 * nowhere else.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE video_jobs ADD COLUMN candidates TEXT`
  yield* sql`ALTER TABLE video_jobs ADD COLUMN asked_at BIGINT`
})
