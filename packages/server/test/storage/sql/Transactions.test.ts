import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Transactions } from "../../../src/storage/sql/Transactions.ts"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import * as SqliteClient from "../../../src/storage/sqlite/SqliteClient.ts"
import { mapSqlError } from "../../../src/storage/sql/StorageError.ts"

const database = Layer.fresh(Migrations.layer.pipe(Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" }))))

const insert = (name: string) =>
  Effect.flatMap(SqlClient, (sql) => sql`INSERT INTO milestones (name, reached_at) VALUES (${name}, 1)`)

const names = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string }>`SELECT name FROM milestones ORDER BY name`
  return rows.map((row) => row.name)
})

describe("Transactions", () => {
  it.effect("commits transactions that succeed and rolls back those that fail", () =>
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const sql = yield* SqlClient
      const exits = yield* Effect.all(
        Array.from({ length: 250 }, (_, i) =>
          Effect.provideService(insert(String(i).padStart(3, "0")), SqlClient, sql).pipe(
            Effect.andThen(
              i % 3 === 0 ? Effect.fail(`no ${i}`) : i % 50 === 1 ? Effect.die(`broke ${i}`) : Effect.succeed(i)
            ),
            transactions.run,
            Effect.exit
          )
        ),
        { concurrency: "unbounded" }
      )
      const kept = exits.flatMap((exit, i) => (Exit.isSuccess(exit) ? [[i, exit.value]] : []))
      expect(kept.every(([i, value]) => i === value)).toBe(true)
      expect(exits[3]).toEqual(Exit.fail("no 3"))
      expect(exits[1]).toEqual(Exit.die("broke 1"))
      expect(yield* names).toEqual(kept.map(([i]) => String(i).padStart(3, "0")))
      expect(kept.length).toBe(250 - 84 - 3)
    }).pipe(Effect.provide(database))
  )

  it.effect("fails every transaction with the reason when the disk is full, and keeps nothing", () =>
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const sql = yield* SqlClient
      const fill = Effect.provideService(insert("x".repeat(100_000)), SqlClient, sql)
      // SQLite then rolls back the transaction by itself.
      yield* sql`PRAGMA max_page_count = 1`
      const exits = yield* Effect.all(
        Array.from({ length: 3 }, () => fill.pipe(transactions.run, mapSqlError("fill"), Effect.exit)),
        { concurrency: "unbounded" }
      )
      for (const exit of exits) {
        expect(exit).toMatchObject(
          Exit.fail({ _tag: "StorageError", message: "The disk holding the database is full." })
        )
      }
      yield* sql`PRAGMA max_page_count = 1000000`
      expect(yield* names).toEqual([])
      yield* transactions.run(Effect.provideService(insert("later"), SqlClient, sql))
      expect(yield* names).toEqual(["later"])
    }).pipe(Effect.provide(database))
  )

  it.effect("reports a violated constraint only to the transaction that violated it", () =>
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const sql = yield* SqlClient
      const write = (name: string) => transactions.run(Effect.provideService(insert(name), SqlClient, sql))
      const exits = yield* Effect.all(
        ["a", "b", "a", "c"].map((name) => Effect.exit(write(name))),
        { concurrency: "unbounded" }
      )
      expect(exits.map(Exit.isSuccess)).toEqual([true, true, false, true])
      expect(yield* names).toEqual(["a", "b", "c"])
    }).pipe(Effect.provide(database))
  )

  it.effect("joins the caller's transaction, and is rolled back with it", () =>
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const sql = yield* SqlClient
      const inner = transactions.run(Effect.provideService(insert("inner"), SqlClient, sql))
      const outer = sql.withTransaction(Effect.andThen(inner, Effect.fail("no")))
      expect(yield* Effect.flip(outer)).toBe("no")
      expect(yield* names).toEqual([])
      yield* sql.withTransaction(inner)
      expect(yield* names).toEqual(["inner"])
    }).pipe(Effect.provide(database))
  )

  it.effect("finishes a transaction that has begun when its caller is interrupted", () =>
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const sql = yield* SqlClient
      const fiber = yield* Effect.forkChild(transactions.run(Effect.provideService(insert("a"), SqlClient, sql)), {
        startImmediately: true
      })
      yield* Fiber.interrupt(fiber)
      expect(yield* names).toEqual(["a"])
    }).pipe(Effect.provide(database))
  )

  it.effect("runs after-commit effects only after the commit", () =>
    Effect.gen(function* () {
      const transactions = yield* Transactions
      const sql = yield* SqlClient
      const seen: Array<ReadonlyArray<string>> = []
      const look = Effect.provideService(names, SqlClient, sql).pipe(
        Effect.map((found) => seen.push(found)),
        Effect.ignore
      )
      yield* transactions.run(Effect.andThen(sql.afterCommit(look), Effect.provideService(insert("a"), SqlClient, sql)))
      expect(seen).toEqual([["a"]])
    }).pipe(Effect.provide(database))
  )
})
