import { MigrationError } from "effect/sql/Migrator"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

/** The error of the database, if there is one: that of a migration is its cause. */
export const sqlErrorOf = (error: unknown): SqlError | undefined =>
  isSqlError(error) ? error : error instanceof MigrationError && isSqlError(error.cause) ? error.cause : undefined
