/**
 * Runs a transaction again that Postgres has ended because of another one. It had no effect.
 *
 * Transactions of the service lock their rows in one order, so this is rare.
 */
import { Effect } from "effect"
import { sqlErrorOf } from "../sql/sqlErrorOf.ts"

/**
 * Attempts after the first. Of several transactions in a conflict, each time at least one is done.
 */
const maxRetries = 10

const isConflict = (error: unknown): boolean => {
  const reason = sqlErrorOf(error)?.reason._tag
  return reason === "DeadlockError" || reason === "SerializationError"
}

/** Retries an effect that is a transaction of its own. */
export const retry = <A, E, R>(transaction: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.retry(transaction, { times: maxRetries, while: isConflict })
