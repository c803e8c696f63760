import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql/SqlClient"
import { type NewEvent, Outbox } from "../../src/events/Outbox.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"

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

describe.each(databases)("the outbox on $name", ({ create, layer, name }) => {
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

  it.effect("an event hides no others, whatever texts a caller has put into it", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      const odd = { user: "a\u0000b", trace: { tenant: "\ud800", workspace_id: "other" } }
      yield* sql.withTransaction(outbox.write({ ...event("odd"), ...odd }))
      yield* sql.withTransaction(outbox.write({ ...event("b"), workspace_id: "other" }))
      expect((yield* outbox.readOf("w", 0, 10)).events).toMatchObject([odd])
      expect((yield* outbox.readOf("other", 0, 10)).events).toMatchObject([{ model: "b" }])
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

  it.live("a reader skips no event of a transaction that is committed late", () =>
    Effect.gen(function* () {
      const location = yield* create
      const other = yield* Layer.build(layerAt(location))
      yield* Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient
        const models = (after: number) =>
          Effect.map(outbox.read(after, 10), (read) => read.map(({ event }) => event.model))
        const pageOf = (after: number) =>
          Effect.map(outbox.readOf("w", after, 10), ({ events, through }) => [
            events.map(({ model }) => model),
            through
          ])
        yield* sql.withTransaction(outbox.write(event("first")))
        const written = yield* Deferred.make<void>()
        const commit = yield* Deferred.make<void>()
        const late = outbox
          .write(event("late"))
          .pipe(
            Effect.andThen(Deferred.succeed(written, undefined)),
            Effect.andThen(Deferred.await(commit)),
            sql.withTransaction
          )
        const writer = yield* Effect.forkChild(late)
        yield* Deferred.await(written)
        const early = Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* sql.withTransaction(Effect.flatMap(Outbox, ({ write }) => write(event("early"))))
        })
        // SQLite has one writer, so the other one waits.
        const done = yield* Effect.forkChild(Effect.provide(early, other))
        if (name === "postgres") yield* Fiber.join(done)
        expect(yield* models(0)).toEqual(["first"])
        expect(yield* pageOf(0)).toEqual([["first"], 1])
        yield* Deferred.succeed(commit, undefined)
        yield* Fiber.join(writer)
        yield* Fiber.join(done)
        expect(yield* models(1)).toEqual(["late", "early"])
        expect(yield* pageOf(1)).toEqual([["late", "early"], 3])
      }).pipe(Effect.provide(layerAt(location)))
    })
  )

  it.live("a reader that continues after what it read sees each event of many writers once", () =>
    Effect.gen(function* () {
      const location = yield* create
      const one = yield* Layer.build(layerAt(location))
      const another = yield* Layer.build(layerAt(location))
      const total = 200
      const write = (n: number) =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const sql = yield* SqlClient
          const [before, after] = [n % 3, n % 5]
          const pause = (turns: number) => Effect.forEach(Array.from({ length: turns }), () => sql`SELECT 1`)
          const body = Effect.andThen(Effect.andThen(pause(before), outbox.write(event(`${n}`))), pause(after))
          // Some are rolled back: their sequences stay unused.
          yield* Effect.ignore(sql.withTransaction(n % 7 === 0 ? Effect.andThen(body, Effect.fail("no")) : body))
        }).pipe(Effect.provide(n % 2 === 0 ? one : another))
      const writers = yield* Effect.forkChild(
        Effect.forEach(
          Array.from({ length: total }, (_, n) => n),
          write,
          { concurrency: 16, discard: true }
        )
      )
      const seen: Array<string> = []
      yield* Effect.gen(function* () {
        const outbox = yield* Outbox
        let sequence = 0
        let isLast = false
        while (!isLast) {
          isLast = writers.pollUnsafe() !== undefined
          const read = yield* outbox.read(sequence, 10)
          seen.push(...read.map(({ event }) => event.model))
          sequence = read.at(-1)?.sequence ?? sequence
          if (read.length > 0) isLast = false
        }
      }).pipe(Effect.provide(layerAt(location)))
      const expected = Array.from({ length: total }, (_, n) => n).filter((n) => n % 7 !== 0)
      expect(seen.map(Number).toSorted((a, b) => a - b)).toEqual(expected)
    })
  )
})
