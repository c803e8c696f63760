/** What a list of the sessions of the console shows, beside what the sessions need themselves. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE console_sessions ADD COLUMN id TEXT`
  yield* sql`ALTER TABLE console_sessions ADD COLUMN address TEXT`
  yield* sql`CREATE INDEX console_sessions_id ON console_sessions (id)`
})
