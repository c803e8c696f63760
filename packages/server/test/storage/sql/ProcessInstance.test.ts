import { describe, expect, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Context, Duration, Effect, Exit, FileSystem, Layer, Logger, Scope } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import { layerSql, ProcessInstance } from "../../../src/storage/sql/ProcessInstance.ts"
import * as SqliteClient from "../../../src/storage/sqlite/SqliteClient.ts"
import * as SqliteProcessLocks from "../../../src/storage/sqlite/SqliteProcessLocks.ts"
import { clockAhead, temporaryFolder } from "../../TestStorage.ts"

const database = Migrations.layer.pipe(
  Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" })),
  Layer.provideMerge(layerWebCrypto)
)

/** A process over the database in the context. It lives as long as `scope`. */
const start = (scope: Scope.Scope) =>
  Effect.map(Layer.buildWithScope(Layer.fresh(layerSql()), scope), (context) => Context.get(context, ProcessInstance))

/** What a killed process leaves: its row, and an unlocked lock file. */
const killed = Effect.fnUntraced(function* (folder: string, id: string) {
  const fs = yield* FileSystem.FileSystem
  const sql = yield* SqlClient
  yield* fs.makeDirectory(folder, { recursive: true })
  yield* fs.writeFileString(`${folder}/${id}`, "")
  yield* sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES (${id}, 0, 1000000)`
})

/** A process with a lock file in the folder. */
const startLocked = (scope: Scope.Scope, folder: string) =>
  Effect.provide(start(scope), SqliteProcessLocks.layer(folder))

describe("ProcessInstance", () => {
  it.effect("is alive to others while it sends heartbeats, and dead after it has deregistered", () =>
    Effect.gen(function* () {
      const mine = yield* start(yield* Effect.scope)
      const scope = yield* Scope.make()
      const theirs = yield* start(scope)
      expect(theirs.id).not.toBe(mine.id)
      yield* TestClock.adjust("5 minutes")
      expect(yield* mine.alive).toEqual(new Set([mine.id, theirs.id]))
      yield* Scope.close(scope, Exit.void)
      expect(yield* mine.isAlive(theirs.id)).toBe(false)
      expect(yield* mine.isAlive(mine.id)).toBe(true)
    }).pipe(Effect.provide(database))
  )

  it.effect("counts as dead after 7 seconds without a heartbeat, and is deleted after 70", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      // The time of the heartbeat does not matter: clocks of different machines differ.
      yield* sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES ('proc_killed', 0, 1000000)`
      const mine = yield* start(yield* Effect.scope)
      yield* TestClock.adjust("6 seconds")
      expect(yield* mine.isAlive("proc_killed")).toBe(true)
      yield* mine.prune
      yield* TestClock.adjust("1 second")
      expect(yield* mine.isAlive("proc_killed")).toBe(false)
      yield* mine.prune
      expect(yield* sql`SELECT id FROM processes`).toHaveLength(2)
      yield* TestClock.adjust("63 seconds")
      yield* mine.prune
      expect((yield* sql`SELECT id FROM processes`).map((row) => row.id)).toEqual([mine.id])
    }).pipe(Effect.provide(database))
  )

  it.effect("counts as alive to a process whose clock is ahead, behind or set back, and is not deleted by it", () =>
    Effect.gen(function* () {
      for (const off of [Duration.toMillis("1 hour"), -Duration.toMillis("1 hour"), Duration.toMillis("400 days")]) {
        const mine = yield* start(yield* Effect.scope)
        const theirs = yield* start(yield* Effect.scope).pipe(clockAhead(off))
        yield* TestClock.adjust("3 minutes")
        yield* TestClock.setTime(0)
        yield* TestClock.adjust("2 hours")
        yield* mine.prune
        yield* theirs.prune.pipe(clockAhead(off))
        expect(yield* mine.isAlive(theirs.id)).toBe(true)
        expect(yield* theirs.isAlive(mine.id).pipe(clockAhead(off))).toBe(true)
      }
    }).pipe(Effect.provide(database))
  )

  it.effect("does not count as dead after a time in which no process could write", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const mine = yield* start(yield* Effect.scope)
      const theirs = yield* start(yield* Effect.scope)
      yield* TestClock.adjust("1 minute")
      yield* sql`ALTER TABLE processes RENAME TO elsewhere`
      yield* TestClock.adjust("5 minutes")
      yield* sql`ALTER TABLE elsewhere RENAME TO processes`
      expect(yield* mine.isAlive(theirs.id)).toBe(true)
      yield* TestClock.adjust("1 minute")
      expect(yield* mine.isAlive(theirs.id)).toBe(true)
    }).pipe(Effect.provide([database, Logger.layer([])]))
  )

  it.effect("is dead to others at once when it was killed, if processes use lock files", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const sql = yield* SqlClient
      const folder = `${yield* temporaryFolder}/processes`
      yield* killed(folder, "proc_before")
      const mine = yield* startLocked(yield* Effect.scope, folder)
      const theirs = yield* startLocked(yield* Effect.scope, folder)
      expect(yield* mine.alive).toEqual(new Set([mine.id, theirs.id]))
      yield* killed(folder, "proc_after")
      expect(yield* mine.isAlive("proc_after")).toBe(false)
      expect(yield* mine.isAlive(theirs.id)).toBe(true)
      // Their rows go later, and their files with them.
      yield* TestClock.adjust("71 seconds")
      yield* mine.prune
      yield* mine.alive
      yield* mine.prune
      expect(yield* sql`SELECT id FROM processes`).toHaveLength(2)
      expect(new Set(yield* fs.readDirectory(folder))).toEqual(new Set([mine.id, theirs.id]))
    }).pipe(Effect.provide([database, NodeServices.layer]))
  )

  it.effect("with a lock file counts as dead if it sends no heartbeat, and as alive again when it does", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const folder = `${yield* temporaryFolder}/processes`
      const mine = yield* startLocked(yield* Effect.scope, folder)
      const locks = yield* SqliteProcessLocks.make(folder)
      yield* locks.acquire("proc_suspended")
      yield* sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES ('proc_suspended', 0, 1000000)`
      yield* TestClock.adjust("7 seconds")
      expect(yield* mine.isAlive("proc_suspended")).toBe(true)
      yield* TestClock.adjust("1 second")
      expect(yield* mine.isAlive("proc_suspended")).toBe(false)
      yield* sql`UPDATE processes SET heartbeat_at = 1000001 WHERE id = 'proc_suspended'`
      expect(yield* mine.isAlive("proc_suspended")).toBe(true)
    }).pipe(Effect.provide([database, NodeServices.layer]))
  )

  it.effect("without a lock file counts as alive while it sends heartbeats, as one of an older version", () =>
    Effect.gen(function* () {
      const folder = `${yield* temporaryFolder}/processes`
      const older = yield* start(yield* Effect.scope)
      const mine = yield* startLocked(yield* Effect.scope, folder)
      yield* TestClock.adjust("1 minute")
      expect(yield* mine.isAlive(older.id)).toBe(true)
    }).pipe(Effect.provide([database, NodeServices.layer]))
  )

  it.effect("removes its lock file at the end", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = `${yield* temporaryFolder}/processes`
      const scope = yield* Scope.make()
      yield* startLocked(scope, folder)
      expect(yield* fs.readDirectory(folder)).toHaveLength(1)
      yield* Scope.close(scope, Exit.void)
      expect(yield* fs.readDirectory(folder)).toEqual([])
    }).pipe(Effect.provide([database, NodeServices.layer]))
  )
})
