/**
 * The usage ledger becomes the request log: it also has the requests that failed, and the attempts
 * at providers. `provider` and `upstream_model` are empty if no provider was tried.
 *
 * Its pages are read by the time of admission. Rows arrive almost in that order, so the index costs
 * each paid request little, unlike one by key or workspace (see `UnusedIndexes`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns and the index. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN status TEXT NOT NULL DEFAULT 'completed'`
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN error_status INTEGER`
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN attempts TEXT`
  yield* sql`CREATE INDEX usage_ledger_time ON usage_ledger (reserved_at, id)`
})
