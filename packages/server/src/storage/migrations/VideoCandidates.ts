/**
 * Who may make a video, by preference, so that a job whose upstream is down goes to the next; and since when the present one may have it, so that it goes to no other then.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE video_jobs ADD COLUMN candidates TEXT`
  yield* sql`ALTER TABLE video_jobs ADD COLUMN asked_at BIGINT`
})
