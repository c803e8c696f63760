/**
 * Small transactions, many of which run at the same time.
 *
 * On SQLite the commit is most of the cost of a small transaction, and there is only one writer. So
 * transactions of one statement, and synchronous ones, share a commit
 * (`storage/sqlite/SqliteTransactions.ts`). Postgres itself writes the commits of concurrent
 * connections together.
 */
import { Context, Effect, type Exit } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import type { Prepared } from "./Dialect.ts"

/** The values of named parameters. */
export type LocalValues = Readonly<Record<string, unknown>>

/** A fixed, synchronous statement. Its functions throw a `SqlError`. */
export interface LocalStatement {
  /** Runs it and returns its rows. */
  readonly rows: (values: LocalValues) => ReadonlyArray<Row>
  /** Runs it and returns the number of rows that it changed. */
  readonly change: (values: LocalValues) => number
}

/**
 * Synchronous transactions on a database in this process. An effect for each statement costs more
 * than SQLite takes to run it.
 */
export interface LocalTransactions {
  /**
   * Runs `body` in a transaction and returns when it is committed. A failure rolls it back, and so
   * does a `SqlError` that a statement throws. Inside the caller's `sql.withTransaction` it is part
   * of that transaction.
   *
   * `body` must only run statements, because it may be rolled back and run again. It cannot be
   * interrupted.
   *
   * It waits for the transactions of all fibers that are ready to run, and is committed with them.
   * If `isAlone` is true, it does not wait.
   */
  readonly run: <A, E>(body: () => Exit.Exit<A, E>, isAlone?: boolean) => Effect.Effect<A, E | SqlError>
  /** A statement for `body`, prepared when it first runs. Parameters are written `:name`. */
  readonly prepare: (text: string) => LocalStatement
  /**
   * Returns a function that `body` calls with what is to be written once for a whole commit. Before
   * the commit, `write` gets the entries of all bodies that it contains, if there are any. Those of
   * a body that fails are forgotten. Inside the caller's `sql.withTransaction`, each body's entries
   * are written after it.
   *
   * `write` must only run statements. If it throws, nothing is committed.
   */
  readonly collect: <Entry>(write: (entries: ReadonlyArray<Entry>) => void) => (entry: Entry) => void
}

/**
 * Calls a function when the current transaction has committed, or immediately outside a
 * transaction. There, it takes fewer effects than `sql.afterCommit`.
 */
export const afterCommit = (sql: SqlClient, callback: () => void): Effect.Effect<void> =>
  Effect.withFiber(({ context }) => {
    const transaction = Context.getOrUndefined(context, sql.transactionService)
    if (transaction !== undefined) return sql.afterCommit(Effect.sync(callback))
    callback()
    return Effect.void
  })

/** Runs transactions. */
export class Transactions extends Context.Service<
  Transactions,
  {
    /**
     * Runs `body` in a transaction and returns when it is committed. A failure rolls it back.
     * Inside the caller's `sql.withTransaction` it is part of that transaction.
     *
     * `body` must only use the database (and `sql.afterCommit`), because it may be rolled back and
     * run again. It cannot be interrupted.
     */
    readonly run: <A, E>(body: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError>
    /**
     * A fixed statement that is a transaction of its own. Inside the caller's
     * `sql.withTransaction` it is part of that transaction. Parameters are written `?1`, `?2`, …
     */
    readonly prepare: (text: string) => Prepared
    /** Undefined if the database is in another process. */
    readonly local: LocalTransactions | undefined
  }
>()("@model-gateway/server/storage/sql/Transactions") {}
