/**
 * Runs transactions on Postgres, each with its own commit: Postgres itself writes the commits of
 * concurrent connections to the disk together.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../sql/Dialect.ts"
import { Transactions } from "../sql/Transactions.ts"
import * as Conflicts from "./conflicts.ts"

/** The service over the database in the context. */
export const layer: Layer.Layer<Transactions, never, SqlClient> = Layer.effect(
  Transactions,
  Effect.map(SqlClient, (sql) => {
    const isInTransaction = Effect.withFiber((fiber) =>
      Effect.succeed(Context.getOrUndefined(fiber.context, sql.transactionService) !== undefined)
    )
    /** Inside the caller's transaction nothing can be run again alone. */
    const own = <A, E, R>(transaction: Effect.Effect<A, E, R>) =>
      Effect.flatMap(isInTransaction, (isInside) => (isInside ? transaction : Conflicts.retry(transaction)))
    return Transactions.of({
      run: (body) => Effect.uninterruptible(own(sql.withTransaction(body))),
      prepare: (text) => {
        // A statement outside a transaction commits by itself, in one round trip.
        const statement = Dialect.fixed(sql, text)
        return (...params) => Effect.uninterruptible(own(statement(...params)))
      },
      local: undefined
    })
  })
)
