/**
 * Deletes many rows in small batches.
 *
 * The database is synchronous, so one statement over an hour's rows would block this process, and
 * all others that want to write, until it ends.
 */
import { Effect } from "effect"

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
