/**
 * Adapts a connection of `node:sqlite` to `effect/sql`.
 *
 * `node:sqlite` is synchronous: a statement that waits inside SQLite for another process's lock
 * blocks the whole process. Open SQLite with a timeout of 0. A statement that meets a lock then
 * fails at once and is retried after a pause, in which other fibers run.
 */
import { Effect, type Fiber, Stream } from "effect"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, isSqlError, SqlError } from "effect/sql/SqlError"
import type { DatabaseSync, SQLInputValue } from "node:sqlite"
import * as RealClock from "../../internal/RealClock.ts"
import * as LruMap from "../../internal/LruMap.ts"
import { prepareStatement, type Statement } from "./prepareStatement.ts"
import { isLocked } from "./sqliteErrors.ts"

/**
 * Monotonic time in nanoseconds, for computing deadlines. The machine's, because the process that
 * holds the lock does not follow a test's clock.
 */
export const now = (): bigint => RealClock.clock.monotonicTimeNanosUnsafe()

/** Pauses between attempts in milliseconds. The last one repeats. */
const pauses = [1, 2, 5, 10, 20, 50]

/** Waits before attempt number `tried` + 1. */
export const pause = (tried: number): Effect.Effect<void> => RealClock.provide(Effect.sleep(pauses[tried] ?? 50))

/** Wraps an error of `node:sqlite`. */
export const sqlError = (cause: unknown, message: string, operation: string): SqlError => {
  // The classifier reads `errno`; node:sqlite calls the same number `errcode`.
  if (typeof cause === "object" && cause !== null && "errcode" in cause && !("errno" in cause)) {
    Object.assign(cause, { errno: cause.errcode })
  }
  return new SqlError({ reason: classifySqliteError(cause, { message, operation }) })
}

/** The error of a statement that failed. */
export const statementFailed = (cause: unknown): SqlError => sqlError(cause, "Failed to execute statement", "execute")

/**
 * Values that `node:sqlite` cannot bind (booleans, undefined) are a caller's mistake and are
 * rejected.
 */
export const isInput = (value: unknown): value is SQLInputValue =>
  value === null ||
  typeof value === "number" ||
  typeof value === "bigint" ||
  typeof value === "string" ||
  ArrayBuffer.isView(value)

/**
 * Runs something on the database once. `onFailure` gets the error, and whether it is only that
 * another process holds the lock. Inside a transaction it is not: the transaction holds the lock.
 */
export const attempt = <A>(
  db: DatabaseSync,
  run: () => A,
  onFailure: (error: SqlError, isLock: boolean) => Effect.Effect<A, SqlError>
): Effect.Effect<A, SqlError> => {
  try {
    return Effect.succeed(run())
  } catch (error) {
    const cause = isSqlError(error) ? error.reason.cause : error
    return onFailure(isSqlError(error) ? error : statementFailed(error), isLocked(cause) && !db.isTransaction)
  }
}

/**
 * Runs something on the database, again and again while another process holds the lock. `deadline`
 * is called when it first meets the lock, and returns until when, on the clock of {@link now}. The
 * process is not blocked meanwhile.
 */
export const whenUnlocked = <A>(
  db: DatabaseSync,
  deadline: () => bigint,
  run: (fiber: Fiber.Fiber<unknown, unknown>) => A
): Effect.Effect<A, SqlError> => {
  let tried = 0
  let end: bigint | undefined
  const again: Effect.Effect<A, SqlError> = Effect.withFiber((fiber) =>
    attempt(
      db,
      () => run(fiber),
      (error, isLock) =>
        isLock && now() < (end ??= deadline()) ? Effect.andThen(pause(tried++), again) : Effect.fail(error)
    )
  )
  return again
}

interface Prepared {
  readonly statement: Statement
  readsBigInts: boolean
}

/** Options of a connection. */
export interface Options {
  /** The number of prepared statements to cache. */
  readonly preparedStatements: number
  /** Until when a statement that meets a lock is repeated; see {@link whenUnlocked}. */
  readonly deadline: () => bigint
}

/** Makes the connection. */
export const make = (db: DatabaseSync, { deadline, preparedStatements }: Options): Connection => {
  const prepared = LruMap.make<string, Prepared>(preparedStatements)

  const prepare = (text: string, keep: boolean): Prepared => {
    const known = prepared.get(text)
    if (known !== undefined) return known
    const made: Prepared = { statement: prepareStatement(db, text), readsBigInts: false }
    if (keep) prepared.set(text, made)
    return made
  }

  const use = <A>(
    text: string,
    params: ReadonlyArray<unknown>,
    keep: boolean,
    read: (prepared: Prepared, values: ReadonlyArray<SQLInputValue>) => A
  ): Effect.Effect<A, SqlError> =>
    whenUnlocked(db, deadline, (fiber) => {
      const made = prepare(text, keep)
      const bigInts = fiber.getRef(SqlClient.SafeIntegers)
      if (bigInts !== made.readsBigInts) {
        made.statement.setReadBigInts(bigInts)
        made.readsBigInts = bigInts
      }
      if (!params.every(isInput)) throw new TypeError("SQLite does not support the type of a parameter")
      return read(made, params)
    })

  const rows = ({ statement }: Prepared, values: ReadonlyArray<SQLInputValue>): ReadonlyArray<object> => {
    if (statement.returnsRows) return statement.all(...values)
    statement.run(...values)
    return []
  }

  const arrays = ({ statement }: Prepared, values: ReadonlyArray<SQLInputValue>) => {
    if (statement.returnsRows) return statement.arrays(...values)
    statement.run(...values)
    return []
  }

  const execute: Connection["execute"] = (text, params, transformRows) => {
    const result = use(text, params, true, rows)
    return transformRows === undefined ? result : Effect.map(result, transformRows)
  }

  return {
    execute,
    executeRaw: (text, params) =>
      use(text, params, true, ({ statement }, values) =>
        statement.returnsRows ? statement.all(...values) : statement.run(...values)
      ),
    executeStream: (text, params, transformRows) =>
      Stream.unwrap(Effect.map(execute(text, params, transformRows), (all) => Stream.fromIterable(all))),
    executeValues: (text, params) => use(text, params, true, arrays),
    executeValuesUnprepared: (text, params) => use(text, params, false, arrays),
    executeUnprepared: (text, params, transformRows) => {
      const result = use(text, params, false, rows)
      return transformRows === undefined ? result : Effect.map(result, transformRows)
    }
  }
}
