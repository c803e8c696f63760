import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Transactions } from "../../../src/storage/sql/Transactions.ts"
import { mapSqlError } from "../../../src/storage/sql/StorageError.ts"
import * as WatchedSqlite from "./WatchedSqlite.ts"

const database = WatchedSqlite.layer()

const sqliteError = (errcode: number) => Object.assign(new Error("refused"), { errcode })

/** A function that writes a name in a transaction whose statements run at once. */
const writer = Effect.gen(function* () {
  const { local } = yield* Transactions
  if (local === undefined) return yield* Effect.die("SQLite is in this process")
  const insert = local.prepare("INSERT INTO milestones (name, reached_at) VALUES (:name, :now)")
  return <A, E>(name: string, end: () => Exit.Exit<A, E>) =>
    local.run(() => {
      insert.change({ name, now: 1 })
      return end()
    })
})

const names = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ name: string }>`SELECT name FROM milestones ORDER BY name`
  return rows.map((row) => row.name)
})

describe("transactions on SQLite that share a commit", () => {
  it.effect("are committed if they succeed and rolled back if they fail, in few commits", () => {
    let commits = 0
    return Effect.gen(function* () {
      const write = yield* writer
      const exits = yield* Effect.all(
        Array.from({ length: 250 }, (_, i) =>
          Effect.exit(
            write(String(i).padStart(3, "0"), () => {
              if (i % 50 === 1) throw new Error(`broke ${i}`)
              return i % 3 === 0 ? Exit.fail(`no ${i}`) : Exit.succeed(i)
            })
          )
        ),
        { concurrency: "unbounded" }
      )
      expect(exits[2]).toEqual(Exit.succeed(2))
      expect(exits[3]).toEqual(Exit.fail("no 3"))
      expect(exits[1]).toEqual(Exit.die(new Error("broke 1")))
      const kept = exits.flatMap((exit, i) => (Exit.isSuccess(exit) ? [String(i).padStart(3, "0")] : []))
      expect(yield* names).toEqual(kept)
      expect(kept.length).toBe(250 - 84 - 3)
      expect(commits).toBe(3)
    }).pipe(
      Effect.provide(
        WatchedSqlite.layer((text) => {
          if (text === "COMMIT") commits++
        })
      )
    )
  })

  it.effect("fail together with the reason when the disk is full, and keep nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const write = yield* writer
      yield* sql`PRAGMA max_page_count = 1`
      const large = "x".repeat(100_000)
      const exits = yield* Effect.all(
        ["small", large, "other"].map((name) =>
          write(name, () => Exit.succeed(name)).pipe(mapSqlError("fill"), Effect.exit)
        ),
        { concurrency: "unbounded" }
      )
      for (const exit of exits) {
        expect(exit).toMatchObject(
          Exit.fail({ _tag: "StorageError", message: "The disk holding the database is full." })
        )
      }
      yield* sql`PRAGMA max_page_count = 1000000`
      expect(yield* names).toEqual([])
      yield* write("later", () => Exit.void)
      expect(yield* names).toEqual(["later"])
    }).pipe(Effect.provide(database))
  )

  it.effect("fail together when the commit fails, and keep nothing", () => {
    let isBroken = true
    return Effect.gen(function* () {
      const write = yield* writer
      const all = Effect.all(
        ["a", "b"].map((name) => write(name, () => Exit.void).pipe(mapSqlError("write"), Effect.exit)),
        { concurrency: "unbounded" }
      )
      for (const exit of yield* all) {
        expect(exit).toMatchObject(
          Exit.fail({ _tag: "StorageError", message: "The disk holding the database failed." })
        )
      }
      expect(yield* names).toEqual([])
      isBroken = false
      expect((yield* all).every(Exit.isSuccess)).toBe(true)
      expect(yield* names).toEqual(["a", "b"])
    }).pipe(
      Effect.provide(
        WatchedSqlite.layer((text) => {
          if (text === "COMMIT" && isBroken) throw sqliteError(10)
        })
      )
    )
  })

  it.live("wait for the lock of another process before each attempt, and none is lost", () => {
    let begins = 0
    return Effect.gen(function* () {
      const write = yield* writer
      const exits = yield* Effect.all(
        ["a", "b", "c"].map((name) => Effect.exit(write(name, () => (name === "b" ? Exit.fail("no") : Exit.void)))),
        { concurrency: "unbounded" }
      )
      expect(exits).toEqual([Exit.void, Exit.fail("no"), Exit.void])
      expect(yield* names).toEqual(["a", "c"])
      // Two met the lock, two were rolled back, and the one with savepoints was committed.
      expect(begins).toBe(5)
    }).pipe(
      Effect.provide(
        WatchedSqlite.layer((text) => {
          // Locked at first, and again before the group is repeated with savepoints.
          if (text === "BEGIN IMMEDIATE" && [1, 3].includes(++begins)) throw sqliteError(5)
        })
      )
    )
  })

  it.live("run at once if they are alone, and each is committed or rolled back", () => {
    const refuse = new Map([
      ["BEGIN IMMEDIATE", [2]],
      ["COMMIT", [3]]
    ])
    const counts = new Map<string, number>()
    return Effect.gen(function* () {
      const { local } = yield* Transactions
      const insert = local?.prepare("INSERT INTO milestones (name, reached_at) VALUES (:name, 1)")
      const write = <A, E>(name: string, end: Exit.Exit<A, E>) =>
        Effect.forkChild(
          Effect.exit(
            local?.run(() => {
              insert?.change({ name })
              return end
            }, true) ?? Effect.die("SQLite is in this process")
          ),
          { startImmediately: true }
        )
      const first = yield* write("first", Exit.succeed(1))
      expect(first.pollUnsafe()).toEqual(Exit.succeed(Exit.succeed(1)))
      // This one waits for the lock of another process.
      const second = yield* write("second", Exit.succeed(2))
      expect(second.pollUnsafe()).toBeUndefined()
      expect(yield* Fiber.join(second)).toEqual(Exit.succeed(2))
      expect(yield* Fiber.join(yield* write("third", Exit.fail("no")))).toEqual(Exit.fail("no"))
      expect(Exit.isFailure(yield* Fiber.join(yield* write("first", Exit.void)))).toBe(true)
      expect(Exit.isFailure(yield* Fiber.join(yield* write("fourth", Exit.void)))).toBe(true)
      expect(Exit.isSuccess(yield* Fiber.join(yield* write("fifth", Exit.void)))).toBe(true)
      expect(yield* names).toEqual(["fifth", "first", "second"])
    }).pipe(
      Effect.provide(
        WatchedSqlite.layer((text) => {
          const count = (counts.get(text) ?? 0) + 1
          counts.set(text, count)
          if (refuse.get(text)?.includes(count)) throw sqliteError(text === "COMMIT" ? 10 : 5)
        })
      )
    )
  })

  it.effect("report a violated constraint only to the transaction that violated it", () =>
    Effect.gen(function* () {
      const write = yield* writer
      const exits = yield* Effect.all(
        ["a", "b", "a", "c"].map((name) => Effect.exit(write(name, () => Exit.void))),
        { concurrency: "unbounded" }
      )
      expect(exits.map(Exit.isSuccess)).toEqual([true, true, false, true])
      expect(yield* names).toEqual(["a", "b", "c"])
    }).pipe(Effect.provide(database))
  )

  it.effect("are part of the caller's transaction, which goes on when one fails", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const write = yield* writer
      const { prepare } = yield* Transactions
      const remove = prepare("DELETE FROM milestones WHERE name = ?1")
      const outer = sql.withTransaction(
        Effect.gen(function* () {
          yield* write("first", () => Exit.void)
          expect(yield* Effect.flip(write("second", () => Exit.fail("no")))).toBe("no")
          yield* write("third", () => Exit.void)
          yield* remove("third")
        })
      )
      expect(yield* Effect.flip(sql.withTransaction(Effect.andThen(outer, Effect.fail("undone"))))).toBe("undone")
      expect(yield* names).toEqual([])
      yield* outer
      expect(yield* names).toEqual(["first"])
    }).pipe(Effect.provide(database))
  )

  it.effect("write once before a commit what its transactions have collected, without those that failed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { local } = yield* Transactions
      if (local === undefined) return yield* Effect.die("SQLite is in this process")
      const written: Array<ReadonlyArray<string>> = []
      const insert = local.prepare("INSERT INTO milestones (name, reached_at) VALUES (:name, 1)")
      const keep = local.collect<string>((entries) => {
        if (entries.includes("refused")) throw new Error("not written")
        written.push([...entries])
        insert.change({ name: entries.join(" ") })
      })
      const run = (name: string, isAlone?: boolean) =>
        Effect.exit(
          local.run(() => {
            keep(name)
            return name.startsWith("no") ? Exit.fail(name) : Exit.succeed(name)
          }, isAlone)
        )
      const group = (group: ReadonlyArray<string>) =>
        Effect.forEach(group, (name) => run(name), { concurrency: "unbounded" })
      yield* group(["a", "b"])
      expect((yield* group(["c", "no-1", "d", "no-2", "e"])).map(Exit.isSuccess)).toEqual([
        true,
        false,
        true,
        false,
        true
      ])
      yield* group(["no-3", "no-4"])
      yield* run("f", true)
      yield* run("no-5", true)
      yield* local.run(() => Exit.void)
      // A transaction whose entries are not written fails with all of its commit.
      expect((yield* group(["g", "refused"])).map(Exit.isFailure)).toEqual([true, true])
      expect(Exit.isFailure(yield* run("refused", true))).toBe(true)
      const kept = ["a b", "c d e", "f"]
      expect(yield* names).toEqual(kept)
      // In the caller's transaction, each writes its own.
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* run("h")
          yield* run("no-6")
          expect(Exit.isFailure(yield* run("refused"))).toBe(true)
          yield* run("i")
        })
      )
      yield* Effect.exit(sql.withTransaction(Effect.andThen(run("j"), Effect.fail("undone"))))
      expect(yield* names).toEqual([...kept, "h", "i"])
      yield* run("k")
      expect(written).toEqual([["a", "b"], ["c", "d", "e"], ["f"], ["h"], ["i"], ["j"], ["k"]])
    }).pipe(Effect.provide(database))
  )
})
