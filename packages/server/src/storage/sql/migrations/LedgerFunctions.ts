/**
 * On Postgres, the functions that write paid requests and events in one round trip. SQLite needs
 * none.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as ledgerFunctions from "../../../accounting/ledgerFunctions.ts"

/** Creates the functions. */
export const create = Effect.gen(function* () {
  const sql = yield* SqlClient
  const statements = sql.onDialectOrElse({ pg: () => ledgerFunctions.create, orElse: () => [] })
  for (const statement of statements) yield* sql.unsafe(statement)
})
