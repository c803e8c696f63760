/**
 * The error of every store when its database fails.
 *
 * The HTTP layer maps it to 503 if the operation has it, otherwise to 500. It never means "not
 * found": stores report that with a value or an error of their own.
 */
import { Data, Effect } from "effect"
import { MigrationError } from "effect/sql/Migrator"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import * as postgresErrors from "../postgres/postgresErrors.ts"
import * as sqliteErrors from "../sqlite/sqliteErrors.ts"
import { sqlErrorOf } from "./sqlErrorOf.ts"

/**
 * The database could not be opened, read or written.
 *
 * - `message` is one plain sentence that may be shown to the operator; it contains no statement, no
 *   parameter and no secret.
 * - `operation` names what was being done, such as `KeyStore.create`.
 * - `retryable` is true for a lock that could not be acquired in time and for a lost connection.
 * - `isUnstorable` is true if a text of the caller cannot be stored: Postgres has no U+0000.
 * - `cause` is the driver's error, for logs.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { StorageError } from "@model-gateway/server/StorageError"
 *
 * const failure = new StorageError({
 *   operation: "demo",
 *   message: "The disk is full.",
 *   retryable: false
 * })
 *
 * const program = Effect.fail(failure).pipe(
 *   Effect.catchTag("StorageError", (error) => Effect.succeed(error.message))
 * )
 * ```
 */
export class StorageError extends Data.TaggedError("StorageError")<{
  readonly operation: string
  readonly message: string
  readonly retryable: boolean
  readonly isUnstorable?: boolean
  readonly cause?: unknown
}> {}

/** Converts an error of `effect/sql` to a {@link StorageError} of the operation. */
export const fromSql = (operation: string, error: SqlError | MigrationError): StorageError => {
  const sqlError = sqlErrorOf(error)
  const general = isSqlError(error)
    ? "The database did not answer as expected."
    : "The database could not be brought up to date."
  if (sqlError === undefined) return new StorageError({ operation, message: general, retryable: false, cause: error })
  const { reason } = sqlError
  const meaning = postgresErrors.meaningOf(reason)
  return new StorageError({
    operation,
    message: sqliteErrors.describe(reason.cause) ?? meaning?.sentence ?? general,
    retryable: meaning?.isRetryable ?? sqlError.isRetryable,
    ...(postgresErrors.isUnstorable(reason) ? { isUnstorable: true } : {}),
    cause: error
  })
}

/**
 * Converts `SqlError` and `MigrationError` in an effect's error union to {@link StorageError}.
 * Other errors pass.
 */
export const mapSqlError =
  (operation: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.catchIf(
      effect,
      (error: E): error is Extract<E, SqlError | MigrationError> =>
        isSqlError(error) || error instanceof MigrationError,
      (error) => Effect.fail(fromSql(operation, error))
    )
