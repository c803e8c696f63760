/**
 * `effect/sql` over `node:sqlite`, with one connection. Effect 4.1 has no such layer yet; for
 * Postgres, `@effect/sql-pg` has one.
 */
import { Effect, Layer, Semaphore, Stream } from "effect"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import { makeCompilerSqlite } from "effect/sql/Statement"
import { DatabaseSync, type SQLInputValue } from "node:sqlite"

const isInput = (value: unknown): value is SQLInputValue =>
  value === null ||
  typeof value === "number" ||
  typeof value === "bigint" ||
  typeof value === "string" ||
  ArrayBuffer.isView(value)

const failed = (cause: unknown) => {
  // Effect reads the code of SQLite from `errno`, where other drivers have it.
  if (cause instanceof Error && "errcode" in cause) Object.assign(cause, { errno: cause.errcode })
  return new SqlError({ reason: classifySqliteError(cause, { operation: "execute" }) })
}

const makeConnection = (database: DatabaseSync): Connection => {
  const rows = (text: string, params: ReadonlyArray<unknown>, asArrays: boolean) =>
    Effect.withFiber((fiber) => {
      try {
        if (!params.every(isInput)) throw new TypeError("SQLite does not support the type of a parameter")
        const statement = database.prepare(text)
        statement.setReadBigInts(fiber.getRef(SqlClient.SafeIntegers))
        statement.setReturnArrays(asArrays)
        return Effect.succeed(statement.all(...params))
      } catch (cause) {
        return Effect.fail(failed(cause))
      }
    })
  const execute: Connection["execute"] = (text, params, transformRows) =>
    Effect.map(rows(text, params, false), (all) => (transformRows === undefined ? all : transformRows(all)))
  const executeValues: Connection["executeValues"] = (text, params) =>
    Effect.map(rows(text, params, true), (all) => all.map((row) => Object.values(row)))
  return {
    execute,
    executeRaw: (text, params) => rows(text, params, false),
    executeStream: (text, params, transformRows) =>
      Stream.unwrap(Effect.map(execute(text, params, transformRows), Stream.fromIterable)),
    executeValues,
    executeValuesUnprepared: executeValues,
    executeUnprepared: execute
  }
}

const make = Effect.fnUntraced(function* (filename: string) {
  const database = yield* Effect.acquireRelease(
    Effect.sync(() => new DatabaseSync(filename)),
    (database) => Effect.sync(() => database.close())
  )
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
  return yield* SqlClient.make({
    ...SqlClient.makeSqliteAcquirers({
      connection: Effect.succeed(makeConnection(database)),
      semaphore: yield* Semaphore.make(1),
      isTransaction: () => database.isTransaction
    }),
    compiler: makeCompilerSqlite(),
    driver: "node:sqlite",
    beginTransaction: "BEGIN IMMEDIATE",
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

/** The database in this file, which is created if it is missing. */
export const layer = (filename: string): Layer.Layer<SqlClient.SqlClient> =>
  Layer.effect(SqlClient.SqlClient, make(filename)).pipe(Layer.provide(Reactivity.layer))
