/** Adds to the request log the message of a request's error, and its trace. Mostly null. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN error_message TEXT`
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN trace TEXT`
})
