import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql/SqlClient"
import { type NewEvent, Outbox } from "../../src/events/Outbox.ts"
import { databases } from "../TestDatabases.ts"

const event = (model: string): NewEvent => ({
  id: `evt_${model}`,
  type: "rerank.completed",
  workspace_id: "w",
  key_hash: "k",
  model,
  generation_id: "g",
  provider: "p",
  upstream_model: "u",
  error_status: null,
  cost_micro: 1000,
  is_byok: false,
  input: { documents: 2 },
  usage: { search_units: 1 },
  user: "ada",
  trace: { trace_id: "t", tenant: ["a", { b: 1 }] },
  started_at: 0,
  attempts: [{ provider: "p", outcome: "Success", seconds: 0.25, billed: "yes" }],
  job: null,
  callback_url: null
})

describe.each(databases)("the outbox on $name", ({ layer }) => {
  it.effect("an event is read as it was written, with its time", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* TestClock.adjust("90 seconds")
      yield* sql.withTransaction(outbox.write(event("a")))
      const [read, ...others] = yield* outbox.read(0, 10)
      expect(others).toEqual([])
      expect(read?.event).toEqual({ ...event("a"), created_at: 90_000, duration_ms: 90_000 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("an event of an earlier release is read with what it did not say yet", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      const { error_status: _, input: __, ...old } = event("a")
      const attempts = [{ provider: "p", outcome: "Success", seconds: 0.25 }]
      const body = JSON.stringify({ ...old, attempts, created_at: 1, duration_ms: 1 })
      yield* sql`INSERT INTO events (created_at, body) VALUES (1, ${body})`
      const [read] = yield* outbox.read(0, 10)
      expect(read?.event).toMatchObject({ error_status: null, input: {}, attempts: [{ billed: "unknown" }] })
    }).pipe(Effect.provide(layer))
  )

  it.effect("an event is gone with the transaction that it was written in, and cannot be written outside of one", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      const broken = Effect.andThen(outbox.write(event("a")), Effect.fail("broken"))
      expect(yield* Effect.flip(sql.withTransaction(broken))).toBe("broken")
      expect(yield* Effect.flip(outbox.write(event("a")))).toMatchObject({ _tag: "StorageError" })
      expect(yield* outbox.read(0, 10)).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.effect("events are read in the order in which they were written, a page at a time", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      for (const model of ["a", "b", "c"]) {
        yield* sql.withTransaction(outbox.write(event(model)))
        yield* TestClock.adjust("1 millis")
      }
      const first = yield* outbox.read(0, 2)
      expect(first.map(({ event }) => event.model)).toEqual(["a", "b"])
      expect((yield* outbox.read(first[1]?.sequence ?? 0, 2)).map(({ event }) => event.model)).toEqual(["c"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("events that are old enough are deleted, except the newest, so that no sequence is used twice", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      for (const model of ["a", "b", "c"]) yield* sql.withTransaction(outbox.write(event(model)))
      yield* TestClock.adjust("2 days")
      yield* sql.withTransaction(outbox.write(event("young")))
      yield* TestClock.adjust("1 days")
      expect(yield* outbox.purge(Duration.days(4))).toBe(0)
      expect(yield* outbox.purge(Duration.hours(47))).toBe(3)
      const left = yield* outbox.read(0, 10)
      expect(left.map(({ event }) => event.model)).toEqual(["young"])
      expect(yield* outbox.purge(Duration.zero)).toBe(0)
      yield* sql.withTransaction(outbox.write(event("next")))
      const [next] = yield* outbox.read(left[0]?.sequence ?? 0, 10)
      expect(next?.event.model).toBe("next")
    }).pipe(Effect.provide(layer))
  )
})
