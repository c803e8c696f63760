/**
 * The end user whom a paid request names, for the request log. Requests from before this migration
 * name none.
 *
 * There is no index: one would slow down every paid request, and the log is read by time.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as ledgerFunctions from "./LedgerFunctions.ts"

/** Adds the columns, and on Postgres the functions that write them. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE intents ADD COLUMN external_user TEXT`
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN external_user TEXT`
  yield* ledgerFunctions.migration
})
