/**
 * Drops two indexes that no statement uses but that slowed down every video job and credit entry.
 *
 * The usage ledger has no index by key or workspace either: no operation reads it that way, and two
 * such indexes would cost each paid request 22 µs and make the ledger three quarters larger. A test
 * checks that no statement scans a table that grows with traffic, and that every index is used.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Drops the indexes. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`DROP INDEX credit_ledger_workspace`
  yield* sql`DROP INDEX video_jobs_workspace`
})
