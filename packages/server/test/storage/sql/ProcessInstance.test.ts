import { describe, expect, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Logger, Scope } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import { layerSql, ProcessInstance } from "../../../src/storage/sql/ProcessInstance.ts"
import * as SqliteClient from "../../../src/storage/sqlite/SqliteClient.ts"
import { clockAhead } from "../../TestStorage.ts"

const database = Migrations.layer.pipe(
  Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" })),
  Layer.provideMerge(layerWebCrypto)
)

/** A process over the database in the context. It lives as long as `scope`. */
const start = (scope: Scope.Scope) =>
  Effect.map(Layer.buildWithScope(Layer.fresh(layerSql()), scope), (context) => Context.get(context, ProcessInstance))

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

  it.effect("counts as dead after 30 seconds without a heartbeat, and is deleted after five minutes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      // The time of the heartbeat does not matter: clocks of different machines differ.
      yield* sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES ('proc_killed', 0, 1000000)`
      const mine = yield* start(yield* Effect.scope)
      yield* TestClock.adjust("29 seconds")
      expect(yield* mine.isAlive("proc_killed")).toBe(true)
      yield* mine.prune
      yield* TestClock.adjust("1 second")
      expect(yield* mine.isAlive("proc_killed")).toBe(false)
      yield* mine.prune
      expect(yield* sql`SELECT id FROM processes`).toHaveLength(2)
      yield* TestClock.adjust("5 minutes")
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
})
