import { describe, expect, it } from "@effect/vitest"
import type * as Trace from "@model-gateway/core/Trace"
import { Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { TestClock } from "effect/testing"
import { DatabaseSync } from "node:sqlite"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as RequestLog from "../../src/accounting/RequestLog.ts"
import type { Entry } from "../../src/accounting/Ledger.ts"
import * as Migrations from "../../src/storage/sql/Migrations.ts"
import type * as Page from "../../src/storage/sql/Page.ts"
import { databases } from "../TestDatabases.ts"
import { createSqlite, layerClient } from "../TestStorage.ts"
import { micro, outcome, payerWith, reserve } from "./TestPayer.ts"

/**
 * The entries of these numbers, in the order of their times. Each hundredth is for another model.
 */
const entries = (from: number, to: number) => `INSERT INTO usage_ledger
  (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
  WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})
  SELECT 'gen-' || i, 'k', 'w', 'rerank', CASE i % 100 WHEN 0 THEN 'rare' ELSE 'common' END, 'p', 'm', 0, 0, 0, 0, i, i FROM n`

describe.each(databases)("the request log on $name", ({ layer: stores }) => {
  const layer = RequestLog.layerSql.pipe(Layer.provideMerge(stores))

  it.effect("lists the requests of an organization, newest first, page by page and by what they were", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const log = yield* RequestLog.RequestLog
      const { organizationId, payer } = yield* payerWith(10_000)
      const other = yield* (yield* WorkspaceStore).create(organizationId, { name: "other", slug: "other" })
      yield* accounting.addCredits(other.id, micro(1000))
      const failure = { status: "failed", errorStatus: 502, provider: "p" } as const
      for (let n = 0; n < 5; n++) {
        yield* TestClock.adjust("1 second")
        const reserved = yield* reserve(`gen-${n}`, n === 4 ? { ...payer, workspaceId: other.id } : payer, 100)
        yield* n === 1 ? accounting.release(reserved, failure) : accounting.settle(reserved, outcome(10 * n))
      }
      const idsOf = (filter?: RequestLog.Filter, page?: Page.Request) =>
        Effect.map(log.list(organizationId, filter, page), ({ items, next }) => ({
          ids: items.map(({ id }) => id),
          next
        }))
      expect(yield* idsOf({}, { limit: 3 })).toEqual({ ids: ["gen-4", "gen-3", "gen-2"], next: "gen-2" })
      expect(yield* idsOf({}, { limit: 3, after: "gen-2" })).toEqual({ ids: ["gen-1", "gen-0"], next: undefined })
      expect(yield* idsOf({ workspaceIds: [other.id] })).toMatchObject({ ids: ["gen-4"] })
      expect(yield* idsOf({ status: "failed", errorStatus: 502 })).toMatchObject({ ids: ["gen-1"] })
      expect(yield* idsOf({ from: 2000, to: 4000 })).toMatchObject({ ids: ["gen-2", "gen-1"] })
      expect(yield* Effect.flip(idsOf({}, { after: "none" }))).toMatchObject({ _tag: "UnknownCursor" })
      expect(yield* log.list("another organization")).toEqual({ items: [], next: undefined })
      expect(yield* Effect.flip(log.list("another organization", {}, { after: "gen-2" }))).toMatchObject({
        _tag: "UnknownCursor"
      })
      expect(yield* log.get({ organizationId }, "gen-3")).toMatchObject({ id: "gen-3", cost: 30, status: "completed" })
      expect(yield* log.get({ workspaceId: other.id }, "gen-3")).toBeUndefined()
      const { workspaceId } = payer
      const sent = yield* reserve("gen-ephemeral", { ...payer, ephemeralHash: "e" }, 100)
      yield* accounting.settle(sent, outcome(10))
      for (const [ephemeralHash, id, isSeen] of [
        ["e", "gen-ephemeral", true],
        ["e", "gen-3", false],
        ["another", "gen-ephemeral", false],
        [undefined, "gen-ephemeral", true]
      ] as const) {
        const found = yield* log.get({ workspaceId, ephemeralHash }, id)
        expect([ephemeralHash, id, found !== undefined]).toEqual([ephemeralHash, id, isSeen])
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("has the end user whom a request names, and finds the requests of one", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const log = yield* RequestLog.RequestLog
      const { organizationId, payer } = yield* payerWith(10_000)
      const unstorable = "a\u0000\ud800"
      for (const [id, user] of [
        ["gen-none", undefined],
        ["gen-ada", "ada"],
        ["gen-odd", unstorable]
      ] as const) {
        yield* TestClock.adjust("1 second")
        const reserved = yield* reserve(id, payer, 100, user === undefined ? {} : { user })
        yield* accounting.settle(reserved, outcome(10))
      }
      const failed = yield* reserve("gen-failed", payer, 100, { user: "ada" })
      yield* accounting.release(failed, { status: "failed", errorStatus: 502 })
      const idsOf = (user: string) =>
        Effect.map(log.list(organizationId, { user }), ({ items }) => items.map(({ id }) => id).toSorted())
      expect(yield* idsOf("ada")).toEqual(["gen-ada", "gen-failed"])
      expect(yield* idsOf(unstorable)).toEqual(["gen-odd"])
      expect(yield* idsOf("nobody")).toEqual([])
      expect((yield* log.get({ organizationId }, "gen-ada"))?.externalUser).toBe("ada")
      expect((yield* log.get({ organizationId }, "gen-none"))?.externalUser).toBeNull()
    }).pipe(Effect.provide(layer))
  )

  it.effect("has the error of a request and what it says for tracing, within bounds", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const log = yield* RequestLog.RequestLog
      const sql = yield* SqlClient
      const { organizationId, payer } = yield* payerWith(10_000)
      const detailsOf = (id: string) =>
        Effect.map(log.get({ organizationId }, id), (entry) => [entry?.errorMessage, entry?.trace])
      const failure = { status: "failed", errorStatus: 502 } as const
      const known = { trace_id: "t".repeat(256), span_name: "a\u0000\ud800" }
      const others: Trace.Metadata = { tenant: "acme" }
      const trace = { ...known, trace_name: "n".repeat(257), tenant: "acme", other: { prompt: "tea" } }
      yield* accounting.settle(yield* reserve("gen-served", payer, 100), { ...outcome(10), trace })
      expect(yield* detailsOf("gen-served")).toEqual([null, known])
      yield* accounting.settle(yield* reserve("gen-plain", payer, 100), { ...outcome(10), trace: others })
      expect(yield* detailsOf("gen-plain")).toEqual([null, null])
      const errorMessage = `a\u0000\ud800${"b".repeat(1000)}`
      yield* accounting.release(yield* reserve("gen-failed", payer, 100), { ...failure, errorMessage, trace: known })
      expect(yield* detailsOf("gen-failed")).toEqual([`a\ufffd\ufffd${"b".repeat(497)}`, known])
      yield* accounting.release(yield* reserve("gen-bare", payer, 100), failure)
      expect(yield* detailsOf("gen-bare")).toEqual([null, null])
      yield* sql`UPDATE usage_ledger SET trace = 'no JSON' WHERE id = 'gen-served'`
      expect(yield* detailsOf("gen-served")).toEqual([null, null])
    }).pipe(Effect.provide(layer))
  )

  it.effect("finds requests by the id of their HTTP request, and by their operation", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const log = yield* RequestLog.RequestLog
      const { organizationId, payer } = yield* payerWith(10_000)
      yield* accounting.settle(yield* reserve("gen-served", payer, 100, { requestId: "req_1" }), outcome(10))
      const failed = yield* reserve("gen-failed", payer, 100, { requestId: "req_2", jobId: "job" })
      yield* accounting.release(failed, { status: "failed", errorStatus: 502 })
      yield* accounting.settle(yield* reserve("gen-unknown", payer, 100), outcome(10))
      const idsOf = (filter: RequestLog.Filter) =>
        Effect.map(log.list(organizationId, filter), ({ items }) => items.map(({ id }) => id).toSorted())
      expect(yield* idsOf({ requestId: "req_1" })).toEqual(["gen-served"])
      expect(yield* idsOf({ requestId: "req_2" })).toEqual(["gen-failed"])
      expect(yield* idsOf({ requestId: "req_3" })).toEqual([])
      expect(yield* idsOf({ operation: "rerank" })).toEqual(["gen-failed", "gen-served", "gen-unknown"])
      expect(yield* idsOf({ operation: "video" })).toEqual([])
      expect((yield* log.get({ organizationId }, "gen-failed"))?.requestId).toBe("req_2")
      expect((yield* log.get({ organizationId }, "gen-unknown"))?.requestId).toBeNull()
    }).pipe(Effect.provide(layer))
  )

  it.effect("deletes the requests that were admitted longer ago, however many, and leaves balance and activity", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const log = yield* RequestLog.RequestLog
      const sql = yield* SqlClient
      const { organizationId, payer } = yield* payerWith(10_000)
      yield* sql.unsafe(entries(1, 250))
      yield* TestClock.setTime(1000)
      // Admitted in time, settled later.
      const reserved = yield* reserve("gen-late", payer, 100)
      yield* TestClock.setTime(5000)
      yield* accounting.settle(reserved, outcome(10))
      yield* accounting.settle(yield* reserve("gen-new", payer, 100), outcome(20))
      const sums = Effect.all([
        accounting.balanceOf(payer.workspaceId),
        sql`SELECT * FROM usage_days ORDER BY key_hash`
      ])
      const before = yield* sums
      const kept = sql`SELECT id FROM usage_ledger ORDER BY reserved_at, id`

      expect(yield* log.purge(Duration.millis(4999))).toBe(0)
      expect(yield* log.purge(Duration.millis(4751))).toBe(248)
      expect(yield* kept).toEqual(["gen-249", "gen-250", "gen-late", "gen-new"].map((id) => ({ id })))
      expect(yield* log.purge(Duration.millis(4000))).toBe(2)
      expect(yield* log.purge(Duration.millis(3999))).toBe(1)
      expect((yield* log.list(organizationId)).items.map(({ id }) => id)).toEqual(["gen-new"])
      expect(yield* log.purge(Duration.zero)).toBe(0)
      expect(yield* sums).toEqual(before)
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists the other requests if the counts, the attempts or a column of one cannot be read", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const log = yield* RequestLog.RequestLog
      const sql = yield* SqlClient
      const { organizationId, payer } = yield* payerWith(10_000)
      for (let n = 0; n < 4; n++) {
        yield* TestClock.adjust("1 second")
        yield* accounting.settle(yield* reserve(`gen-${n}`, payer, 100), outcome(10))
      }
      // Counts that a provider must not report: 1e308 + 1e308 tokens is null in JSON.
      const counts = '{"search_units":1,"total_tokens":null,"input_tokens":1e300}'
      yield* sql`UPDATE usage_ledger SET usage = ${counts} WHERE id = 'gen-1'`
      yield* sql`UPDATE usage_ledger SET attempts = ${'[{"provider":"p"},7]'}, usage = 'none' WHERE id = 'gen-2'`
      yield* sql.onDialectOrElse({
        pg: () => sql`UPDATE usage_ledger SET cost_micro = 9223372036854775807 WHERE id = 'gen-3'`,
        orElse: () => sql`UPDATE usage_ledger SET operation = x'00' WHERE id = 'gen-3'`
      })
      const { items } = yield* log.list(organizationId)
      expect(items.map(({ attempts, id, usage }) => ({ id, usage, attempts }))).toEqual([
        { id: "gen-2", usage: {}, attempts: [] },
        { id: "gen-1", usage: { search_units: 1 }, attempts: [] },
        { id: "gen-0", usage: outcome(10).usage ?? null, attempts: [] }
      ])
      // The row that is left out still counts for the page, so that the next one starts after it.
      expect(yield* log.list(organizationId, {}, { limit: 1 })).toEqual({ items: [], next: "gen-3" })
    }).pipe(Effect.provide(layer))
  )
})

it.effect("continues before a time where a page ends at an entry of another organization", () =>
  Effect.gen(function* () {
    const layer = RequestLog.layerSql.pipe(
      Layer.provideMerge(Migrations.layer),
      Layer.provideMerge(layerClient(yield* createSqlite))
    )
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient
      const log = yield* RequestLog.RequestLog
      for (const organization of ["o", "other"]) {
        yield* sql`INSERT INTO organizations (id, name, created_at) VALUES (${organization}, 'o', 0)`
      }
      for (const [workspace, organization] of [
        ["w", "o"],
        ["v", "other"]
      ]) {
        yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
          VALUES (${workspace}, ${organization}, 'w', 1, 'native', 0, 0, 0, 0)`
      }
      yield* sql.unsafe(entries(1, 4500))
      // Several entries of one time, at the end of a page and across it.
      yield* sql`UPDATE usage_ledger SET reserved_at = 2500 WHERE reserved_at BETWEEN 2490 AND 2510`
      yield* sql`UPDATE usage_ledger SET workspace_id = 'v' WHERE model = 'common'`
      const listed: Array<string> = []
      const cursors: Array<string> = []
      let after: string | undefined
      do {
        const page: Page.ByTime<Entry> = yield* log.list("o", {}, { after })
        listed.push(...page.items.map(({ id }) => id))
        after = page.next
        if (after !== undefined) cursors.push(after)
      } while (after !== undefined)
      expect(listed).toEqual(Array.from({ length: 45 }, (_, n) => `gen-${100 * (45 - n)}`))
      expect(cursors).toEqual(["before:2500", "before:490"])
    }).pipe(Effect.provide(layer))
  })
)

it.effect("lists each entry once, also while other requests end", () =>
  Effect.gen(function* () {
    const filename = yield* createSqlite
    let requests = 4200
    const requestsEnd = Effect.acquireUseRelease(
      Effect.sync(() => new DatabaseSync(filename)),
      (db) => Effect.sync(() => db.exec(entries(requests + 1, (requests += 150)))),
      (db) => Effect.sync(() => db.close())
    )
    let isBusy = false
    const busy = (connection: Connection): Connection => ({
      ...connection,
      execute: (...args) => Effect.tap(connection.execute(...args), () => (isBusy ? requestsEnd : Effect.void))
    })
    const layer = RequestLog.layerSql.pipe(
      Layer.provideMerge(Migrations.layer),
      Layer.provideMerge(layerClient(filename, busy))
    )
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient
      const log = yield* RequestLog.RequestLog
      yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('o', 'o', 0)`
      yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
        VALUES ('w', 'o', 'w', 1, 'native', 0, 0, 0, 0)`
      yield* sql.unsafe(entries(1, requests))
      isBusy = true
      const listed: Array<string> = []
      let after: string | undefined
      do {
        const page: Page.ByTime<Entry> = yield* log.list("o", { model: "rare" }, { after })
        listed.push(...page.items.map(({ id }) => id))
        after = page.next
      } while (after !== undefined)
      const earlier = Array.from({ length: 42 }, (_, n) => `gen-${100 * (42 - n)}`)
      expect(listed.slice(-42)).toEqual(earlier)
      expect(listed).toHaveLength(new Set(listed).size)
      isBusy = false
      const { next } = yield* log.list("o", { model: "common" }, { after: "gen-2500", limit: 1000 })
      expect(next).toBe("gen-1490")
    }).pipe(Effect.provide(layer))
  })
)
