/**
 * Deletes many rows a few at a time.
 *
 * One statement over all that has gathered in an hour would stop the process, whose database is synchronous, and every other one that wants to write, for as long as it takes.
 */
import { Effect } from "effect"

/** How many rows a statement given to {@link all} deletes at most: its `LIMIT`. */
export const atOnce = 100

/**
 * Runs a statement that deletes some of what is to go and answers how many, until it answers 0.
 * Requests have their turn in between. Answers how many it were in all.
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
