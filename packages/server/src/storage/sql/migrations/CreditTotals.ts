/** An index for the sum of the credits that were added to a workspace. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the index. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE INDEX credit_ledger_amounts ON credit_ledger (workspace_id, amount_micro)`
})
