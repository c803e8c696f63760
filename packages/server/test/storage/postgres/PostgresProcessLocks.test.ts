import { describe, expect, it } from "@effect/vitest"
import { Context, Duration, Effect, Exit, Layer, Schedule, Scope } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as RealClock from "../../../src/internal/RealClock.ts"
import * as Dialect from "../../../src/storage/sql/Dialect.ts"
import { layerSql, ProcessInstance } from "../../../src/storage/sql/ProcessInstance.ts"
import { ProcessLocks } from "../../../src/storage/sql/ProcessLocks.ts"
import * as TestPostgres from "../../TestPostgres.ts"
import { clockAhead, layerClient } from "../../TestStorage.ts"

const database = Layer.unwrap(Effect.map(TestPostgres.create, layerClient)).pipe(Layer.provideMerge(layerWebCrypto))

/** A process over the database in the context. It lives as long as `scope`. */
const start = (scope: Scope.Scope) =>
  Effect.map(Layer.buildWithScope(Layer.fresh(layerSql()), scope), (context) => Context.get(context, ProcessInstance))

/** The row of a process that sends no heartbeat. */
const silent = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO processes (id, started_at, heartbeat_at) VALUES (${id}, 0, 1000000)`
})

const heartbeatOf = Effect.fnUntraced(function* ({ id }: ProcessInstance["Service"]) {
  const sql = yield* SqlClient
  const [row] = yield* sql`SELECT heartbeat_at FROM processes WHERE id = ${id}`
  return row === undefined ? 0 : Dialect.int(row, "heartbeat_at")
})

/** Moves the clock until the process has sent so many heartbeats, and seen those of others. */
const beats = Effect.fnUntraced(function* (process: ProcessInstance["Service"], times: number) {
  for (let time = 0; time < times; time++) {
    const last = yield* heartbeatOf(process)
    for (let wait = 0; (yield* heartbeatOf(process)) === last; wait++) {
      // Again if it did not sleep yet.
      if (wait % 100 === 0) yield* TestClock.adjust("1 second")
      yield* RealClock.provide(Effect.sleep("5 millis"))
    }
    // It reads the heartbeats of others after that, and sleeps.
    yield* RealClock.provide(Effect.sleep("50 millis"))
  }
})

/** The server processes of the connections that hold a process's lock. */
const holders = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient
  return (yield* sql`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
    AND (classid::bigint << 32) | objid::bigint = hashtextextended(${id}, 0)`).map((row) => Dialect.int(row, "pid"))
})

describe.skipIf(!TestPostgres.isInstalled)("a process on Postgres", () => {
  it.effect("is dead to others 3 seconds after its connection ended, and after 7 if its connection stays", () =>
    Effect.gen(function* () {
      const mine = yield* start(yield* Effect.scope)
      const theirs = yield* start(yield* Effect.scope)
      yield* silent("proc_killed")
      yield* silent("proc_hanging")
      yield* (yield* ProcessLocks).acquire("proc_hanging")
      yield* beats(mine, 3)
      expect(yield* mine.isAlive("proc_killed")).toBe(true)
      yield* beats(mine, 1)
      expect(yield* mine.isAlive("proc_killed")).toBe(false)
      expect(yield* mine.isAlive("proc_hanging")).toBe(true)
      yield* beats(mine, 4)
      expect(yield* mine.isAlive("proc_hanging")).toBe(false)
      expect(yield* mine.isAlive(theirs.id)).toBe(true)
    }).pipe(Effect.scoped, Effect.provide(database))
  )

  it.effect("takes its lock again when it loses its connection, and counts as alive meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const mine = yield* start(yield* Effect.scope)
      const theirs = yield* start(yield* Effect.scope)
      const before = yield* holders(theirs.id)
      expect(before).toHaveLength(1)
      yield* sql`SELECT pg_terminate_backend(${before[0] ?? 0}::int)`
      yield* beats(mine, 1)
      expect(yield* mine.isAlive(theirs.id)).toBe(true)
      const after = yield* holders(theirs.id).pipe(
        Effect.repeat({
          until: (pids) => pids.length === 1 && pids[0] !== before[0],
          schedule: Schedule.spaced("20 millis")
        }),
        RealClock.provide
      )
      expect(after).toHaveLength(1)
    }).pipe(Effect.scoped, Effect.provide(database))
  )

  it.effect("releases its lock at the end", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const process = yield* start(scope)
      expect(yield* holders(process.id)).toHaveLength(1)
      yield* Scope.close(scope, Exit.void)
      expect(yield* holders(process.id)).toEqual([])
    }).pipe(Effect.scoped, Effect.provide(database))
  )

  it.effect("counts as alive to a process whose clock is an hour ahead or behind, or jumps", () =>
    Effect.gen(function* () {
      for (const off of [Duration.toMillis("1 hour"), -Duration.toMillis("1 hour")]) {
        const mine = yield* start(yield* Effect.scope)
        const theirs = yield* start(yield* Effect.scope).pipe(clockAhead(off))
        yield* beats(mine, 2)
        yield* TestClock.setTime((yield* heartbeatOf(mine)) + Math.abs(off))
        yield* beats(mine, 9)
        yield* mine.prune
        yield* theirs.prune.pipe(clockAhead(off))
        expect(yield* mine.isAlive(theirs.id)).toBe(true)
        expect(yield* theirs.isAlive(mine.id).pipe(clockAhead(off))).toBe(true)
      }
    }).pipe(Effect.scoped, Effect.provide(database))
  )
})
