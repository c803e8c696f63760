import { describe, expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { SqlClient } from "effect/sql/SqlClient"
import { maxPartBytes, type NewEvent, Outbox } from "../../src/events/Outbox.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"
import { all, read, setDestination } from "./TestOutbox.ts"

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
  it.effect("an event is written only while its workspace has an enabled destination", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      const write = (model: string) => sql.withTransaction(outbox.write(event(model)))
      yield* setDestination("other")
      yield* write("no destination")
      yield* setDestination("w", false)
      yield* write("a disabled destination")
      expect(yield* all).toEqual([])
      yield* setDestination("w", true)
      yield* write("enabled")
      // What the transaction itself has changed counts.
      yield* sql.withTransaction(Effect.andThen(setDestination("w", false), outbox.write(event("just disabled"))))
      yield* sql.withTransaction(Effect.andThen(setDestination("w", true), outbox.write(event("just enabled"))))
      expect((yield* all).map(({ model }) => model)).toEqual(["enabled", "just enabled"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("an event is read as it was written, with its time", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* setDestination("w")
      yield* TestClock.adjust("90 seconds")
      yield* sql.withTransaction(outbox.write(event("a")))
      const { events, unreadable } = yield* read("w")
      expect(unreadable).toEqual([])
      expect(events).toEqual([{ ...event("a"), created_at: 90_000, duration_ms: 90_000 }])
    }).pipe(Effect.provide(layer))
  )

  it.effect("an event hides no others, whatever texts a caller has put into it", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* setDestination("w")
      yield* setDestination("other")
      const odd = { user: "a\u0000b", trace: { tenant: "\ud800", workspace_id: "other" } }
      yield* sql.withTransaction(outbox.write({ ...event("odd"), ...odd }))
      yield* sql.withTransaction(outbox.write({ ...event("b"), workspace_id: "other" }))
      expect((yield* read("w")).events).toMatchObject([odd])
      expect((yield* read("other")).events).toMatchObject([{ model: "b" }])
    }).pipe(Effect.provide(layer))
  )

  it.effect("an event without the newest fields is read", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { error_status: _, input: __, ...old } = event("a")
      const attempts = [{ provider: "p", outcome: "Success", seconds: 0.25 }]
      const body = JSON.stringify({ ...old, attempts, created_at: 1, duration_ms: 1 })
      yield* sql`INSERT INTO events (created_at, body) VALUES (1, ${body})`
      const { events } = yield* read("w")
      expect(events).toMatchObject([{ error_status: null, input: {}, attempts: [{ billed: "unknown" }] }])
    }).pipe(Effect.provide(layer))
  )

  it.effect("an event is gone with the transaction that it was written in, and cannot be written outside of one", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* setDestination("w")
      const broken = Effect.andThen(outbox.write(event("a")), Effect.fail("broken"))
      expect(yield* Effect.flip(sql.withTransaction(broken))).toBe("broken")
      expect(yield* Effect.flip(outbox.write(event("a")))).toMatchObject({ _tag: "StorageError" })
      expect((yield* read("w")).events).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.effect("events are read in the order in which they were written, a hundred at a time", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* setDestination("w")
      const names = Array.from({ length: 150 }, (_, n) => `m${n}`)
      yield* sql.withTransaction(Effect.forEach(names, (name) => outbox.write(event(name))))
      const all = yield* read("w")
      expect(all.events.map(({ model }) => model)).toEqual(names)
      expect(all.parts).toEqual([100, 50])
      expect((yield* read("w", all.through - 1)).events.map(({ model }) => model)).toEqual(["m149"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("large events are read in parts of bounded size, and one that is too large alone", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* setDestination("w")
      const large = { ...event("large"), trace: { text: "a".repeat(200_000) } }
      yield* sql.withTransaction(Effect.replicateEffect(outbox.write(large), 5))
      yield* sql.withTransaction(outbox.write({ ...event("huge"), trace: { text: "a".repeat(2_000_000) } }))
      yield* sql.withTransaction(outbox.write(event("small")))
      const { events, parts, unreadable } = yield* read("w")
      expect(parts).toEqual([2, 2, 1, 1, 1])
      expect(unreadable).toEqual([
        { sequence: 1, reason: "it is not a valid event" },
        { sequence: 2, reason: "it is not a valid event" },
        { sequence: 3, reason: "it is not a valid event" },
        { sequence: 4, reason: "it is not a valid event" },
        { sequence: 5, reason: "it is not a valid event" },
        { sequence: 6, reason: "it is larger than 256 KiB" }
      ])
      expect(events.map(({ model }) => model)).toEqual(["small"])
      let part = yield* outbox.next(0)
      while (part !== undefined) {
        expect(part.bytes).toBeLessThanOrEqual(maxPartBytes)
        part = yield* outbox.next(part.through)
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("the largest event that a request can write is read", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* setDestination("w")
      const trace = Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`k${n}`, "\u0001".repeat(1360)]))
      const attempts = Array.from({ length: 64 }, () => event("a").attempts).flat()
      yield* sql.withTransaction(outbox.write({ ...event("a"), trace, attempts, user: "\u0001".repeat(256) }))
      expect(yield* read("w")).toMatchObject({ unreadable: [], events: [{ trace }] })
    }).pipe(Effect.provide(layer))
  )

  it.effect("an event that cannot be read hides none of the others, and names its place only", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* setDestination("w")
      yield* sql.withTransaction(outbox.write(event("a")))
      for (const body of ["{", JSON.stringify({ ...event("b"), usage: { total_tokens: "many" } })]) {
        yield* sql`INSERT INTO events (created_at, body) VALUES (1, ${`{"workspace_id":"w",${body.slice(1)}`})`
      }
      yield* sql.withTransaction(outbox.write(event("c")))
      const { events, unreadable } = yield* read("w")
      expect(events.map(({ model }) => model)).toEqual(["a", "c"])
      expect(unreadable).toEqual([2, 3].map((sequence) => ({ sequence, reason: "it is not a valid event" })))
      expect((yield* read("other")).unreadable).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.effect("events that are old enough are deleted, except the newest, so that no sequence is used twice", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient
      yield* setDestination("w")
      for (const model of ["a", "b", "c"]) yield* sql.withTransaction(outbox.write(event(model)))
      yield* TestClock.adjust("2 days")
      yield* sql.withTransaction(outbox.write(event("young")))
      yield* TestClock.adjust("1 days")
      expect(yield* outbox.purge(Duration.days(4))).toBe(0)
      expect(yield* outbox.purge(Duration.hours(47))).toBe(3)
      const left = yield* read("w")
      expect(left.events.map(({ model }) => model)).toEqual(["young"])
      expect(yield* outbox.purge(Duration.zero)).toBe(0)
      yield* sql.withTransaction(outbox.write(event("next")))
      expect((yield* read("w", left.through)).events.map(({ model }) => model)).toEqual(["next"])
    }).pipe(Effect.provide(layer))
  )

  it.live("a reader skips no event of a transaction that is committed late", () =>
    Effect.gen(function* () {
      const location = yield* create
      const other = yield* Layer.build(layerAt(location))
      yield* Effect.gen(function* () {
        const outbox = yield* Outbox
        const sql = yield* SqlClient
        yield* setDestination("w")
        const modelsAfter = (after: number) =>
          Effect.map(read("w", after), ({ events, through }) => [events.map(({ model }) => model), through])
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
        expect(yield* modelsAfter(0)).toEqual([["first"], 1])
        yield* Deferred.succeed(commit, undefined)
        yield* Fiber.join(writer)
        yield* Fiber.join(done)
        expect(yield* modelsAfter(1)).toEqual([["late", "early"], 3])
      }).pipe(Effect.provide(layerAt(location)))
    })
  )

  it.live("a reader that continues after what it read sees each event of many writers once", () =>
    Effect.gen(function* () {
      const location = yield* create
      const one = yield* Layer.build(layerAt(location))
      const another = yield* Layer.build(layerAt(location))
      const total = 200
      yield* Effect.provide(setDestination("w"), one)
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
        let sequence = 0
        let isLast = false
        while (!isLast) {
          isLast = writers.pollUnsafe() !== undefined
          const { events, through } = yield* read("w", sequence)
          seen.push(...events.map(({ model }) => model))
          sequence = through
          if (events.length > 0) isLast = false
        }
      }).pipe(Effect.provide(layerAt(location)))
      const expected = Array.from({ length: total }, (_, n) => n).filter((n) => n % 7 !== 0)
      expect(seen.map(Number).toSorted((a, b) => a - b)).toEqual(expected)
    })
  )
})
