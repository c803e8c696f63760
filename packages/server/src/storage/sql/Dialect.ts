/**
 * The differences between SQLite and Postgres, and a fast way to run fixed SQL.
 *
 * The service's statements use what both support: `BIGINT` for integers and epoch milliseconds,
 * `0`/`1` for booleans, `TEXT` for identifiers and JSON, `ON CONFLICT`, `RETURNING`, partial
 * indexes. Parameters are written `?1`, `?2`, …
 */
import { Context, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"

/** A value that both databases can bind. */
export type Parameter = string | number | Uint8Array | null

/** A fixed statement: takes parameters, returns rows. */
export type Prepared = (...params: ReadonlyArray<Parameter>) => Effect.Effect<ReadonlyArray<Row>, SqlError>

/**
 * Prepares a statement with fixed text, for hot paths inside `sql.withTransaction`. Outside a
 * transaction it fails.
 *
 * It runs directly on the transaction's connection, without a template and without its own span,
 * because the transaction has one.
 */
export const prepare = (sql: SqlClient, text: string): Prepared => {
  const compiled = placeholders(sql, text)
  return (...params) =>
    Effect.withFiber((fiber) => {
      const transaction = Context.getOrUndefined(fiber.context, sql.transactionService)
      if (transaction === undefined) return Effect.fail(outsideTransaction())
      return transaction[0].execute(compiled, params, undefined)
    })
}

/** A fixed statement that returns the number of rows it changed. */
export type PreparedChange = (...params: ReadonlyArray<Parameter>) => Effect.Effect<number, SqlError>

/**
 * Like {@link prepare}, for a statement that returns no rows. Counting changed rows costs SQLite
 * less than half of a `RETURNING`.
 */
export const prepareChange = (sql: SqlClient, text: string): PreparedChange => {
  const compiled = placeholders(sql, text)
  return (...params) =>
    Effect.withFiber((fiber): Effect.Effect<number, SqlError> => {
      const transaction = Context.getOrUndefined(fiber.context, sql.transactionService)
      if (transaction === undefined) return Effect.fail(outsideTransaction())
      return Effect.map(transaction[0].executeRaw(compiled, params), changedBy)
    })
}

/**
 * The number of changed rows in a raw result: `changes` of `node:sqlite`, `rowCount` of Postgres.
 */
const changedBy = (result: unknown): number => {
  if (typeof result === "object" && result !== null) {
    if ("changes" in result) return Number(result.changes)
    if ("rowCount" in result) return Number(result.rowCount)
  }
  throw new TypeError("The driver did not return the number of changed rows")
}

/** Like {@link prepare}, for a statement outside a transaction. It has its own span. */
export const fixed = (sql: SqlClient, text: string): Prepared => {
  const compiled = placeholders(sql, text)
  return (...params) => sql.unsafe<Row>(compiled, params)
}

const outsideTransaction = () =>
  new SqlError({
    reason: new ConnectionError({
      cause: new Error("A prepared statement ran outside a transaction"),
      operation: "prepare"
    })
  })

/** Rewrites `?1` as the dialect's numbered parameter. */
const placeholders = (sql: SqlClient, text: string): string =>
  sql.onDialectOrElse({
    pg: () => text.replaceAll(/\?(\d+)/g, "$$$1"),
    orElse: () => text
  })

/**
 * Appended to `CREATE TABLE` for a table that is only looked up by its text key. SQLite then keeps
 * one tree instead of two.
 */
export const withoutRowId = (sql: SqlClient) =>
  sql.onDialectOrElse({ sqlite: () => sql.literal("WITHOUT ROWID"), orElse: () => sql.literal("") })

/**
 * Ends a `SELECT` whose rows no other transaction may change before this one ends. It waits for
 * those that are changing them. A transaction of SQLite is the only writer, so it is nothing there.
 *
 * Other rows may still refer to the rows: a new row's foreign key does not wait.
 */
export const locked = (sql: SqlClient) =>
  sql.onDialectOrElse({ pg: () => sql.literal("FOR NO KEY UPDATE"), orElse: () => sql.literal("") })

/**
 * Locks the rows of a `SELECT`, as {@link locked} does. On Postgres, a transaction that writes what
 * follows from what it reads locks first and reads then: a statement that waits for a row may
 * combine its new values with old ones of other rows.
 *
 * Transactions that lock several rows do so in one order, so that none waits for another in a
 * circle: the workspace, the guardrail, keys in the order of their hashes, the budget.
 */
export const lock = (sql: SqlClient, select: Fragment): Effect.Effect<void, SqlError> =>
  sql.onDialectOrElse({
    pg: () => Effect.asVoid(sql`SELECT COUNT(*) FROM (${select} ${locked(sql)}) AS locked`),
    orElse: () => Effect.void
  })

const mistyped = (column: string, wanted: string): never => {
  throw new TypeError(`Column ${column} is not of type ${wanted}`)
}

/**
 * Reads an integer column. Postgres returns `BIGINT` as a bigint or a string, SQLite as a number.
 */
export const int = (row: Row, column: string): number => intOrNull(row, column) ?? mistyped(column, "integer")

/** Reads an integer column that may be null. */
export const intOrNull = (row: Row, column: string): number | null => {
  const value = row[column]
  if (typeof value === "number") return value
  if (value === null || value === undefined) return null
  if (typeof value === "bigint" || typeof value === "string") {
    const number = Number(value)
    if (Number.isSafeInteger(number)) return number
  }
  return mistyped(column, "safe integer")
}

/** Reads a column of floating-point numbers that may be null. */
export const realOrNull = (row: Row, column: string): number | null => {
  const value = row[column]
  return typeof value === "number" ? value : null
}

/** Reads a text column. */
export const text = (row: Row, column: string): string => textOrNull(row, column) ?? mistyped(column, "text")

/** Reads a text column that may be null. */
export const textOrNull = (row: Row, column: string): string | null => {
  const value = row[column]
  if (typeof value === "string") return value
  return value === null || value === undefined ? null : mistyped(column, "text")
}

/**
 * Reads a text column that contains one of these values. Null if it is null or contains another
 * text, for example one that a later release wrote.
 */
export const oneOfOrNull = <A extends string>(row: Row, column: string, values: ReadonlyArray<A>): A | null =>
  values.find((value) => value === row[column]) ?? null

/** Reads a boolean stored as `0` or `1`. */
export const bool = (row: Row, column: string): boolean => int(row, column) !== 0

/** Writes a boolean as `0` or `1`. */
export const fromBool = (value: boolean): 0 | 1 => (value ? 1 : 0)
