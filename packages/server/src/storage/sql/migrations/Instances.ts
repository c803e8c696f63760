/** What a process says of itself with its heartbeats: its version, and the states of its parts. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the column. Null: the process serves no requests, or is of an earlier version. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE processes ADD COLUMN description TEXT`
})
