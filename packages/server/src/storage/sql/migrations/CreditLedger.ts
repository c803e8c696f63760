/** The kind and the actor of an entry of the credit ledger, and the index of its pages. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/**
 * Adds the columns. Earlier versions wrote three kinds of entries, each with a note of its own, and
 * did not record who added credits.
 */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE credit_ledger ADD COLUMN kind TEXT NOT NULL DEFAULT 'added'`
  yield* sql`ALTER TABLE credit_ledger ADD COLUMN actor TEXT`
  yield* sql`UPDATE credit_ledger SET kind = 'initial' WHERE note = 'first run'`
  yield* sql`UPDATE credit_ledger SET kind = 'moved' WHERE note LIKE 'of the deleted workspace %'
    OR (note = 'deleted' AND amount_micro < 0)`
  yield* sql`CREATE INDEX credit_ledger_time ON credit_ledger (workspace_id, created_at, id)`
})
