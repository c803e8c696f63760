/** What the migrations do only on Postgres. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../sql/Dialect.ts"
import * as eventFunctions from "./eventFunctions.ts"
import * as PostgresFunction from "./PostgresFunction.ts"

/** Any number, the same in every version: the lock is for all who migrate this database. */
const lockId = 7_310_589

/** Waits until no other process migrates. Ends with the transaction. */
export const lock = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`SELECT pg_advisory_xact_lock(${lockId})`
})

/**
 * Makes transactions that write wait until this one ends. Reads go on, and heartbeats, so that no
 * process seems dead.
 *
 * A migration locks tables one by one. Without this, a request of an earlier version could hold one
 * of them and wait for another, and Postgres would undo the work of the migration to let it finish.
 * Paid requests lock their reservations first, so none is in progress once that table is locked.
 */
export const stopWriters = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT table_name FROM information_schema.tables
    WHERE table_schema = current_schema() AND ${sql.in("table_name", tables)} AND table_name <> 'processes'
    ORDER BY table_name <> 'reservations', table_name`
  const names = rows.map((row) => sql`${sql(Dialect.text(row, "table_name"))}`)
  if (names.length > 0) yield* sql`LOCK TABLE ${sql.csv(names)} IN EXCLUSIVE MODE`
})

/**
 * Orders the text columns of the tables by their bytes, as SQLite does, whatever the database's own
 * order is. Pages of lists rely on it, and comparing bytes is faster. Creates the functions that
 * write events.
 */
export const finish = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient
  const columns = yield* sql`SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND ${sql.in("table_name", tables)}
      AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`
  const byTable = Map.groupBy(columns, (row) => Dialect.text(row, "table_name"))
  for (const [table, rows] of byTable) {
    const changes = rows.map((row) => sql`ALTER COLUMN ${sql(Dialect.text(row, "column_name"))} TYPE TEXT COLLATE "C"`)
    yield* sql`ALTER TABLE ${sql(table)} ${sql.csv(changes)}`
  }
  yield* PostgresFunction.ensure(eventFunctions.all)
})
