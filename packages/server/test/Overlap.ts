/** Two transactions of Postgres at the same time. */
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** The number of transactions on this database that wait for a row. */
const waiting = Effect.flatMap(
  SqlClient,
  (sql) => sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
).pipe(Effect.map((rows) => rows.length))

/**
 * Runs `first`, and commits it only when `second`, which started after it, waits for a row of it or
 * has ended. Returns both results.
 */
export const overlap = Effect.fnUntraced(function* <A, E, R, A2, E2, R2>(
  first: Effect.Effect<A, E, R>,
  second: Effect.Effect<A2, E2, R2>
) {
  const sql = yield* SqlClient
  const isWritten = yield* Deferred.make<void>()
  const commit = yield* Deferred.make<void>()
  const one = yield* first.pipe(
    Effect.ensuring(Deferred.succeed(isWritten, undefined)),
    Effect.tap(Deferred.await(commit)),
    sql.withTransaction,
    Effect.forkChild
  )
  yield* Deferred.await(isWritten)
  const two = yield* Effect.forkChild(second)
  while (two.pollUnsafe() === undefined && (yield* waiting) === 0) yield* Effect.sleep("5 millis")
  yield* Deferred.succeed(commit, undefined)
  return [yield* Fiber.await(one), yield* Fiber.await(two)] as const
})
