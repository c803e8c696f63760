import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Accounting } from "../../src/accounting/Accounting.ts"
import { layerSql, Reconcile } from "../../src/accounting/Reconcile.ts"
import { databases } from "../TestDatabases.ts"
import * as TestLedger from "./TestLedger.ts"
import { micro, payerWith, reserve } from "./TestPayer.ts"

/** Reserves 400 of 1000 micro-credits for each of the ids. */
const reserved = Effect.fnUntraced(function* (...ids: ReadonlyArray<string>) {
  const { key, payer } = yield* payerWith(1000)
  for (const id of ids) yield* reserve(id, payer, 400)
  return { key, workspaceId: payer.workspaceId }
})

/** Reserves, and leaves the reservations as those of a dead process, which are then released. */
const abandoned = Effect.fnUntraced(function* (...ids: ReadonlyArray<string>) {
  const accounting = yield* Accounting
  const sql = yield* SqlClient
  const made = yield* reserved(...ids)
  yield* sql`UPDATE reservations SET owner = 'proc_dead'`
  expect(yield* accounting.reap).toBe(ids.length)
  return made
})

const bill = { cost: micro(300), provider: "cohere" }

describe.each(databases)("Reconcile on $name", (database) => {
  const layer = Layer.provideMerge(layerSql, database.layer)

  it.effect("charges an abandoned reservation once, and lists it as late then", () =>
    Effect.gen(function* () {
      const { key, workspaceId } = yield* abandoned("gen-1")
      const accounting = yield* Accounting
      const reconcile = yield* Reconcile
      expect(yield* reconcile.report()).toMatchObject({
        abandoned: [{ id: "gen-1", keyHash: key.hash, workspaceId, model: "sandbox/bm25", amount: 400 }],
        late: [],
        open: []
      })
      expect(yield* reconcile.settle("gen-1", bill)).toMatchObject({ id: "gen-1", workspaceId })
      for (const again of [reconcile.settle("gen-1", bill), reconcile.dismiss("gen-1")]) {
        expect(yield* Effect.flip(again)).toMatchObject({ _tag: "NotAbandoned", isOpen: false })
      }
      expect(yield* accounting.balanceOf(workspaceId)).toMatchObject({ balance: 700, reserved: 0 })
      expect(yield* reconcile.report()).toMatchObject({
        abandoned: [],
        late: [{ id: "gen-1", cost: 300, provider: "cohere", status: "completed" }]
      })
    }).pipe(Effect.provide(layer))
  )

  it.effect("dismisses an abandoned reservation once, charges nothing, and its process charges nothing later", () =>
    Effect.gen(function* () {
      const { workspaceId } = yield* abandoned("gen-1")
      const accounting = yield* Accounting
      const reconcile = yield* Reconcile
      expect(yield* reconcile.dismiss("gen-1")).toMatchObject({ id: "gen-1" })
      expect((yield* Effect.flip(reconcile.dismiss("gen-1")))._tag).toBe("NotAbandoned")
      expect(yield* accounting.settle({ id: "gen-1" }, { ...bill, upstreamModel: "m" })).toBe("already")
      expect(yield* accounting.balanceOf(workspaceId)).toMatchObject({ balance: 1000, reserved: 0 })
      const sql = yield* SqlClient
      expect(yield* sql`SELECT id, status, cost_micro FROM usage_ledger`).toMatchObject([
        { id: "gen-1", status: "failed", cost_micro: 0 }
      ])
      expect(yield* reconcile.report()).toMatchObject({ abandoned: [], overruns: [], late: [] })
    }).pipe(Effect.provide(layer))
  )

  it.effect("closes no reservation that is open, and lists who owns it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { workspaceId } = yield* reserved("gen-alive", "gen-dead")
      yield* sql`UPDATE reservations SET owner = 'proc_dead' WHERE id = 'gen-dead'`
      const accounting = yield* Accounting
      const reconcile = yield* Reconcile
      expect(yield* Effect.flip(reconcile.settle("gen-alive", bill))).toMatchObject({ isOpen: true })
      expect(yield* Effect.flip(reconcile.dismiss("gen-dead"))).toMatchObject({ isOpen: true })
      expect(yield* accounting.balanceOf(workspaceId)).toMatchObject({ balance: 1000, reserved: 800 })
      const { open } = yield* reconcile.report()
      expect(new Map(open.map(({ holder, id }) => [id, holder]))).toEqual(
        new Map([
          ["gen-alive", "alive"],
          ["gen-dead", "dead"]
        ])
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists and closes the reservations of one organization only", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key, workspaceId } = yield* abandoned("gen-1")
      const accounting = yield* Accounting
      const reconcile = yield* Reconcile
      const own = key.organizationId
      yield* reserve("gen-2", { keyHash: key.hash, workspaceId, guardrailId: null }, 100)
      expect(yield* reconcile.list(own, "abandoned")).toMatchObject({
        items: [{ id: "gen-1", holder: null }],
        hasMore: false
      })
      expect(yield* reconcile.list(own, "open")).toMatchObject({
        items: [{ id: "gen-2", holder: "alive" }],
        hasMore: false
      })
      expect((yield* reconcile.list("elsewhere", "abandoned")).items).toEqual([])
      for (const foreign of [reconcile.settle("gen-1", bill, "elsewhere"), reconcile.dismiss("gen-1", "elsewhere")]) {
        expect(yield* Effect.flip(foreign)).toMatchObject({ _tag: "NotAbandoned", isOpen: false })
      }
      expect(yield* Effect.flip(reconcile.dismiss("gen-2", "elsewhere"))).toMatchObject({ isOpen: false })
      expect(yield* Effect.flip(reconcile.dismiss("gen-2", own))).toMatchObject({ isOpen: true })
      expect(yield* reconcile.settle("gen-1", bill, own)).toMatchObject({ id: "gen-1" })
      expect(yield* accounting.balanceOf(workspaceId)).toMatchObject({ balance: 700 })
      yield* sql`UPDATE reservations SET state = 'abandoned', abandoned_at = 1`
      yield* sql`INSERT INTO reservations (id, state, key_hash, workspace_id, operation, model, amount_micro, is_byok,
          day_start, reserved_at, abandoned_at)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        SELECT 'x' || i, 'abandoned', ${key.hash}, ${workspaceId}, 'rerank', 'm', 1, 0, 0, 1 + i, 1 FROM n`
      const many = yield* reconcile.list(own, "abandoned")
      expect([many.items.length, many.hasMore, many.items[0]?.id]).toEqual([1000, true, "x1000"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("settles once when the process does so at the same moment", () =>
    Effect.gen(function* () {
      const { workspaceId } = yield* abandoned("gen-1", "gen-2")
      const accounting = yield* Accounting
      const reconcile = yield* Reconcile
      for (const id of ["gen-1", "gen-2"]) {
        const own = Effect.result(accounting.settle({ id }, { ...bill, upstreamModel: "m" }))
        yield* Effect.all([Effect.result(reconcile.settle(id, bill)), own], { concurrency: 2 })
      }
      expect(yield* accounting.balanceOf(workspaceId)).toMatchObject({ balance: 400, reserved: 0 })
      expect(yield* TestLedger.usageOf({ workspaceId })).toHaveLength(2)
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists only what happened since a time", () =>
    Effect.gen(function* () {
      yield* abandoned("gen-1", "gen-2")
      const reconcile = yield* Reconcile
      yield* reconcile.settle("gen-2", bill)
      expect(yield* reconcile.report(0)).toMatchObject({ abandoned: [{ id: "gen-1" }], late: [{ id: "gen-2" }] })
      expect(yield* reconcile.report(1)).toMatchObject({ abandoned: [], late: [] })
    }).pipe(Effect.provide(layer))
  )
})
