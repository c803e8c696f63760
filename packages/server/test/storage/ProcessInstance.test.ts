import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as Migrations from "../../src/storage/Migrations.ts"
import { layerSql, ProcessInstance } from "../../src/storage/ProcessInstance.ts"
import * as SqliteClient from "../../src/storage/SqliteClient.ts"

const database = Migrations.layer.pipe(
  Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" })),
  Layer.provideMerge(layerWebCrypto)
)

/** A process over the database of the context, alive as long as `scope`. */
const start = (scope: Scope.Scope) =>
  Effect.map(Layer.buildWithScope(Layer.fresh(layerSql()), scope), (context) => Context.get(context, ProcessInstance))

describe("ProcessInstance", () => {
  it.effect("is alive to others while it beats, and dead when it has signed off", () =>
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

  it.effect("is dead 30 seconds after its last beat, and forgotten an hour after", () =>
    Effect.gen(function* () {
      const mine = yield* start(yield* Effect.scope)
      const sql = yield* SqlClient
      yield* sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES ('proc_killed', 0, 0)`
      yield* TestClock.adjust("30 seconds")
      expect(yield* mine.isAlive("proc_killed")).toBe(true)
      yield* TestClock.adjust("1 second")
      expect(yield* mine.isAlive("proc_killed")).toBe(false)
      yield* TestClock.adjust("1 hour")
      yield* mine.prune
      expect((yield* sql`SELECT id FROM processes`).map((row) => row.id)).toEqual([mine.id])
    }).pipe(Effect.provide(database))
  )
})
