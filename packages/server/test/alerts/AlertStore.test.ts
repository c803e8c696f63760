import { describe, expect, it } from "@effect/vitest"
import { Event } from "@model-gateway/core/Alerts"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import type { Measured } from "../../src/alerts/Alert.ts"
import { AlertStore, layerSql, maxFirings, maxPerOrganization } from "../../src/alerts/AlertStore.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt } from "../TestStorage.ts"

const start = Date.UTC(2026, 0, 1)

const settings = Effect.gen(function* () {
  const { id, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
  return {
    organizationId,
    kind: "reservations_abandoned" as const,
    workspaceId: null,
    senderWorkspaceId: id,
    name: "an alert",
    threshold: 3,
    windowSeconds: null,
    minRequests: null,
    keyHash: null,
    guardrailId: null,
    model: null,
    provider: null,
    targetType: "webhook" as const,
    url: "https://hooks.example/path",
    enabled: true
  }
})

const measured = (value: number): Measured => ({ value, isTrue: value >= 3, message: `There are ${value}.` })

/** Takes the turn of the next minute, and records what was measured. */
const minute = (value: number | undefined) =>
  Effect.gen(function* () {
    yield* TestClock.adjust("1 minute")
    const store = yield* AlertStore
    const due = yield* store.takeDue(10)
    for (const alert of due) yield* store.evaluated(alert, value === undefined ? undefined : measured(value))
    return due.length
  })

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Event), { onExcessProperty: "error" })

/** The messages, and where they are sent, in their order. */
const messages = Effect.gen(function* () {
  const rows = yield* (yield* SqlClient)`SELECT body, url FROM webhook_deliveries ORDER BY created_at, id`
  return rows.map(({ body, url }) => ({ url, ...decode(body) }))
})

const types = Effect.map(messages, (all) => all.map(({ type }) => type))

describe.each(databases)("AlertStore on $name", ({ create, layer }) => {
  const storage = layerSql.pipe(Layer.provideMerge(layer))

  it.effect("fires once when the condition begins, and resolves once when it has been false for five minutes", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const store = yield* AlertStore
      const { id, organizationId } = yield* store.create(yield* settings)
      const state = Effect.map(store.get(organizationId, id), (alert) => [alert.firingId !== null, alert.lastValue])
      yield* minute(2)
      expect([yield* state, yield* types]).toEqual([[false, 2], []])
      yield* minute(3)
      yield* minute(4)
      expect([yield* state, yield* types]).toEqual([[true, 4], ["alert.fired"]])
      // It is true again within the five minutes.
      for (const value of [1, 1, 1, 3, 1, undefined, 1, 1, 1]) yield* minute(value)
      expect([yield* state, yield* types]).toEqual([[true, 1], ["alert.fired"]])
      yield* minute(1)
      expect([yield* state, yield* types]).toEqual([
        [false, 1],
        ["alert.fired", "alert.resolved"]
      ])
      for (const value of [1, undefined, 2]) yield* minute(value)
      expect(yield* types).toHaveLength(2)
      const [firing, ...others] = (yield* store.listFirings(organizationId, {}, {})).items
      expect(others).toEqual([])
      expect(firing).toMatchObject({
        alertId: id,
        alertName: "an alert",
        value: 3,
        message: "There are 3.",
        createdAt: start + 2 * 60_000,
        resolvedAt: start + 13 * 60_000,
        resolvedReason: "ended"
      })
      const [fired, resolved] = yield* messages
      const alert = { id, name: "an alert", kind: "reservations_abandoned", threshold: 3, workspace_id: null }
      expect(fired).toMatchObject({
        type: "alert.fired",
        timestamp: "2026-01-01T00:02:00.000Z",
        data: { alert, firing_id: firing?.id, value: 3, message: "There are 3.", resolved_at: null, reason: null }
      })
      expect(resolved).toMatchObject({
        type: "alert.resolved",
        data: { firing_id: firing?.id, value: 1, fired_at: fired?.timestamp, reason: "ended" }
      })
      expect(resolved?.data.resolved_at).toBe(resolved?.timestamp)
    }).pipe(Effect.provide(storage))
  )

  it.effect(
    "resolves what is firing when it is changed, switched off or deleted, and reports it to the former target",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(start)
        const store = yield* AlertStore
        const input = yield* settings
        const { id, organizationId } = yield* store.create(input)
        const reasons = Effect.map(messages, (all) => all.map(({ data }) => data.reason))
        const change = (change: Partial<typeof input>) =>
          store.update(organizationId, id, (present) => Effect.succeed({ ...present, ...change }))
        yield* minute(3)
        yield* change({ name: "renamed" })
        expect((yield* store.get(organizationId, id)).firingId).not.toBeNull()
        yield* change({ url: "https://hooks.example/other" })
        expect(yield* reasons).toEqual([null, "changed"])
        expect((yield* messages).map(({ url }) => url)).toEqual([input.url, input.url])
        yield* minute(3)
        const [, , fired] = yield* messages
        expect(fired).toMatchObject({ type: "alert.fired", url: "https://hooks.example/other" })
        yield* change({ enabled: false })
        expect([yield* minute(3), yield* reasons]).toEqual([0, [null, "changed", null, "disabled"]])
        yield* change({ enabled: true })
        expect(yield* minute(3)).toBe(1)
        yield* store.remove(organizationId, id)
        expect(yield* reasons).toEqual([null, "changed", null, "disabled", null, "deleted"])
        expect((yield* Effect.flip(store.get(organizationId, id)))._tag).toBe("AlertNotFound")
        expect((yield* Effect.flip(store.remove(organizationId, id)))._tag).toBe("AlertNotFound")
        const { items } = yield* store.listFirings(organizationId, { alertId: id }, {})
        expect(items.map(({ resolvedReason }) => resolvedReason)).toEqual(["deleted", "disabled", "changed"])
      }).pipe(Effect.provide(storage))
  )

  it.effect("is evaluated once a minute by one of several processes, and none of them reports a change twice", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const location = yield* create
      const processes = yield* Effect.forEach([1, 2, 3], () =>
        Layer.build(layerSql.pipe(Layer.provideMerge(layerAt(location)), Layer.fresh))
      )
      const [first, second] = processes
      if (first === undefined || second === undefined) return yield* Effect.die(new Error("no processes"))
      const store = yield* Effect.provide(AlertStore, first)
      const other = yield* Effect.provide(AlertStore, second)
      const input = yield* Effect.provide(settings, first)
      yield* Effect.forEach([1, 2, 3, 4, 5], () => store.create(input))
      const turns = yield* Effect.forEach(
        processes,
        (process) => Effect.flatMap(AlertStore, ({ takeDue }) => takeDue(10)).pipe(Effect.provide(process)),
        { concurrency: "unbounded" }
      )
      const taken = turns.flat()
      expect(new Set(taken.map(({ id }) => id)).size).toBe(5)
      expect(taken).toHaveLength(5)
      const [alert] = taken
      if (alert === undefined) return yield* Effect.die(new Error("no alert"))
      // As if a process had been suspended, and another one had taken a later turn.
      yield* Effect.all([store.evaluated(alert, measured(3)), other.evaluated(alert, measured(3))], { concurrency: 2 })
      expect(yield* Effect.provide(types, first)).toEqual(["alert.fired"])
      yield* TestClock.adjust("59 seconds")
      expect(yield* store.takeDue(10)).toEqual([])
      yield* TestClock.adjust("1 second")
      expect(yield* other.takeDue(10)).toHaveLength(5)
      const [, stale, changed] = taken
      if (stale === undefined || changed === undefined) return yield* Effect.die(new Error("too few alerts"))
      // The turn of the minute before, and a turn before the alert was changed.
      yield* store.evaluated(stale, measured(3))
      yield* store.update(input.organizationId, changed.id, (present) => Effect.succeed({ ...present, threshold: 4 }))
      yield* other.evaluated({ ...changed, checkedAt: start + 60_000 }, measured(3))
      expect(yield* Effect.provide(types, first)).toEqual(["alert.fired"])
      yield* other.evaluated({ ...stale, checkedAt: start + 60_000 }, measured(3))
      expect(yield* Effect.provide(types, first)).toEqual(["alert.fired", "alert.fired"])
    })
  )

  it.effect("has a bound of alerts and of firings, and keeps firings for 90 days", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const store = yield* AlertStore
      const sql = yield* SqlClient
      const input = yield* settings
      const { id, organizationId } = yield* store.create(input)
      for (let n = 1; n < maxPerOrganization; n++) yield* store.create(input)
      expect((yield* Effect.flip(store.create(input)))._tag).toBe("TooManyAlerts")
      yield* minute(3)
      yield* TestClock.adjust("1 minute")
      yield* store.remove(organizationId, id)
      const count = Effect.map(sql`SELECT COUNT(*) AS n FROM alert_firings`, ([row]) => Number(row?.["n"]))
      const before = yield* count
      expect(yield* store.purge).toBe(0)
      yield* TestClock.adjust("91 days")
      // Those that have not resolved stay.
      expect([yield* store.purge, yield* count]).toEqual([1, before - 1])
      const copy = (n: number) => sql`INSERT INTO alert_firings
        SELECT ${`copy-${n}-`} || id, organization_id, workspace_id, alert_id, alert_name, kind, value, message,
          created_at + ${n}, created_at, 'ended' FROM alert_firings`
      while ((yield* count) <= maxFirings * 1.1) yield* copy(yield* count)
      yield* TestClock.setTime(start)
      yield* store.purge
      // Beside the bound are those of alerts that still fire.
      expect(yield* count).toBeLessThanOrEqual(maxFirings + maxPerOrganization)
      expect(yield* count).toBeGreaterThan(maxFirings / 2)
    }).pipe(Effect.provide(storage))
  )
})
