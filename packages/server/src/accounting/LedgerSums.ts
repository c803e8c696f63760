/**
 * The sums of all ledgers. A backup notes them, and a restored database must have the same ones.
 *
 * They are decimal texts, because a sum may be larger than a number can say exactly. Each reads a
 * whole table, so only tools of an operator ask for them.
 */
import { Effect, Record } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError } from "../storage/sql/StorageError.ts"

/** Sums by their names, such as `credit_ledger.amount_micro`. */
export type LedgerSums = Readonly<Record<string, string>>

const sum = (column: string) => `CAST(COALESCE(SUM(${column}), 0) AS TEXT)`

const read = (rows: ReadonlyArray<Row>) => Record.map({ ...rows[0] }, (value) => String(value))

/** Reads them, all from one state of the database if it runs in a transaction. */
export const all = Effect.gen(function* () {
  const sql = yield* SqlClient
  const credits = yield* sql.unsafe<Row>(
    `SELECT CAST(COUNT(*) AS TEXT) AS "credit_ledger.rows", ${sum("amount_micro")} AS "credit_ledger.amount_micro" FROM credit_ledger`
  )
  const usage = yield* sql.unsafe<Row>(
    `SELECT CAST(COUNT(*) AS TEXT) AS "usage_ledger.rows", ${sum("cost_micro")} AS "usage_ledger.cost_micro",
      ${sum("reserved_micro")} AS "usage_ledger.reserved_micro" FROM usage_ledger`
  )
  const days = yield* sql.unsafe<Row>(
    `SELECT ${sum("requests")} AS "usage_days.requests", ${sum("cost_micro")} AS "usage_days.cost_micro",
      ${sum("byok_micro")} AS "usage_days.byok_micro" FROM usage_days`
  )
  const budgets = yield* sql.unsafe<Row>(
    `SELECT CAST(COUNT(*) AS TEXT) AS "budgets.rows", ${sum("usage")} AS "budgets.usage", ${sum("byok")} AS "budgets.byok",
      ${sum("reserved")} AS "budgets.reserved" FROM budgets`
  )
  const reservations = yield* sql.unsafe<Row>(
    `SELECT CAST(COUNT(*) AS TEXT) AS "reservations.rows", ${sum("amount_micro")} AS "reservations.amount_micro" FROM reservations`
  )
  const workspaces = yield* sql.unsafe<Row>(
    `SELECT CAST(COUNT(*) AS TEXT) AS "workspaces.rows", ${sum("balance_micro")} AS "workspaces.balance_micro",
      ${sum("reserved_micro")} AS "workspaces.reserved_micro" FROM workspaces`
  )
  const sums: LedgerSums = [credits, usage, days, budgets, reservations, workspaces]
    .map(read)
    .reduce((all, some) => ({ ...all, ...some }), {})
  return sums
}).pipe(mapSqlError("LedgerSums.all"))

/**
 * The ids of the workspaces whose balance is not what was added less what was used, at most 100.
 * Always none, unless someone changed the database or it was damaged.
 */
export const wrongBalances = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT w.id FROM workspaces w WHERE w.balance_micro <>
      (SELECT COALESCE(SUM(c.amount_micro), 0) FROM credit_ledger c WHERE c.workspace_id = w.id) -
      (SELECT COALESCE(SUM(d.cost_micro), 0) FROM usage_days d WHERE d.workspace_id = w.id AND d.key_hash = '')
    ORDER BY w.id LIMIT 100`
  return rows.map((row) => Dialect.text(row, "id"))
}).pipe(mapSqlError("LedgerSums.wrongBalances"))

/** The number of abandoned reservations, which an operator has to look up. */
export const abandoned = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql`SELECT COUNT(*) AS n FROM reservations WHERE state = 'abandoned'`
  return row === undefined ? 0 : Dialect.int(row, "n")
}).pipe(mapSqlError("LedgerSums.abandoned"))
