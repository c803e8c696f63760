/**
 * The error of every store when its database fails.
 *
 * The HTTP layer maps it to 503 if the operation has it, otherwise to 500. It never means "not
 * found": stores report that with a value or an error of their own.
 */
import { Data, Effect } from "effect"
import { MigrationError } from "effect/sql/Migrator"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

/**
 * The database could not be opened, read or written.
 *
 * - `message` is one plain sentence that may be shown to the operator; it holds no statement, no
 *   parameter and no secret.
 * - `operation` names what was being done, such as `KeyStore.create`.
 * - `retryable` is true for a lock that was not had in time or a lost connection.
 * - `cause` is the driver's error, for logs.
 *
 * @example
 * ```ts
 * import { Effect } from "effect"
 * import { StorageError } from "@model-gateway/server/storage/sql/StorageError"
 *
 * const program = Effect.fail(new StorageError({ operation: "demo", message: "The disk is full.", retryable: false }))
 * Effect.catchTag(program, "StorageError", (error) => Effect.succeed(error.message))
 * ```
 */
export class StorageError extends Data.TaggedError("StorageError")<{
  readonly operation: string
  readonly message: string
  readonly retryable: boolean
  readonly cause?: unknown
}> {}

/** SQLite's primary result codes that have their own message. */
const sentenceOfCode = (code: number): string | undefined => {
  switch (code & 0xff) {
    case 5:
    case 6:
      return "The database is locked by another process."
    case 8:
      return "The database is read-only."
    case 10:
      return "The disk holding the database failed."
    case 11:
    case 26:
      return "The file is not a SQLite database or is damaged."
    case 13:
      return "The disk holding the database is full."
    case 14:
      return "The path does not lead to a readable file."
    default:
      return undefined
  }
}

const numericCode = (cause: unknown): number | undefined => {
  if (typeof cause !== "object" || cause === null) return undefined
  if ("errcode" in cause && typeof cause.errcode === "number") return cause.errcode
  if ("errno" in cause && typeof cause.errno === "number") return cause.errno
  return undefined
}

/** One sentence for a driver's error, or `undefined` if there is none better than a general one. */
export const describe = (cause: unknown): string | undefined => {
  const code = numericCode(cause)
  return code === undefined ? undefined : sentenceOfCode(code)
}

/** Whether another connection holds the lock (`SQLITE_BUSY`), so that a retry may help. */
export const isLocked = (cause: unknown): boolean => {
  const code = numericCode(cause)
  return code !== undefined && (code & 0xff) === 5
}

/** Converts an error of `effect/sql` to a {@link StorageError} of the operation. */
export const fromSql = (operation: string, error: SqlError | MigrationError): StorageError => {
  if (isSqlError(error)) {
    return new StorageError({
      operation,
      message: describe(error.reason.cause) ?? "The database did not answer as expected.",
      retryable: error.isRetryable,
      cause: error
    })
  }
  const inner = error.cause
  return new StorageError({
    operation,
    message:
      (isSqlError(inner) ? describe(inner.reason.cause) : undefined) ?? "The database could not be brought up to date.",
    retryable: isSqlError(inner) && inner.isRetryable,
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
