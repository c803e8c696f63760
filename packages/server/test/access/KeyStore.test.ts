import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { KeyStore, maxSearched } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { databases } from "../TestDatabases.ts"
import { layer, layerAt, create } from "../TestStorage.ts"

const tenancy = Effect.gen(function* () {
  const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
  return { organizationId, workspaceId, name: "a key" }
})

const reasonOf = (plain: Redacted.Redacted<string>) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip((yield* KeyStore).authenticate(plain))
    return error._tag === "InvalidKey" ? error.reason : error._tag
  })

describe("KeyStore", () => {
  it.effect("authenticates a created key, and stores only its hash", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const sql = yield* SqlClient
      const { key, plain } = yield* keys.create({ ...(yield* tenancy), isManagement: true, creatorUserId: "user_1" })
      const caller = yield* keys.authenticate(plain)
      expect(caller).toEqual({ key, guardrail: null, ephemeral: null })
      expect(key).toMatchObject({
        isManagement: true,
        creatorUserId: "user_1",
        expiresAt: null,
        disabled: false,
        limit: null,
        limitReset: null,
        includeByokInLimit: false,
        freeDailyLimit: 200
      })
      const rows = yield* sql`SELECT * FROM keys`
      expect(JSON.stringify(rows)).not.toContain(Redacted.value(plain).slice(6, -3))
    }).pipe(Effect.provide(layer))
  )

  it.effect("says why a text is not a valid key", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const { plain } = yield* keys.create(yield* tenancy)
      const text = Redacted.value(plain)
      expect(yield* reasonOf(Redacted.make("nonsense"))).toBe("malformed")
      expect(yield* reasonOf(Redacted.make(text.slice(0, -1) + (text.endsWith("a") ? "b" : "a")))).toBe("checksum")
      const stranger = yield* KeyFormat.generate(yield* SecureRandom, "ordinary")
      expect(yield* reasonOf(stranger.key)).toBe("unknown")
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects a key while it is disabled", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const { organizationId, ...rest } = yield* tenancy
      const { key, plain } = yield* keys.create({ organizationId, ...rest })
      yield* keys.authenticate(plain)
      yield* keys.update(organizationId, key.hash, { disabled: true })
      expect(yield* reasonOf(plain)).toBe("disabled")
      yield* keys.update(organizationId, key.hash, { disabled: false })
      expect((yield* keys.authenticate(plain)).key.hash).toBe(key.hash)
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects a deleted key immediately and forever", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const owner = yield* tenancy
      const { key, plain } = yield* keys.create(owner)
      yield* keys.authenticate(plain)
      yield* keys.remove(owner.organizationId, key.hash)
      expect(yield* reasonOf(plain)).toBe("deleted")
      expect((yield* Effect.flip(keys.remove(owner.organizationId, key.hash)))._tag).toBe("KeyNotFound")
      expect((yield* Effect.flip(keys.get(owner.organizationId, key.hash)))._tag).toBe("KeyNotFound")
      expect((yield* Effect.flip(keys.update(owner.organizationId, key.hash, { name: "b" })))._tag).toBe("KeyNotFound")
      expect(yield* keys.list(owner)).toEqual({ items: [], hasMore: false, totalCount: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects a key from the moment of its expiry, even if it is cached", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const { plain } = yield* keys.create({ ...(yield* tenancy), expiresAt: 2000 })
      yield* TestClock.setTime(1999)
      yield* keys.authenticate(plain)
      yield* TestClock.setTime(2000)
      expect(yield* reasonOf(plain)).toBe("expired")
    }).pipe(Effect.provide(layer))
  )

  it.effect("sees a change by another process within three seconds, even if the system clock is set back", () =>
    Effect.gen(function* () {
      const location = yield* create
      const here = yield* Layer.build(layerAt(location))
      yield* Effect.gen(function* () {
        const keys = yield* KeyStore
        const input = yield* tenancy
        const { key, plain } = yield* keys.create(input)
        const there = Effect.flatMap(KeyStore, ({ authenticate }) => authenticate(plain)).pipe(Effect.provide(here))
        yield* TestClock.setTime(Date.UTC(2026, 0, 1))
        yield* there
        yield* keys.update(input.organizationId, key.hash, { disabled: true })
        yield* TestClock.setTime(Date.UTC(2025, 11, 1))
        yield* TestClock.adjust("3 seconds")
        expect(yield* Effect.flip(there)).toMatchObject({ reason: "disabled" })
      }).pipe(Effect.provide(layerAt(location)))
    })
  )

  it.effect("sees a change by another process within three seconds", () =>
    Effect.gen(function* () {
      const location = yield* create
      yield* Effect.gen(function* () {
        const keys = yield* KeyStore
        const owner = yield* tenancy
        const { key, plain } = yield* keys.create(owner)
        yield* keys.authenticate(plain)
        yield* Effect.flatMap(KeyStore, (other) => other.remove(owner.organizationId, key.hash)).pipe(
          Effect.provide(layerAt(location))
        )
        yield* TestClock.adjust("3 seconds")
        expect(yield* reasonOf(plain)).toBe("deleted")
      }).pipe(Effect.provide(layerAt(location)))
    })
  )

  it.effect("updates the given fields and keeps the others", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const owner = yield* tenancy
      const { key } = yield* keys.create({ ...owner, limit: MicroCredits.make(5), limitReset: "daily", expiresAt: 9 })
      yield* TestClock.setTime(5)
      const changed = yield* keys.update(owner.organizationId, key.hash, { limit: null, name: "new" })
      expect(changed).toEqual({ ...key, limit: null, name: "new", updatedAt: 5 })
      const again = yield* keys.update(owner.organizationId, key.hash, {
        expiresAt: null,
        limitReset: null,
        includeByokInLimit: true
      })
      expect(again).toMatchObject({ name: "new", expiresAt: null, limitReset: null, includeByokInLimit: true })
    }).pipe(Effect.provide(layer))
  )

  it.effect("does not show the keys of another organization", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const { key } = yield* keys.create(yield* tenancy)
      expect((yield* Effect.flip(keys.get("elsewhere", key.hash)))._tag).toBe("KeyNotFound")
      expect((yield* Effect.flip(keys.remove("elsewhere", key.hash)))._tag).toBe("KeyNotFound")
      expect(yield* keys.list({ organizationId: "elsewhere" })).toEqual({ items: [], hasMore: false, totalCount: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists keys in pages, newest first", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const owner = yield* tenancy
      for (let i = 0; i < 5; i++) {
        yield* TestClock.setTime(i)
        yield* keys.create({ ...owner, name: `key ${i}` })
      }
      const page = yield* keys.list(owner, { offset: 1, limit: 3 })
      expect(page.items.map((key) => key.name)).toEqual(["key 3", "key 2", "key 1"])
      expect([page.hasMore, page.totalCount]).toEqual([true, 5])
      expect((yield* keys.list(owner, { offset: 9 })).totalCount).toBe(5)
      const last = yield* keys.list(owner, { offset: 4, limit: 1 })
      expect([last.items.map((key) => key.name), last.hasMore, last.totalCount]).toEqual([["key 0"], false, 5])
    }).pipe(Effect.provide(layer))
  )

  it.effect("sees a guardrail's assignment, update and deletion immediately", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const guardrails = yield* GuardrailStore
      const owner = yield* tenancy
      const { key, plain } = yield* keys.create(owner)
      yield* keys.authenticate(plain)
      const {
        budget: _budget,
        readAt: _readAt,
        ...guardrail
      } = yield* guardrails.create({ ...owner, allowedModels: ["a"] })
      yield* guardrails.assign(owner.organizationId, guardrail.id, [key.hash])
      expect((yield* keys.authenticate(plain)).guardrail).toEqual(guardrail)
      yield* guardrails.update(owner.organizationId, guardrail.id, { allowedModels: ["a", "b"] })
      expect((yield* keys.authenticate(plain)).guardrail?.allowedModels).toEqual(["a", "b"])
      yield* guardrails.remove(owner.organizationId, guardrail.id)
      expect(yield* keys.authenticate(plain)).toMatchObject({ guardrail: null, key: { guardrailId: null } })
    }).pipe(Effect.provide(layer))
  )
})

describe.each(databases)("a list of keys on $name", ({ layer }) => {
  it.effect("is searched by name and label, sorted, and counted", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const accounting = yield* Accounting
      const owner = yield* tenancy
      const start = Date.UTC(2026, 10, 25, 12)
      yield* TestClock.setTime(start)
      yield* accounting.addCredits(owner.workspaceId, MicroCredits.make(1000))
      const spend = Effect.fnUntraced(function* (keyHash: string, cost: number) {
        const id = `gen-${keyHash}-${cost}`
        const payer = { keyHash, workspaceId: owner.workspaceId, guardrailId: null }
        const amount = MicroCredits.make(cost)
        const reserved = yield* accounting.reserve({ id, payer, operation: "rerank", model: "m", amount })
        yield* accounting.settle(reserved, { cost: amount, provider: "p", upstreamModel: "m" })
      })
      const create = Effect.fnUntraced(function* (name: string) {
        yield* TestClock.adjust("1 second")
        return (yield* keys.create({ ...owner, name })).key
      })
      const [beta, alpha, percent, gamma] = [
        yield* create("Beta search"),
        yield* create("alpha SEARCH"),
        yield* create("50%_off!"),
        yield* create("gamma")
      ]
      yield* spend(alpha.hash, 10)
      yield* spend(gamma.hash, 30)
      yield* TestClock.adjust("1 day")
      yield* spend(beta.hash, 20)

      const shown = Effect.fnUntraced(function* (filter: object, page?: { offset?: number; limit?: number }) {
        const { hasMore, items, totalCount } = yield* keys.list({ ...owner, ...filter }, page)
        return [items.map(({ name }) => name), hasMore, totalCount]
      })
      const names = { beta: beta.name, alpha: alpha.name, percent: percent.name, gamma: gamma.name }
      expect(yield* shown({ search: "Search" })).toEqual([[names.alpha, names.beta], false, 2])
      expect(yield* shown({ search: "search" }, { limit: 1 })).toEqual([[names.alpha], true, 2])
      expect(yield* shown({ search: "search" }, { offset: 5 })).toEqual([[], false, 2])
      expect(yield* shown({ search: gamma.label.slice(-3).toUpperCase() })).toEqual([[names.gamma], false, 1])
      expect(yield* shown({ search: "%_OFF!" })).toEqual([[names.percent], false, 1])
      expect(yield* shown({ search: "a_p" })).toEqual([[], false, 0])
      expect(yield* shown({ sort: "name" })).toEqual([[names.percent, names.alpha, names.beta, names.gamma], false, 4])
      expect(yield* shown({ sort: "usage" }, { limit: 3 })).toEqual([[names.gamma, names.beta, names.alpha], true, 4])
      expect(yield* shown({ sort: "last_used" })).toEqual([
        [names.beta, names.gamma, names.alpha, names.percent],
        false,
        4
      ])
      yield* keys.update(owner.organizationId, beta.hash, { disabled: true })
      expect(yield* shown({ search: "search", sort: "name" })).toEqual([[names.alpha], false, 1])
      const days = (yield* keys.list({ ...owner, includeDisabled: true, sort: "last_used" })).items
      expect(days.map(({ lastUsedDay }) => lastUsedDay)).toEqual([
        Date.UTC(2026, 10, 26),
        Date.UTC(2026, 10, 25),
        Date.UTC(2026, 10, 25),
        null
      ])
    }).pipe(Effect.provide(layer), Effect.provide(TestClock.layer()))
  )

  it.effect("searches the newest keys only", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const sql = yield* SqlClient
      const owner = yield* tenancy
      const { key } = yield* keys.create({ ...owner, name: "the oldest" })
      const shown = Effect.map(keys.list({ ...owner, search: "oldest" }), ({ items }) => items.length)
      // Rows without budgets are read, but not listed.
      const fill = (count: number) => sql`INSERT INTO keys (hash, organization_id, workspace_id, name, label,
          is_management, is_free_tier, disabled, free_daily_limit, created_at, updated_at)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
        SELECT 'h' || i, organization_id, workspace_id, 'filler', 'f', 0, 0, 0, 0, created_at + i, 0
        FROM n CROSS JOIN keys WHERE hash = ${key.hash}`
      yield* fill(maxSearched - 1)
      expect(yield* shown).toBe(1)
      yield* sql`UPDATE keys SET created_at = created_at - 1 WHERE hash = ${key.hash}`
      yield* keys.create({ ...owner, name: "one more" })
      expect(yield* shown).toBe(0)
    }).pipe(Effect.provide(layer))
  )
})
