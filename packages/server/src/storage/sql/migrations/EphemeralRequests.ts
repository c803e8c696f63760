/**
 * Which ephemeral key sent a paid request, so that a key that sees only its own requests finds
 * them. Requests from before this migration belong to none.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as ledgerFunctions from "./LedgerFunctions.ts"

/** Adds the columns, and on Postgres the functions that write them. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE intents ADD COLUMN ephemeral_hash TEXT`
  yield* sql`ALTER TABLE usage_ledger ADD COLUMN ephemeral_hash TEXT`
  yield* ledgerFunctions.migration
})
