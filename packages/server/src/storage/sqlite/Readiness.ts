/**
 * Checks whether the database can serve: its tables exist, and a write to it commits.
 *
 * The check is real, so it detects a missing table, a damaged or read-only database, a full disk
 * and a lock held by another process. Requests within a second share one check, so that frequent
 * requests cause no load.
 */
import { Clock, Deferred, Duration, Effect, type Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { tables } from "../sql/Migrations.ts"
import { ProcessInstance } from "../sql/ProcessInstance.ts"
import { mapSqlError, StorageError } from "../sql/StorageError.ts"

/** Frequency and time limit of the check. */
export interface Options {
  /** How long a result is reused. Default: 1 second. */
  readonly every?: Duration.Input | undefined
  /** A check that takes longer counts as failed. Default: 2 seconds. */
  readonly limit?: Duration.Input | undefined
}

/**
 * Shares runs of a check: at most one runs at a time, and at most one per `every`. A check that
 * hangs is not started again until it ends. Until then, every caller fails after `limit` because
 * the database does not answer.
 */
export const shared = Effect.fnUntraced(function* (
  check: Effect.Effect<void, StorageError>,
  options?: Options
): Effect.fn.Return<Effect.Effect<void, StorageError>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const every = Duration.toMillis(Duration.fromInputUnsafe(options?.every ?? "1 second"))
  const limit = Duration.toMillis(Duration.fromInputUnsafe(options?.limit ?? "2 seconds"))
  const late = new StorageError({
    operation: "Readiness.check",
    message: `The database did not answer within ${limit} milliseconds.`,
    retryable: true
  })
  let run: { readonly startedAt: number; readonly ended: Deferred.Deferred<void, StorageError> } | undefined

  return Effect.gen(function* () {
    const now = Number((yield* Clock.Clock).monotonicTimeNanosUnsafe()) / 1e6
    if (run === undefined || (Deferred.isDoneUnsafe(run.ended) && now - run.startedAt >= every)) {
      const ended = Deferred.makeUnsafe<void, StorageError>()
      run = { startedAt: now, ended }
      // In a separate fiber: a write that waits for a lock cannot be interrupted, and others share
      // the result.
      yield* Effect.forkIn(Deferred.complete(ended, check), scope)
    }
    const { ended, startedAt } = run
    return yield* Effect.timeoutOrElse(Deferred.await(ended), {
      duration: Math.max(0, startedAt + limit - now),
      orElse: () => Effect.fail(late)
    })
  })
})

/** Long enough that the write needs new pages, which a full disk does not have. */
const filler = ".".repeat(8192)

/**
 * Makes the check of the database in the context. It fails with the reason why the database cannot
 * serve.
 */
export const make = Effect.fnUntraced(function* (options?: Options) {
  const sql = yield* SqlClient
  const { id } = yield* ProcessInstance
  const read = sql.literal(
    `SELECT ${tables.map((table) => `(SELECT COUNT(*) FROM (SELECT 1 FROM ${table} LIMIT 1) r)`).join(" + ")} AS n`
  )
  const name = `readiness of ${id} ${filler}`
  const write = Effect.andThen(
    sql`INSERT INTO milestones (name, reached_at) VALUES (${name}, 0)`,
    sql`DELETE FROM milestones WHERE name = ${name}`
  )
  return yield* shared(
    Effect.andThen(sql`${read}`, sql.withTransaction(write)).pipe(mapSqlError("Readiness.check")),
    options
  )
})
