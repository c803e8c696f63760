/** The master key of a database whose processes have none in their settings. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Creates the table, which has at most one row. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE master_key (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    secret TEXT NOT NULL
  )`
})
