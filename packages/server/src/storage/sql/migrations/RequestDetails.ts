/** What the request log says of a request besides: the message of its error, and its trace. Mostly null. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN error_message TEXT`
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN trace TEXT`
})
