/**
 * Deletes many rows in small batches.
 *
 * The database is synchronous, so one statement over an hour's rows would block this process, and
 * all others that want to write, until it ends.
 */
import { Clock, Duration, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import * as Dialect from "./Dialect.ts"

/** The maximum number of rows that a statement for {@link all} deletes: its `LIMIT`. */
export const atOnce = 100

/**
 * Repeats a statement that deletes some rows and returns their number, until it returns 0. Requests
 * can run in between. Returns the total.
 */
export const all = Effect.fnUntraced(function* <E, R>(some: Effect.Effect<number, E, R>) {
  let total = 0
  while (true) {
    const deleted = yield* some
    if (deleted === 0) return total
    total += deleted
    yield* Effect.yieldNow
  }
})

/** What {@link oldest} keeps of a table with the columns `id` and `created_at`. */
export interface Kept {
  /** Has an index of `created_at` and `id`. */
  readonly table: string
  /** Older rows are deleted. */
  readonly age: Duration.Duration
  /** The maximum number of rows. Beyond it, the oldest are deleted. */
  readonly rows: number
  /** Only rows for which this is true are deleted. Default: all. */
  readonly only?: Fragment | undefined
}

/** Deletes the rows of a table that are too old or too many. Returns their number. */
export const oldest = Effect.fnUntraced(function* (sql: SqlClient, { age, only, rows, table }: Kept) {
  const name = sql(table)
  const old = Math.floor((yield* Clock.currentTimeMillis) - Duration.toMillis(age))
  const [excess] = yield* sql`SELECT created_at FROM ${name} WHERE created_at >= 0
    ORDER BY created_at DESC, id DESC LIMIT 1 OFFSET ${rows}`
  const end = excess === undefined ? old : Math.max(old, Dialect.int(excess, "created_at") + 1)
  const due = only === undefined ? sql`created_at < ${end}` : sql`created_at < ${end} AND ${only}`
  const some = sql`DELETE FROM ${name} WHERE id IN (
    SELECT id FROM ${name} WHERE ${due} ORDER BY created_at, id LIMIT ${atOnce}) RETURNING id`
  return yield* all(Effect.map(some, (deleted) => deleted.length))
})
