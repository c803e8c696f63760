/**
 * The id of the HTTP request that an entry of the request log belongs to. Requests from before this
 * migration have none.
 *
 * There is no index: one would slow down every paid request, and the log is read by time.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as ledgerFunctions from "./LedgerFunctions.ts"

/** Adds the columns, and on Postgres the functions that write them. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE intents ADD COLUMN request_id TEXT`
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN request_id TEXT`
  yield* ledgerFunctions.migration
})
