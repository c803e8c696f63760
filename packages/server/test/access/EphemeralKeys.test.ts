import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import * as EphemeralKeys from "../../src/access/EphemeralKeys.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { layer, layerAt, create } from "../TestStorage.ts"

const minutes = (count: number): number => count * 60_000

/** An ordinary key, and an ephemeral key that it creates for 15 minutes. */
const family = Effect.fnUntraced(function* (expiresAt?: number) {
  const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
  const made = yield* (yield* KeyStore).create({ organizationId, workspaceId, name: "parent", expiresAt })
  const { ephemeral, plain } = yield* (yield* EphemeralKeys.EphemeralKeys).create(made.key, minutes(15))
  return { organizationId, parent: made.key, parentPlain: made.plain, ephemeral, plain }
})

const bearer = (plain: Redacted.Redacted<string>) => Effect.flatMap(KeyStore, (keys) => keys.authenticate(plain))

const reasonOf = (plain: Redacted.Redacted<string>) =>
  Effect.map(Effect.flip(bearer(plain)), (error) => (error._tag === "InvalidKey" ? error.reason : error._tag))

describe("EphemeralKeys", () => {
  it.effect("creates a key that authenticates as its parent, and stores only its hash", () =>
    Effect.gen(function* () {
      const { ephemeral, parent, parentPlain, plain } = yield* family()
      expect(Redacted.value(plain)).toMatch(/^mg_ek_[0-9A-Za-z]{38}$/)
      expect(ephemeral).toMatchObject({ parentHash: parent.hash, createdAt: 0, expiresAt: minutes(15) })
      expect(ephemeral.label).toBe(`mg_ek_…${Redacted.value(plain).slice(-3)}`)
      expect(yield* bearer(plain)).toEqual({ key: parent, guardrail: null, ephemeral })
      expect(yield* bearer(parentPlain)).toEqual({ key: parent, guardrail: null, ephemeral: null })
      const rows = yield* (yield* SqlClient)`SELECT * FROM ephemeral_keys`
      expect(JSON.stringify(rows)).not.toContain(Redacted.value(plain).slice(6, -3))
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects a key from the millisecond of its expiry, even if it is cached", () =>
    Effect.gen(function* () {
      const { organizationId, parent, plain, ephemeral } = yield* family()
      const ephemerals = yield* EphemeralKeys.EphemeralKeys
      yield* TestClock.setTime(minutes(15) - 1)
      yield* bearer(plain)
      expect((yield* ephemerals.list(parent)).items.length).toBe(1)
      yield* TestClock.setTime(minutes(15))
      expect(yield* reasonOf(plain)).toBe("expired")
      expect(yield* ephemerals.list(parent)).toEqual({ items: [], hasMore: false })
      expect(yield* ephemerals.counts([parent.hash])).toEqual(new Map())
      expect(yield* ephemerals.get(organizationId, ephemeral.hash)).toBe(null)
      expect(yield* ephemerals.remove(organizationId, ephemeral.hash)).toBe(false)
    }).pipe(Effect.provide(layer))
  )

  it.effect("never lets a key outlive its parent", () =>
    Effect.gen(function* () {
      const { ephemeral, organizationId, parent, plain } = yield* family(minutes(10))
      expect(ephemeral.expiresAt).toBe(minutes(10))
      yield* (yield* KeyStore).update(organizationId, parent.hash, { expiresAt: minutes(5) })
      yield* TestClock.setTime(minutes(5) - 1)
      yield* bearer(plain)
      yield* TestClock.setTime(minutes(5))
      expect(yield* reasonOf(plain)).toBe("expired")
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects a key while its parent is disabled, and forever after its parent is deleted", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const ephemerals = yield* EphemeralKeys.EphemeralKeys
      const { ephemeral, organizationId, parent, plain } = yield* family()
      yield* bearer(plain)
      yield* keys.update(organizationId, parent.hash, { disabled: true })
      expect(yield* reasonOf(plain)).toBe("disabled")
      yield* keys.update(organizationId, parent.hash, { disabled: false })
      yield* bearer(plain)
      yield* keys.remove(organizationId, parent.hash)
      expect(yield* reasonOf(plain)).toBe("deleted")
      expect(yield* ephemerals.get(organizationId, ephemeral.hash)).toBe(null)
      expect((yield* ephemerals.list(parent)).items).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.effect("revokes one key immediately, and not its parent or the parent's other keys", () =>
    Effect.gen(function* () {
      const ephemerals = yield* EphemeralKeys.EphemeralKeys
      const { ephemeral, organizationId, parent, parentPlain, plain } = yield* family()
      const other = yield* ephemerals.create(parent, minutes(1))
      yield* bearer(plain)
      expect(yield* ephemerals.remove("elsewhere", ephemeral.hash)).toBe(false)
      yield* bearer(plain)
      expect(yield* ephemerals.remove(organizationId, ephemeral.hash)).toBe(true)
      expect(yield* reasonOf(plain)).toBe("unknown")
      expect(yield* ephemerals.remove(organizationId, ephemeral.hash)).toBe(false)
      expect((yield* bearer(other.plain)).key).toEqual(parent)
      expect((yield* bearer(parentPlain)).key).toEqual(parent)
    }).pipe(Effect.provide(layer))
  )

  it.effect("rejects a key within three seconds after another process revokes it or its parent", () =>
    Effect.gen(function* () {
      const location = yield* create
      const elsewhere = <A, E>(effect: Effect.Effect<A, E, KeyStore | EphemeralKeys.EphemeralKeys | Scope.Scope>) =>
        Effect.provide(effect, layerAt(location))
      yield* Effect.gen(function* () {
        const one = yield* family()
        const two = yield* family()
        yield* bearer(one.plain)
        yield* bearer(two.plain)
        yield* elsewhere(Effect.flatMap(KeyStore, (keys) => keys.remove(one.organizationId, one.parent.hash)))
        yield* elsewhere(
          Effect.flatMap(EphemeralKeys.EphemeralKeys, (keys) => keys.remove(two.organizationId, two.ephemeral.hash))
        )
        yield* TestClock.adjust("3 seconds")
        expect([yield* reasonOf(one.plain), yield* reasonOf(two.plain)]).toEqual(["unknown", "unknown"])
        yield* bearer(two.parentPlain)
      }).pipe(Effect.provide(layerAt(location)))
    })
  )

  it.effect("has the guardrail of its parent immediately, and cannot get one of its own", () =>
    Effect.gen(function* () {
      const guardrails = yield* GuardrailStore
      const { ephemeral, organizationId, parent, plain } = yield* family()
      yield* bearer(plain)
      const made = yield* guardrails.create({ organizationId, name: "g", allowedModels: ["a"] })
      const { budget: _budget, readAt: _readAt, ...guardrail } = made
      expect(yield* guardrails.assign(organizationId, guardrail.id, [ephemeral.hash])).toEqual({
        assignedCount: 0,
        notFound: [ephemeral.hash],
        replaced: []
      })
      expect((yield* bearer(plain)).guardrail).toBe(null)
      yield* guardrails.assign(organizationId, guardrail.id, [parent.hash])
      expect((yield* bearer(plain)).guardrail).toEqual(guardrail)
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists and counts the keys of one parent, newest first", () =>
    Effect.gen(function* () {
      const ephemerals = yield* EphemeralKeys.EphemeralKeys
      const { ephemeral: first, organizationId, parent } = yield* family()
      const { parent: childless } = yield* family()
      yield* TestClock.setTime(1)
      const { ephemeral: second } = yield* ephemerals.create(parent, minutes(15))
      yield* TestClock.setTime(2)
      const { ephemeral: third } = yield* ephemerals.create(parent, minutes(15))
      const page = yield* ephemerals.list(parent, { offset: 1, limit: 1 })
      expect(page).toEqual({ items: [{ ephemeral: second, parent }], hasMore: true })
      expect((yield* ephemerals.list(parent)).items.map(({ ephemeral }) => ephemeral)).toEqual([third, second, first])
      expect(yield* ephemerals.counts([parent.hash, childless.hash])).toEqual(
        new Map([
          [parent.hash, 3],
          [childless.hash, 1]
        ])
      )
      expect(yield* ephemerals.get(organizationId, third.hash)).toEqual({ ephemeral: third, parent })
      expect(yield* ephemerals.get("elsewhere", third.hash)).toBe(null)
    }).pipe(Effect.provide(layer))
  )

  it.effect("reports an expired key as expired for an hour, then as unknown", () =>
    Effect.gen(function* () {
      const { parent, plain } = yield* family()
      const ephemerals = yield* EphemeralKeys.EphemeralKeys
      yield* TestClock.setTime(minutes(15 + 60) - 1)
      expect(yield* reasonOf(plain)).toBe("expired")
      expect(yield* ephemerals.purge).toBe(0)
      const { plain: young } = yield* ephemerals.create(parent, minutes(15))
      yield* TestClock.adjust("5 minutes")
      yield* Effect.gen(function* () {
        // The deletion in the background may still be under way.
        const kept = (yield* SqlClient)`SELECT hash FROM ephemeral_keys`
        expect(yield* Effect.repeat(kept, { until: ({ length }) => length < 2 })).toHaveLength(1)
        expect(yield* reasonOf(plain)).toBe("unknown")
        yield* bearer(young)
      }).pipe(Effect.provide(EphemeralKeys.layerBackground()))
    }).pipe(Effect.provide(layer))
  )
})
