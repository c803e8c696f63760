/** Video jobs keep their attempts at providers. Jobs from earlier releases have none. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the column. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE video_jobs ADD COLUMN attempts TEXT`
})
