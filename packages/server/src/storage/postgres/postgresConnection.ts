/**
 * Adapts a connection of `@effect/sql-pg` to `effect/sql`, so that both databases read and write
 * the same JavaScript values.
 *
 * Integers are sent as `int8` and read as numbers. By itself the driver chooses the type of a
 * parameter by the size of its value, so that one statement would be prepared several times and
 * sums of small parameters would overflow.
 */
import type { PgConnection } from "@effect/sql-pg/PgConnection"
import * as PgTypes from "@effect/sql-pg/PgTypes"
import { Effect, Result } from "effect"
import type { Connection } from "effect/sql/SqlConnection"
import { SqlError, StatementTimeoutError } from "effect/sql/SqlError"
import * as RealClock from "../../internal/RealClock.ts"
import { IsMigrating } from "../sql/IsMigrating.ts"

const int8: PgTypes.Codec<number | bigint> = {
  encode: (value) => {
    const bytes = new Uint8Array(8)
    new DataView(bytes.buffer).setBigInt64(0, BigInt(value))
    return Result.succeed(bytes)
  },
  decode: (bytes) => readInt8(bytes, 0),
  read: readInt8
}

/** A number if it is exact, else a bigint. */
function readInt8(bytes: Uint8Array, offset: number) {
  const value = new DataView(bytes.buffer, bytes.byteOffset + offset, 8).getBigInt64(0)
  const number = Number(value)
  return Result.succeed(Number.isSafeInteger(number) ? number : value)
}

/** The types of the driver, except that `int8` is a number. */
export const types: PgTypes.Registry = PgTypes.makeRegistry()
types.register(PgTypes.OID.int8, int8, { arrayOid: PgTypes.arrayOidFor(PgTypes.OID.int8) })

const parameter = (value: unknown): unknown =>
  typeof value === "number" && Number.isSafeInteger(value) ? integer(value) : value

const integer = (value: number): PgTypes.Parameter => ({
  [PgTypes.ParameterTypeId]: PgTypes.ParameterTypeId,
  oid: PgTypes.OID.int8,
  value
})

/** Whether a statement ends a transaction or a savepoint without keeping what it did. */
const rollsBack = (text: string): boolean => /^(?:ROLLBACK|RELEASE)\b/.test(text)

/** The connection is lost, and Postgres has rolled back with it. */
const rolledBack = { command: "ROLLBACK", rows: [] }

const unanswered = new SqlError({
  reason: new StatementTimeoutError({ cause: new Error("The statement took too long"), operation: "execute" })
})

/**
 * Makes the connection. A statement that takes longer than `timeout` milliseconds fails, also if
 * Postgres hangs. Migrations have no such limit.
 */
export const make = (connection: PgConnection, timeout: number): Connection => {
  const inTime = <A>(statement: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
    Effect.withFiber((fiber) =>
      fiber.getRef(IsMigrating)
        ? statement
        : RealClock.provide(
            // Interruptible, because transactions are not.
            Effect.timeoutOrElse(Effect.interruptible(statement), {
              duration: timeout,
              orElse: () => Effect.fail(unanswered)
            })
          )
    )
  const query = (text: string, params: ReadonlyArray<unknown>, prepare: boolean) => {
    const result = inTime(connection.query(text, params.map(parameter), prepare))
    // A rollback that fails would be a defect, and hide why the transaction failed.
    return rollsBack(text)
      ? Effect.catchIf(
          result,
          ({ reason }) => reason._tag === "ConnectionError",
          () => Effect.succeed(rolledBack)
        )
      : result
  }
  const values = (text: string, params: ReadonlyArray<unknown>, prepare: boolean) =>
    inTime(connection.queryValues(text, params.map(parameter), prepare))
  const execute =
    (prepare: boolean): Connection["execute"] =>
    (text, params, transformRows) =>
      Effect.map(query(text, params, prepare), ({ rows }) => (transformRows === undefined ? rows : transformRows(rows)))
  return {
    execute: execute(true),
    executeUnprepared: execute(false),
    executeRaw: (text, params) => query(text, params, true),
    executeStream: (text, params) => connection.stream(text, params.map(parameter)),
    executeValues: (text, params) => values(text, params, true),
    executeValuesUnprepared: (text, params) => values(text, params, false)
  }
}
