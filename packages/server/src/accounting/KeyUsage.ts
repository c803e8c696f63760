/** What a key has used: its budget, and its requests to free models of today. */
import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { Reader } from "../storage/sql/Reader.ts"
import * as Budgets from "./Budgets.ts"

/** The usage of a key at one point in time. */
export interface KeyUsage {
  readonly budget: Budgets.Budget
  readonly freeRequests: number
  /** The start of the UTC day of its last paid request. Null: there was none. */
  readonly lastUsedDay: number | null
}

/** Prepares the read of a key's usage. Undefined if there is no such key. */
export const make = Effect.map(Reader, ({ prepare }) => {
  const select = prepare(
    `SELECT b.*, f.used AS free_used FROM budgets b
     LEFT JOIN free_model_days f ON f.key_hash = b.id AND f.day_start = ?2 WHERE b.id = ?1`
  )
  return Effect.fnUntraced(function* (keyHash: string): Effect.fn.Return<KeyUsage | undefined, SqlError> {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* select(keyHash, Periods.startOfDay(now))
    if (row === undefined) return undefined
    return {
      budget: Budgets.fromRow(row, now),
      freeRequests: Dialect.intOrNull(row, "free_used") ?? 0,
      lastUsedDay: Budgets.lastDayOf(row)
    }
  })
})
