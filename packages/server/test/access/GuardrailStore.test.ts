import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { GuardrailStore, maxFirstKeys } from "../../src/access/GuardrailStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { databases } from "../TestDatabases.ts"
import { layer } from "../TestStorage.ts"

const setUp = Effect.gen(function* () {
  const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
  const keys = yield* KeyStore
  const make = (name: string) => Effect.map(keys.create({ organizationId, workspaceId, name }), ({ key }) => key.hash)
  return { organizationId, workspaceId, a: yield* make("a"), b: yield* make("b"), c: yield* make("c") }
})

/** A key of another organization. */
const stranger = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('elsewhere', 'Elsewhere', 0)`
  const { id: workspaceId } = yield* (yield* WorkspaceStore).create("elsewhere", { name: "w", slug: "w" })
  const made = yield* (yield* KeyStore).create({ organizationId: "elsewhere", workspaceId, name: "s" })
  return made.key.hash
})

describe("GuardrailStore", () => {
  it.effect("creates, updates, lists and deletes guardrails", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { organizationId } = yield* setUp
      const made = yield* guardrails.create({
        organizationId,
        name: "careful",
        description: "not much",
        limit: MicroCredits.make(500),
        limitReset: "weekly",
        allowedModels: ["sandbox/bm25"]
      })
      expect(made.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/)
      expect(made).toMatchObject({
        limit: 500,
        limitReset: "weekly",
        workspaceId: null,
        allowedModels: ["sandbox/bm25"],
        ignoredModels: null,
        allowedProviders: null,
        ignoredProviders: null
      })
      const changed = yield* guardrails.update(organizationId, made.id, {
        allowedModels: null,
        allowedProviders: [],
        ignoredModels: ["a/*"]
      })
      expect(changed).toEqual({
        ...made,
        allowedModels: null,
        allowedProviders: [],
        ignoredModels: ["a/*"],
        updatedAt: changed.updatedAt
      })
      const again = yield* guardrails.update(organizationId, made.id, { ignoredProviders: ["p"] })
      expect(again).toEqual({ ...changed, ignoredProviders: ["p"], updatedAt: again.updatedAt })
      expect(yield* guardrails.get(organizationId, made.id)).toEqual(again)
      expect(yield* guardrails.list({ organizationId })).toEqual({ items: [again], totalCount: 1 })
      expect(yield* guardrails.list({ organizationId: "elsewhere" })).toEqual({ items: [], totalCount: 0 })
      expect((yield* Effect.flip(guardrails.get("elsewhere", made.id)))._tag).toBe("GuardrailNotFound")
      yield* guardrails.remove(organizationId, made.id)
      expect((yield* Effect.flip(guardrails.remove(organizationId, made.id)))._tag).toBe("GuardrailNotFound")
    }).pipe(Effect.provide(layer))
  )

  it.effect("counts each known key once, and reports unknown keys and replaced guardrails", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { a, b, c, organizationId } = yield* setUp
      const foreign = yield* stranger
      const first = yield* guardrails.create({ organizationId, name: "first" })
      const second = yield* guardrails.create({ organizationId, name: "second" })
      expect(yield* guardrails.assign(organizationId, first.id, [a, b])).toEqual({
        assignedCount: 2,
        notFound: [],
        replaced: []
      })
      expect(yield* guardrails.assign(organizationId, second.id, [b, "nothing", b, c, foreign, "nothing"])).toEqual({
        assignedCount: 2,
        notFound: ["nothing", foreign],
        replaced: [{ keyHash: b, previousGuardrailId: first.id }]
      })
      expect(yield* guardrails.assign(organizationId, second.id, [b, c])).toMatchObject({
        assignedCount: 2,
        replaced: []
      })
      const keys = yield* KeyStore
      expect((yield* keys.get(organizationId, a)).guardrailId).toBe(first.id)
      expect((yield* keys.get(organizationId, b)).guardrailId).toBe(second.id)
      expect((yield* keys.get("elsewhere", foreign)).guardrailId).toBe(null)
      const assigned = yield* guardrails.assignments(organizationId, second.id, { limit: 1 })
      expect(assigned).toMatchObject({ totalCount: 2 })
      expect(assigned.items.length).toBe(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("says who assigned a key and when, in the order of the assignments", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { a, b, c, organizationId } = yield* setUp
      const first = yield* guardrails.create({ organizationId, name: "first" })
      const second = yield* guardrails.create({ organizationId, name: "second" })
      const assign = (id: string, hash: string, assignedBy?: string) =>
        Effect.andThen(TestClock.adjust("1 second"), guardrails.assign(organizationId, id, [hash], assignedBy))
      yield* assign(first.id, c, "user_1")
      yield* assign(first.id, b)
      yield* assign(second.id, a, "user_2")
      // Assigned already: the assignment is the same.
      yield* assign(first.id, c, "user_2")
      const shown = (id: string | null, page?: { readonly offset?: number; readonly limit?: number }) =>
        Effect.map(guardrails.assignments(organizationId, id, page), ({ items, totalCount }) => ({
          totalCount,
          items: items.map(({ assignedAt, assignedBy, guardrailId, keyHash, name }) => [
            guardrailId,
            keyHash,
            name,
            assignedBy,
            assignedAt
          ])
        }))
      const [inC, inB, inA] = [
        [first.id, c, "c", "user_1", 1000],
        [first.id, b, "b", null, 2000],
        [second.id, a, "a", "user_2", 3000]
      ]
      expect(yield* shown(first.id)).toEqual({ totalCount: 2, items: [inC, inB] })
      expect(yield* shown(null)).toEqual({ totalCount: 3, items: [inC, inB, inA] })
      expect(yield* shown(null, { offset: 1, limit: 1 })).toEqual({ totalCount: 3, items: [inB] })
      expect(yield* shown(null, { offset: 3 })).toEqual({ totalCount: 3, items: [] })
      yield* assign(second.id, c, "user_2")
      yield* guardrails.unassign(organizationId, first.id, [b])
      yield* (yield* KeyStore).remove(organizationId, a)
      expect(yield* shown(first.id)).toEqual({ totalCount: 0, items: [] })
      expect(yield* shown(null)).toEqual({ totalCount: 1, items: [[second.id, c, "c", "user_2", 5000]] })
    }).pipe(Effect.provide(layer), Effect.provide(TestClock.layer()))
  )

  it.effect("keeps a guardrail whose workspace is deleted, and lists it in none", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { organizationId } = yield* setUp
      const { id: workspaceId } = yield* (yield* WorkspaceStore).create(organizationId, {
        name: "s",
        slug: "short-lived"
      })
      const { id } = yield* guardrails.create({ organizationId, name: "g", workspaceId })
      expect((yield* guardrails.list({ organizationId, workspaceIds: [workspaceId] })).totalCount).toBe(1)
      yield* (yield* WorkspaceStore).remove(organizationId, workspaceId)
      expect(yield* guardrails.get(organizationId, id)).toMatchObject({ name: "g", workspaceId: null })
      expect(yield* guardrails.list({ organizationId, workspaceIds: [workspaceId] })).toEqual({
        items: [],
        totalCount: 0
      })
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not assign to a deleted key, and rejects an unknown guardrail", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { a, b, organizationId } = yield* setUp
      yield* (yield* KeyStore).remove(organizationId, a)
      const { id } = yield* guardrails.create({ organizationId, name: "g" })
      expect(yield* guardrails.assign(organizationId, id, [a, b])).toEqual({
        assignedCount: 1,
        notFound: [a],
        replaced: []
      })
      const unknown = yield* Effect.flip(guardrails.assign(organizationId, "none", [b]))
      expect(unknown._tag).toBe("GuardrailNotFound")
      expect((yield* Effect.flip(guardrails.assign("elsewhere", id, [b])))._tag).toBe("GuardrailNotFound")
      expect((yield* (yield* KeyStore).get(organizationId, b)).guardrailId).toBe(id)
    }).pipe(Effect.provide(layer))
  )

  it.effect("assigns a guardrail to thousands of keys in one call", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { a, b, organizationId } = yield* setUp
      const { id } = yield* guardrails.create({ organizationId, name: "g" })
      const many = Array.from({ length: 5000 }, (_, i) => `unknown-${i}`)
      const done = yield* guardrails.assign(organizationId, id, [a, ...many, b])
      expect(done.assignedCount).toBe(2)
      expect(done.notFound).toEqual(many)
    }).pipe(Effect.provide(layer))
  )

  it.effect("removes a guardrail only from keys that have it", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { a, b, c, organizationId } = yield* setUp
      const first = yield* guardrails.create({ organizationId, name: "first" })
      const second = yield* guardrails.create({ organizationId, name: "second" })
      yield* guardrails.assign(organizationId, first.id, [a])
      yield* guardrails.assign(organizationId, second.id, [b])
      expect(yield* guardrails.unassign(organizationId, first.id, [a, a, b, c, "nothing"])).toBe(1)
      const keys = yield* KeyStore
      expect((yield* keys.get(organizationId, a)).guardrailId).toBe(null)
      expect((yield* keys.get(organizationId, b)).guardrailId).toBe(second.id)
    }).pipe(Effect.provide(layer))
  )

  it.effect("removes a deleted guardrail from thousands of keys in batches, and other fibers run in between", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const sql = yield* SqlClient
      const { a, b, organizationId } = yield* setUp
      const { id } = yield* guardrails.create({ organizationId, name: "g" })
      const another = yield* guardrails.create({ organizationId, name: "another" })
      yield* guardrails.assign(organizationId, id, [a])
      yield* guardrails.assign(organizationId, another.id, [b])
      yield* sql`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
        INSERT INTO keys (hash, organization_id, workspace_id, guardrail_id, name, label, is_management, is_free_tier,
          disabled, free_daily_limit, created_at, updated_at)
        SELECT 'key-' || i, organization_id, workspace_id, guardrail_id, name, label, 0, 0, 0, 200, i, i
        FROM n CROSS JOIN keys WHERE hash = ${a}`
      let turns = 0
      const others = yield* Effect.forkChild(
        Effect.forever(
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => turns++)
          )
        )
      )
      yield* Effect.yieldNow
      turns = 0
      yield* guardrails.remove(organizationId, id)
      expect(turns).toBeGreaterThanOrEqual(5)
      yield* Fiber.interrupt(others)
      expect(yield* sql`SELECT COUNT(*) AS n FROM keys WHERE guardrail_id IS NULL`).toMatchObject([{ n: 5002 }])
      expect(yield* sql`SELECT hash FROM keys WHERE guardrail_id IS NOT NULL`).toMatchObject([{ hash: b }])
    }).pipe(Effect.provide(layer))
  )
})

describe.each(databases)("a guardrail on $name", ({ layer }) => {
  it.effect("has what its keys have used in each period, and what is reserved is not left", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const guardrails = yield* GuardrailStore
      // A Wednesday.
      const start = Date.UTC(2026, 10, 25, 12)
      yield* TestClock.setTime(start)
      const { a, organizationId, workspaceId } = yield* setUp
      yield* accounting.addCredits(workspaceId, MicroCredits.make(1000))
      const limit = MicroCredits.make(500)
      const { id } = yield* guardrails.create({ organizationId, name: "daily", limit, limitReset: "daily" })
      const payer = { keyHash: a, workspaceId, guardrailId: id }
      const reserve = (id: string, amount: number) =>
        accounting.reserve({ id, payer, operation: "rerank", model: "m", amount: MicroCredits.make(amount) })
      const outcome = { cost: MicroCredits.make(120), provider: "p", upstreamModel: "m" }
      yield* accounting.settle(yield* reserve("gen-1", 200), outcome)
      yield* reserve("gen-2", 100)
      const used = { total: 120, daily: 120, weekly: 120, monthly: 120 }
      const { budget } = yield* guardrails.get(organizationId, id)
      expect(budget).toMatchObject({ limit: 500, usage: used, reserved: { daily: 100 } })
      yield* TestClock.adjust("1 day")
      const [listed] = (yield* guardrails.list({ organizationId })).items
      expect(listed?.budget).toMatchObject({ usage: { ...used, daily: 0 }, reserved: { total: 100, daily: 0 } })
      expect(listed?.readAt).toBe(start + 86_400_000)
    }).pipe(Effect.provide(layer), Effect.provide(TestClock.layer()))
  )

  it.effect("has its first keys and the number of all", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { a, b, c, organizationId, workspaceId } = yield* setUp
      const keys = yield* KeyStore
      const make = (name: string) => Effect.map(guardrails.create({ organizationId, name }), ({ id }) => id)
      const [few, none, many] = [yield* make("few"), yield* make("none"), yield* make("many")]
      for (const hash of [c, a]) {
        yield* guardrails.assign(organizationId, few, [hash])
        yield* TestClock.adjust("1 second")
      }
      const made = yield* Effect.forEach(Array.from({ length: maxFirstKeys + 2 }), (_, at) =>
        keys.create({ organizationId, workspaceId, name: `key ${at}` })
      )
      const hashes = made.map(({ key }) => key.hash)
      yield* guardrails.assign(organizationId, many, hashes)
      yield* TestClock.adjust("1 second")
      yield* guardrails.assign(organizationId, many, [b])
      const found = yield* guardrails.keysOf([many, none, few])
      expect(found.map(({ count, first }) => [count, first.map(({ keyHash }) => keyHash)])).toEqual([
        [maxFirstKeys + 3, hashes.toSorted().slice(0, maxFirstKeys)],
        [0, []],
        [2, [c, a]]
      ])
      expect(found[2]?.first[0]).toMatchObject({ name: "c", guardrailId: few })
      expect(yield* guardrails.keysOf([])).toEqual([])
    }).pipe(Effect.provide(layer), Effect.provide(TestClock.layer()))
  )

  it.effect("has the keys of a full page of guardrails", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { a, organizationId } = yield* setUp
      const made = yield* Effect.forEach(Array.from({ length: 100 }), () =>
        guardrails.create({ organizationId, name: "g" })
      )
      const ids = made.map(({ id }) => id)
      yield* guardrails.assign(organizationId, ids[99] ?? "", [a])
      expect((yield* guardrails.keysOf(ids)).map(({ first }) => first.length)).toEqual([
        ...Array.from({ length: 99 }, () => 0),
        1
      ])
    }).pipe(Effect.provide(layer))
  )
})
