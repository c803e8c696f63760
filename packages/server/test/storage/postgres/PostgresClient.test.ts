import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../../../src/storage/sql/Dialect.ts"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import { mapSqlError } from "../../../src/storage/sql/StorageError.ts"
import * as PostgresClient from "../../../src/storage/postgres/PostgresClient.ts"
import { databases } from "../../TestDatabases.ts"
import * as TestPostgres from "../../TestPostgres.ts"

describe.each(databases)("on $name", ({ layer }) => {
  it.effect("values come back as they were written", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const insert = Dialect.prepare(
        sql,
        "INSERT INTO milestones (name, reached_at) VALUES (?1, ?2) RETURNING name, reached_at"
      )
      for (const [name, time] of [
        ["small", 7],
        ["large", Number.MAX_SAFE_INTEGER],
        ["negative", -5_000_000_000],
        ["ä\u{1F600}'\"\\", 0]
      ] as const) {
        expect(yield* sql.withTransaction(insert(name, time))).toMatchObject([{ name, reached_at: time }])
        expect(yield* sql`SELECT reached_at FROM milestones WHERE name = ${name}`).toMatchObject([{ reached_at: time }])
      }
      expect(yield* sql`SELECT COUNT(*) AS n FROM milestones`).toMatchObject([{ n: 4 }])
    }).pipe(Effect.provide(layer))
  )

  it.effect("a sum of small parameters may be large", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const most = 2 ** 31 - 1
      const [row] = yield* sql`SELECT ${most} + ${most} AS n`
      expect(row?.n).toBe(2 * most)
    }).pipe(Effect.provide(layer))
  )

  it.effect("text is ordered by its bytes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      for (const name of ["b", "a", "B", "_", "Z", "a_b", "aB"]) {
        yield* sql`INSERT INTO milestones (name, reached_at) VALUES (${name}, 0)`
      }
      const rows = yield* sql`SELECT name FROM milestones ORDER BY name`
      expect(rows.map(({ name }) => name)).toEqual(["B", "Z", "_", "a", "aB", "a_b", "b"])
      const after = yield* sql`SELECT name FROM milestones WHERE name > ${"_"} ORDER BY name`
      expect(after.map(({ name }) => name)).toEqual(["a", "aB", "a_b", "b"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("a process that finds a migrated database changes nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const applied = sql`SELECT migration_id, created_at FROM schema_migrations ORDER BY migration_id`
      const before = yield* applied
      yield* Migrations.run
      expect(yield* applied).toEqual(before)
    }).pipe(Effect.provide(layer))
  )
})

describe.runIf(TestPostgres.isInstalled)("while transactions use all connections", () => {
  it.live("a statement fails after the time limit, and works when one of them ends", () =>
    Effect.gen(function* () {
      const url = Redacted.make(yield* TestPostgres.create)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const isBegun = yield* Deferred.make<void>()
        const end = yield* Deferred.make<void>()
        const body = Effect.andThen(Deferred.succeed(isBegun, undefined), Deferred.await(end))
        const transaction = yield* Effect.forkChild(sql.withTransaction(body))
        yield* Deferred.await(isBegun)
        const statement = sql`SELECT 1 AS n`
        for (const waiting of [statement, sql.withTransaction(statement)]) {
          const error = yield* Effect.flip(mapSqlError("test")(Effect.timeout(waiting, "10 seconds")))
          expect(error).toMatchObject({ message: "All connections to the database are in use.", retryable: true })
        }
        yield* Deferred.succeed(end, undefined)
        yield* Fiber.join(transaction)
        expect(yield* statement).toEqual([{ n: 1 }])
      }).pipe(Effect.provide(PostgresClient.layer({ url, maxConnections: 1, timeout: 100 })))
    }).pipe(Effect.scoped)
  )
})
