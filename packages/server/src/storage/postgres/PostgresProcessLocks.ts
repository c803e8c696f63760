/**
 * The locks of processes that share a Postgres: an advisory lock each, held by a connection of its
 * own. The server releases it when the connection ends.
 *
 * A connection can also be lost while its process lives. The process then acquires the lock again,
 * over a new connection. So a released lock proves a death only together with a silent heartbeat.
 */
import { Deferred, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import * as RealClock from "../../internal/RealClock.ts"
import * as Dialect from "../sql/Dialect.ts"
import { ProcessLocks } from "../sql/ProcessLocks.ts"
import * as LogEvent from "../../log/LogEvent.ts"

/** In milliseconds: enough to connect and acquire the lock again. */
const grace = 3000

/** Between tests of the connection, and between attempts to connect. */
const checkInterval = "1 second"

/** A connection that does not answer within this time is given up. */
const answerWithin = "5 seconds"

const unanswered = new SqlError({
  reason: new UnknownError({ cause: new Error("The connection of the process lock did not answer"), operation: "lock" })
})

/** Makes locks over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient

  /** Runs a statement and returns its rows, as arrays of values. */
  const ask = (connection: Connection, text: string, params: ReadonlyArray<unknown>) =>
    Effect.timeoutOrElse(connection.executeValuesUnprepared(text, params), {
      duration: answerWithin,
      orElse: () => Effect.fail(unanswered)
    })

  /**
   * Acquires the lock, until the connection ends. A connection that was lost may still have it:
   * then nothing is acquired.
   */
  const acquireOnce = (id: string, acquired: Deferred.Deferred<void>) =>
    Effect.gen(function* () {
      const connection = yield* sql.reserve
      const [row] = yield* ask(connection, "SELECT pg_try_advisory_lock(hashtextextended($1, 0))", [id])
      if (row?.[0] !== true) return
      // The connection goes back to the pool, with its lock.
      yield* Effect.addFinalizer(() =>
        Effect.ignore(ask(connection, "SELECT pg_advisory_unlock(hashtextextended($1, 0))", [id]))
      )
      yield* Deferred.succeed(acquired, undefined)
      while (true) {
        yield* Effect.sleep(checkInterval)
        yield* ask(connection, "SELECT 1", [])
      }
    }).pipe(Effect.scoped, Effect.ignore)

  return ProcessLocks.of({
    grace,
    acquire: Effect.fnUntraced(function* (id: string) {
      const acquired = yield* Deferred.make<void>()
      yield* acquireOnce(id, acquired).pipe(
        Effect.andThen(Effect.sleep(checkInterval)),
        Effect.forever,
        Effect.forkScoped
      )
      yield* Effect.timeoutOrElse(Deferred.await(acquired), {
        duration: answerWithin,
        orElse: () =>
          LogEvent.log(
            "process_lock_failed",
            "The lock of this process could not be acquired yet. The process tries again."
          )
      })
    }, RealClock.provide),
    released: Effect.fnUntraced(function* (ids: ReadonlyArray<string>) {
      // A shared lock, until the end of the statement: two processes may test at the same time.
      const rows = yield* sql`SELECT id, pg_try_advisory_xact_lock_shared(hashtextextended(id, 0)) AS is_released
        FROM processes WHERE ${sql.in("id", ids)}`
      return new Set(rows.flatMap((row) => (row["is_released"] === true ? [Dialect.text(row, "id")] : [])))
    }),
    removeExcept: () => Effect.void
  })
})

/** Locks in the database in the context. */
export const layer: Layer.Layer<never, never, SqlClient> = Layer.effect(ProcessLocks, make)
