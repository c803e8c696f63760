import { NodeFileSystem, NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, FileSystem, Layer, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { SafeIntegers, SqlClient } from "effect/sql/SqlClient"
import { fileURLToPath } from "node:url"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import * as SqliteClient from "../../../src/storage/sqlite/SqliteClient.ts"
import { layer, layerAt, temporaryFolder } from "../../TestStorage.ts"

const insert = (name: string) =>
  Effect.flatMap(SqlClient, (sql) => sql`INSERT INTO milestones (name, reached_at) VALUES (${name}, ${1})`)

const names = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string }>`SELECT name FROM milestones ORDER BY name`
  return rows.map((row) => row.name)
})

describe("SqliteClient", () => {
  it.effect("keeps the writes of a committed transaction, and none of a failed one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql.withTransaction(insert("kept"))
      const failed = yield* Effect.exit(sql.withTransaction(Effect.andThen(insert("lost"), Effect.fail("no"))))
      expect(Exit.isFailure(failed)).toBe(true)
      expect(yield* names).toEqual(["kept"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("rolls back a failed nested transaction, and keeps the outer one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const nested = Effect.ignore(sql.withTransaction(Effect.andThen(insert("inner"), Effect.fail("no"))))
      yield* sql.withTransaction(Effect.all([insert("before"), nested, insert("after")]))
      expect(yield* names).toEqual(["after", "before"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("runs concurrent transactions one after another", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`INSERT INTO milestones (name, reached_at) VALUES ('n', 0)`
      const increment = Effect.gen(function* () {
        const [row] = yield* sql<{ reached_at: number }>`SELECT reached_at FROM milestones WHERE name = 'n'`
        yield* Effect.yieldNow
        yield* sql`UPDATE milestones SET reached_at = ${(row?.reached_at ?? 0) + 1} WHERE name = 'n'`
      })
      yield* Effect.all(
        Array.from({ length: 50 }, () => sql.withTransaction(increment)),
        { concurrency: "unbounded" }
      )
      const [row] = yield* sql<{ reached_at: number }>`SELECT reached_at FROM milestones WHERE name = 'n'`
      expect(row?.reached_at).toBe(50)
    }).pipe(Effect.provide(layer))
  )

  it.effect("names a violated constraint", () =>
    Effect.gen(function* () {
      yield* insert("twice")
      const error = yield* Effect.flip(insert("twice"))
      expect(error.reason._tag).toMatch(/UniqueViolation|ConstraintError/)
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects a row with a dangling foreign key", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const error = yield* Effect.flip(
        sql`INSERT INTO credit_ledger (id, workspace_id, amount_micro, balance_micro, created_at) VALUES ('a', 'none', 1, 1, 1)`
      )
      expect(error.reason._tag).toBe("ConstraintError")
    }).pipe(Effect.provide(layer))
  )

  it.effect("reads integers as bigints if `SafeIntegers` is set", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const large = sql<{ n: bigint }>`SELECT 9007199254740993 AS n`
      expect(yield* Effect.provideService(large, SafeIntegers, true)).toEqual([{ n: 9007199254740993n }])
      expect(Exit.isFailure(yield* Effect.exit(large))).toBe(true)
    }).pipe(Effect.provide(layer))
  )

  it.effect("returns rows as arrays and as streams", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* insert("a")
      yield* insert("b")
      const query = sql`SELECT name, reached_at FROM milestones ORDER BY name`
      expect(yield* query.values).toEqual([
        ["a", 1],
        ["b", 1]
      ])
      expect(yield* query).toMatchObject([{ name: "a" }, { name: "b" }])
      expect(yield* Stream.runCollect(query.stream)).toMatchObject([{ name: "a" }, { name: "b" }])
    }).pipe(Effect.provide(layer))
  )

  it.live("waits for another process that is writing", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const filename = `${folder}/gateway.db`
      yield* Effect.gen(function* () {
        const child = yield* ChildProcess.make(
          process.execPath,
          [fileURLToPath(new URL("./fixtures/lock.ts", import.meta.url)), filename],
          { env: { NODE_NO_WARNINGS: "1" }, extendEnv: true }
        )
        const said = yield* Stream.runHead(child.stdout.pipe(Stream.decodeText, Stream.splitLines))
        expect(said).toMatchObject({ value: "locked" })
        const sql = yield* SqlClient
        // Reads first: a transaction that does not begin as a writer would read the old state and
        // then fail to write.
        const seen = yield* sql.withTransaction(Effect.tap(names, insert("ours")))
        expect(seen).toEqual(["theirs"])
        expect(yield* names).toEqual(["ours", "theirs"])
        expect(yield* child.exitCode).toBe(0)
      }).pipe(Effect.provide([layerAt(filename), NodeServices.layer]))
    })
  )

  it.effect("migrates a database once, and does nothing the second time", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const database = SqliteClient.layer({ filename: `${folder}/deep/er/gateway.db` })
      const versions = Effect.gen(function* () {
        yield* Migrations.run
        const sql = yield* SqlClient
        return yield* sql<{ name: string }>`SELECT name FROM schema_migrations ORDER BY migration_id`
      })
      const first = yield* versions.pipe(Effect.provide(Layer.fresh(database)))
      const second = yield* versions.pipe(Effect.provide(Layer.fresh(database)))
      expect(second).toEqual(first)
      expect(first.length).toBe(Object.keys(Migrations.migrations).length)
    })
  )

  const failureOf = (filename: string) =>
    Layer.build(Layer.fresh(SqliteClient.layer({ filename }))).pipe(Effect.scoped, Effect.flip)

  it.effect("fails with a clear error if the file is not a database", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const filename = `${yield* temporaryFolder}/gateway.db`
      yield* fs.writeFileString(filename, "this is a letter, not a database. ".repeat(200))
      const error = yield* failureOf(filename)
      expect(error._tag).toBe("StorageError")
      expect(error.message).toBe(
        `The database ${filename} cannot be opened: the file is not a SQLite database or is damaged.`
      )
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("fails with a clear error if the folder is a file", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = `${yield* temporaryFolder}/data`
      yield* fs.writeFileString(folder, "")
      const error = yield* failureOf(`${folder}/gateway.db`)
      expect(error.message).toBe(`The database ${folder}/gateway.db cannot be opened: its folder is a file.`)
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.effect("fails with a clear error if the path is a folder", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const error = yield* failureOf(folder)
      expect(error.message).toBe(`The database ${folder} cannot be opened: the path does not lead to a readable file.`)
    })
  )

  it.effect("interrupts a fiber that waits for the connection", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const holder = yield* Effect.forkChild(sql.withTransaction(Effect.never))
      yield* Effect.yieldNow
      const waiter = yield* Effect.forkChild(insert("never"))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(waiter)
      yield* Fiber.interrupt(holder)
      expect(yield* names).toEqual([])
    }).pipe(Effect.provide(layer))
  )
})
