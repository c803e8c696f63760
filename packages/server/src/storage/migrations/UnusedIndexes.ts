/**
 * Takes away two indexes that no statement reads: every video job and every line of the credit ledger paid for them.
 *
 * Nor does the usage ledger get any by key or workspace: no operation reads it so, and the two would cost each paid request 22 µs and make the ledger three quarters larger. A test
 * holds that no statement of the service reads a table that grows with traffic from end to end, and that every index is read by one.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Drops the indexes. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`DROP INDEX credit_ledger_workspace`
  yield* sql`DROP INDEX video_jobs_workspace`
})
