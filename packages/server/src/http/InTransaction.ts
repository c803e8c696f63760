/** Transactions of a handler, which may make several calls of stores. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { fromSql } from "../storage/sql/StorageError.ts"

/**
 * Runs the effect in a transaction. Database errors of the transaction are answered like those of
 * its statements.
 */
export const inTransaction = <A, E, R>(
  sql: SqlClient,
  operation: string,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.catch(sql.withTransaction(effect), (error): Effect.Effect<never, E> =>
    isSqlError(error) ? Effect.die(fromSql(operation, error)) : Effect.fail(error)
  )
