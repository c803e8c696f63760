import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as AuditLog from "../../src/audit/AuditLog.ts"
import * as ConsoleLinks from "../../src/console/ConsoleLinks.ts"
import * as ConsoleSessions from "../../src/console/ConsoleSessions.ts"
import { databases } from "../TestDatabases.ts"

const address = "203.0.113.7"

const someone = {
  kind: "key" as const,
  secretHash: "a".repeat(64),
  actor: "a".repeat(64),
  label: "key",
  organizationId: "o",
  workspaceId: "w",
  role: "viewer" as const,
  workspaceIds: ["w"]
}

describe.each(databases)("sessions of the console on $name", ({ layer: stores }) => {
  const layer = Layer.mergeAll(ConsoleSessions.layerSql, ConsoleLinks.layerSql).pipe(
    Layer.provideMerge(AuditLog.layerSql),
    Layer.provideMerge(stores)
  )

  it.layer(layer)((it) => {
    it.effect("end 30 minutes after the last request", () =>
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions.ConsoleSessions
        const { plain, session } = yield* sessions.start(someone, address)
        expect(session).toMatchObject(someone)
        yield* TestClock.adjust("29 minutes")
        expect(yield* sessions.find(plain)).toMatchObject({ ...someone, hash: session.hash })
        yield* TestClock.adjust("29 minutes")
        expect(yield* sessions.find(plain)).toBeDefined()
        yield* TestClock.adjust("30 minutes")
        expect(yield* sessions.find(plain)).toBeUndefined()
      })
    )

    it.effect("end after 8 hours, however often they are used", () =>
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions.ConsoleSessions
        const { plain } = yield* sessions.start(someone, address)
        for (let i = 0; i < 23; i++) {
          yield* TestClock.adjust("20 minutes")
          expect(yield* sessions.find(plain)).toBeDefined()
        }
        yield* TestClock.adjust("19 minutes")
        expect(yield* sessions.find(plain)).toBeDefined()
        yield* TestClock.adjust("1 minute")
        expect(yield* sessions.find(plain)).toBeUndefined()
      })
    )

    it.effect("write at most once a minute that they are used", () =>
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions.ConsoleSessions
        const sql = yield* SqlClient
        const { plain, session } = yield* sessions.start(someone, address)
        const seen = () =>
          Effect.map(
            sql`SELECT seen_at FROM console_sessions WHERE hash = ${session.hash}`,
            ([row]) => Number(row?.["seen_at"]) - session.createdAt
          )
        yield* TestClock.adjust("59 seconds")
        yield* sessions.find(plain)
        expect(yield* seen()).toBe(0)
        yield* TestClock.adjust("1 second")
        yield* sessions.find(plain)
        expect(yield* seen()).toBe(60_000)
      })
    )

    it.effect("are deleted when they have ended, and the oldest when an actor has too many", () =>
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions.ConsoleSessions
        yield* TestClock.adjust("9 hours")
        yield* sessions.purge
        const started = []
        for (let i = 0; i <= ConsoleSessions.maxPerActor; i++) {
          yield* TestClock.adjust("1 second")
          started.push((yield* sessions.start({ ...someone, actor: "b" }, address)).plain)
        }
        const found = []
        for (const plain of started) found.push((yield* sessions.find(plain)) !== undefined)
        expect(found).toEqual([false, ...Array.from({ length: ConsoleSessions.maxPerActor }, () => true)])
        expect(yield* sessions.purge).toBe(0)
        yield* TestClock.adjust("31 minutes")
        expect(yield* sessions.purge).toBe(ConsoleSessions.maxPerActor)
      })
    )

    it.effect("are not found by a text that is no token", () =>
      Effect.gen(function* () {
        const sessions = yield* ConsoleSessions.ConsoleSessions
        const { session } = yield* sessions.start(someone, address)
        for (const text of ["", "a", session.hash, `${"a".repeat(43)}\0`]) {
          expect(yield* sessions.find(Redacted.make(text))).toBeUndefined()
        }
      })
    )

    it.effect("start by a link once, also of two that try at once, and only until it expires", () =>
      Effect.gen(function* () {
        const links = yield* ConsoleLinks.ConsoleLinks
        const { actor: _actor, kind: _kind, label: _label, secretHash: _hash, ...wanted } = someone
        const { plain } = yield* links.create({ ...wanted, lifetime: 60_000, by: "operator" })
        const use = Effect.result(links.use(plain))
        const both = yield* Effect.all([use, use], { concurrency: 2 })
        expect(both.map(({ _tag }) => _tag).toSorted()).toEqual(["Failure", "Success"])
        const { plain: late } = yield* links.create({ ...wanted, lifetime: 60_000, by: "operator" })
        yield* TestClock.adjust("1 minute")
        expect((yield* Effect.flip(links.use(late))).message).toMatch(/^the link expired at /)
        expect(yield* links.purge).toBe(0)
        yield* TestClock.adjust("1 day")
        expect(yield* links.purge).toBe(2)
        expect((yield* Effect.flip(links.use(late))).message).toMatch(/^there is no such link/)
      })
    )
  })
})
