import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { Accounting, layerBackground, make } from "../../src/accounting/Accounting.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as FailureLog from "../../src/observability/FailureLog.ts"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyResponses } from "../../src/access/KeyResponses.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { LedgerStore } from "../../src/accounting/LedgerStore.ts"
import { mapSqlError, StorageError } from "../../src/storage/sql/StorageError.ts"
import { run, runAndKill } from "../Processes.ts"
import { type Database, databases } from "../TestDatabases.ts"
import { clockAhead, layerAt } from "../TestStorage.ts"
import * as TestLedger from "./TestLedger.ts"
import { micro, outcome, payerWith, reserve } from "./TestPayer.ts"

const refusal = (...args: Parameters<typeof reserve>) =>
  Effect.map(Effect.flip(reserve(...args)), (error) =>
    error._tag === "InsufficientCredits"
      ? { scope: error.scope, limit: error.limit, remaining: error.remaining }
      : { error }
  )

/** Waits until a later turn of the event loop than this. */
const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => setImmediate(() => resume(Effect.void)))
})

describe.each(databases)("Accounting on $name", ({ layer }) => {
  it.effect("charges what a request cost and releases the rest", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(1000)
      const reserved = yield* reserve("gen-1", payer, 400)
      expect(yield* accounting.balanceOf(payer.workspaceId)).toEqual({ balance: 1000, reserved: 400, available: 600 })
      expect(yield* accounting.settle(reserved, outcome(250, { usage: { search_units: 1 } }))).toBe("done")
      expect(yield* accounting.balanceOf(payer.workspaceId)).toEqual({ balance: 750, reserved: 0, available: 750 })
      const usage = yield* TestLedger.usageOf({ keyHash: payer.keyHash })
      expect(usage).toMatchObject([
        { id: "gen-1", cost: 250, reserved: 400, provider: "sandbox", usage: { search_units: 1 }, isLate: false }
      ])
      expect(yield* TestLedger.openReservations).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.effect("commits a charge and the caller's writes together, or neither", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const sql = yield* SqlClient
      const { payer } = yield* payerWith(1000)
      const renamed = (name: string) =>
        Effect.asVoid(sql`UPDATE workspaces SET name = ${name} WHERE id = ${payer.workspaceId}`).pipe(
          mapSqlError("test.rename")
        )
      const name = Effect.map(
        sql`SELECT name FROM workspaces WHERE id = ${payer.workspaceId}`,
        ([row]) => row?.["name"]
      )
      const reserved = yield* reserve("gen-1", payer, 400)

      const failure = new StorageError({ operation: "test", message: "the answer is not kept", retryable: true })
      const broken = Effect.andThen(renamed("half"), Effect.fail(failure))
      const half = sql.withTransaction(Effect.tap(accounting.settle(reserved, outcome(250)), broken))
      expect(yield* Effect.flip(half)).toBe(failure)
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 1000, reserved: 400 })
      expect((yield* TestLedger.usageOf()).length).toBe(0)
      expect(yield* name).not.toBe("half")

      const whole = sql.withTransaction(Effect.tap(accounting.settle(reserved, outcome(250)), renamed("whole")))
      expect(yield* whole).toBe("done")
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 750, reserved: 0 })
      expect(yield* name).toBe("whole")
    }).pipe(Effect.provide(layer))
  )

  it.effect("writes to the request log, once, how a released request failed", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(1000)
      const reserved = yield* reserve("gen-1", payer, 400)
      const attempts = [{ provider: "p", outcome: "RateLimited", status: 429, seconds: 0.1, billed: "no" as const }]
      const failure = { status: "failed" as const, errorStatus: 529, provider: "p", attempts }
      expect(yield* accounting.release(reserved, failure)).toBe("done")
      expect(yield* accounting.release(reserved, failure)).toBe("already")
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 1000, reserved: 0 })
      expect(yield* TestLedger.usageOf()).toEqual([])
      const entry = { id: "gen-1", status: "failed", errorStatus: 529, provider: "p", upstreamModel: null, cost: 0 }
      expect(yield* TestLedger.failures).toMatchObject([{ ...entry, keyHash: payer.keyHash, reserved: 400, attempts }])
    }).pipe(Effect.provide(layer))
  )

  it.effect("settles once, even if called repeatedly and concurrently", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(1000)
      const reserved = yield* reserve("gen-1", payer, 400)
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => accounting.settle(reserved, outcome(100))),
        { concurrency: "unbounded" }
      )
      expect(answers.filter((answer) => answer === "done").length).toBe(1)
      expect(answers.filter((answer) => answer === "already").length).toBe(19)
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 900, reserved: 0 })
      expect((yield* TestLedger.usageOf()).length).toBe(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("reports which budget is used up, its limit and the rest, and reserves nothing", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const guardrails = yield* GuardrailStore
      const { key, organizationId, payer } = yield* payerWith(1000, { limit: micro(500) })
      const guardrail = yield* guardrails.create({ organizationId, name: "g", limit: micro(300) })
      const guarded = { ...payer, guardrailId: guardrail.id }

      expect(yield* refusal("gen-1", guarded, 301)).toEqual({ scope: "guardrail", limit: 300, remaining: 300 })
      expect(yield* refusal("gen-2", guarded, 501)).toEqual({ scope: "key", limit: 500, remaining: 500 })
      yield* (yield* KeyStore).update(organizationId, key.hash, { limit: null })
      expect(yield* refusal("gen-3", payer, 1001)).toEqual({ scope: "workspace", limit: 1000, remaining: 1000 })

      expect(yield* TestLedger.openReservations).toEqual([])
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ reserved: 0 })
      yield* reserve("gen-4", guarded, 200)
      expect(yield* refusal("gen-5", guarded, 101)).toEqual({ scope: "guardrail", limit: 300, remaining: 100 })
      const error = yield* Effect.flip(reserve("gen-5", guarded, 101))
      expect(error.message).toMatch(
        /^insufficient credits: .*guardrail has 0\.0001 left\. Its limit is 0\.0003 credits\. Raise the limit, and add credits /
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("lets exactly 100 of 200 concurrent requests through a limit for 100, and charges each once", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { key, payer } = yield* payerWith(1_000_000, { limit: micro(100 * 700) })
      const results = yield* Effect.all(
        Array.from({ length: 200 }, (_, i) =>
          reserve(`gen-${i}`, payer, 700).pipe(
            Effect.tap(() => Effect.yieldNow),
            Effect.tap((reserved) => accounting.settle(reserved, outcome(700))),
            Effect.as("through"),
            Effect.catchTag("InsufficientCredits", ({ scope }) => Effect.succeed(scope))
          )
        ),
        { concurrency: "unbounded" }
      )
      expect(results.filter((result) => result === "through").length).toBe(100)
      expect(results.filter((result) => result === "key").length).toBe(100)
      const usage = yield* TestLedger.usageOf()
      expect(new Set(usage.map((row) => row.id)).size).toBe(100)
      expect(usage.length).toBe(100)
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 930_000, reserved: 0 })
      const record = yield* (yield* KeyResponses).of(key)
      expect(record).toMatchObject({ usage: 0.07, usage_daily: 0.07, limit_remaining: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("charges a cost above the reservation in full, lists it, and tells the operator once", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(100)
      const reserved = yield* reserve("gen-1", payer, 100)
      const reported: Array<FailureLog.Occurrence> = []
      const report = (occurrence: FailureLog.Occurrence) => Effect.sync(() => void reported.push(occurrence))
      yield* Effect.provideService(accounting.settle(reserved, outcome(130)), FailureLog.FailureLog, { report })
      yield* Effect.provideService(accounting.settle(reserved, outcome(130)), FailureLog.FailureLog, { report })
      expect(reported.map(({ message }) => message)).toEqual([
        "A request cost 130 micro-credits, more than the 100 that were reserved for it"
      ])
      const overruns = (yield* Metric.snapshot).filter(({ id }) => id.startsWith("model_gateway_overrun"))
      expect(overruns.map(({ id, state }) => [id, "count" in state ? state.count : state])).toEqual([
        ["model_gateway_overruns_total", 1],
        ["model_gateway_overrun_micro_credits_total", 30]
      ])
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: -30, reserved: 0 })
      expect(yield* accounting.reconciliation).toMatchObject({ abandoned: [], late: [], overruns: [{ id: "gen-1" }] })
      expect(yield* refusal("gen-2", payer, 1)).toEqual({ scope: "workspace", limit: -30, remaining: 0 })
    }).pipe(Effect.provide(layer), Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("covers what requests cost beyond their reservations as far as the limit goes", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { key, payer } = yield* payerWith(100_000, { limit: micro(1000) })
      const more = { payer, operation: "rerank", model: "sandbox/bm25" }
      const request = Effect.fnUntraced(function* (id: string) {
        const reserved = yield* reserve(id, payer, 10)
        const cover = yield* accounting.cover({ ...more, id: `${id}-more`, amount: micro(390) })
        const cost = 10 + (cover?.amount ?? 0)
        yield* accounting.settle(reserved, outcome(cost, { billed: micro(400) }))
        if (cover !== undefined) yield* accounting.release(cover)
        return cost
      })
      // All are reserved before the first one ends.
      const costs = yield* Effect.all(
        Array.from({ length: 20 }, (_, index) => request(`gen-${index}`)),
        { concurrency: "unbounded" }
      )
      const record = yield* (yield* KeyResponses).of(key)
      expect(record).toMatchObject({ usage: costs.reduce((sum, cost) => sum + cost, 0) / 1e6 })
      expect(record.usage).toBeLessThanOrEqual(0.001)
      // One more takes what is left, and no further one is admitted.
      const left = 1000 - costs.reduce((sum, cost) => sum + cost, 0)
      if (left >= 10) expect(yield* request("last")).toBe(Math.min(400, left))
      expect(yield* TestLedger.openReservations).toEqual([])
      expect((yield* accounting.balanceOf(payer.workspaceId))?.reserved).toBe(0)
      expect((yield* accounting.reconciliation).abandoned).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.effect("tells the operator what a request cost beyond its key's limit", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(1000, { limit: micro(150) })
      const reserved = yield* reserve("gen-1", payer, 100)
      const more = { id: "gen-1-more", payer, operation: "rerank", model: "sandbox/bm25" }
      const cover = yield* accounting.cover({ ...more, amount: micro(300) })
      expect(cover?.amount).toBe(50)
      expect(yield* accounting.cover({ ...more, id: "gen-2-more", amount: micro(300) })).toBeUndefined()
      const reported: Array<FailureLog.Occurrence> = []
      const report = (occurrence: FailureLog.Occurrence) => Effect.sync(() => void reported.push(occurrence))
      yield* Effect.provideService(
        accounting.settle(reserved, outcome(150, { billed: micro(400) })),
        FailureLog.FailureLog,
        { report }
      )
      expect(reported.map(({ message }) => message)).toEqual([
        "A request cost 400 micro-credits, more than the 100 that were reserved for it. The limits of its key allowed to charge 150"
      ])
      const overruns = (yield* Metric.snapshot).filter(({ id }) => /overrun|uncharged/.test(id))
      expect(overruns.map(({ id, state }) => [id, "count" in state ? state.count : state])).toEqual([
        ["model_gateway_overruns_total", 1],
        ["model_gateway_overrun_micro_credits_total", 300],
        ["model_gateway_uncharged_micro_credits_total", 250]
      ])
    }).pipe(Effect.provide(layer), Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("counts BYOK usage separately and does not change the balance [spec D10]", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { key, organizationId, payer } = yield* payerWith(10, { limit: micro(500) })
      const reserved = yield* reserve("gen-1", payer, 400, { isByok: true })
      yield* accounting.settle(reserved, outcome(400))
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 10, reserved: 0 })
      expect(yield* (yield* KeyResponses).of(key)).toMatchObject({
        usage: 0,
        byok_usage: 0.0004,
        byok_usage_monthly: 0.0004,
        limit_remaining: 0.0005
      })
      const counting = yield* (yield* KeyStore).update(organizationId, key.hash, { includeByokInLimit: true })
      expect(yield* (yield* KeyResponses).of(counting)).toMatchObject({ limit_remaining: 0.0001 })
      expect(yield* refusal("gen-2", payer, 101, { isByok: true })).toMatchObject({ scope: "key", remaining: 100 })
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "never exceeds a limit that counts BYOK usage, with 200 concurrent requests that either key may serve",
    () =>
      Effect.gen(function* () {
        const accounting = yield* Accounting
        // Both keys together reserve the dearer one: 900, with the caller's provider key.
        const { key, payer } = yield* payerWith(1_000_000, { limit: micro(100 * 900), includeByokInLimit: true })
        const results = yield* Effect.all(
          Array.from({ length: 200 }, (_, i) =>
            reserve(`gen-${i}`, payer, 700, { byokAmount: micro(900) }).pipe(
              Effect.tap(() => Effect.yieldNow),
              Effect.as(i),
              Effect.catchTag("InsufficientCredits", ({ scope }) => Effect.succeed(scope))
            )
          ),
          { concurrency: "unbounded" }
        )
        const through = results.filter((result) => typeof result === "number")
        expect(through.length).toBe(100)
        expect(yield* (yield* KeyResponses).of(key)).toMatchObject({ limit_remaining: 0 })
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 1_000_000, reserved: 70_000 })
        yield* Effect.forEach(
          through,
          (i) => accounting.settle({ id: `gen-${i}` }, outcome(i % 2 === 0 ? 900 : 700, { isByok: i % 2 === 0 })),
          { concurrency: "unbounded" }
        )
        const own = through.filter((i) => i % 2 === 0).length
        expect(yield* (yield* KeyResponses).of(key)).toMatchObject({
          byok_usage: MicroCredits.toCredits(own * 900),
          usage: MicroCredits.toCredits((100 - own) * 700),
          limit_remaining: MicroCredits.toCredits((100 - own) * 200)
        })
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({
          balance: 1_000_000 - (100 - own) * 700,
          reserved: 0
        })
        expect(yield* accounting.reconciliation).toMatchObject({ overruns: [] })
      }).pipe(Effect.provide(layer))
  )

  it.effect("resets a daily limit at 00:00 UTC and charges a request to the day it began [spec T8]", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const records = yield* KeyResponses
      yield* TestClock.setTime(Date.UTC(2026, 10, 20, 23, 59, 59, 999))
      const { key, payer } = yield* payerWith(10_000, { limit: micro(500), limitReset: "daily" })
      const straddling = yield* reserve("gen-1", payer, 400)
      expect(yield* refusal("gen-2", payer, 200)).toMatchObject({ scope: "key", remaining: 100 })

      yield* TestClock.adjust("1 millis")
      const today = yield* reserve("gen-3", payer, 500)
      yield* accounting.settle(straddling, outcome(400))
      yield* accounting.settle(today, outcome(450))
      expect(yield* records.of(key)).toMatchObject({
        usage: 0.00085,
        usage_daily: 0.00045,
        usage_weekly: 0.00085,
        usage_monthly: 0.00085,
        limit_remaining: 0.00005
      })
      yield* TestClock.adjust("1 day")
      expect(yield* records.of(key)).toMatchObject({ usage: 0.00085, usage_daily: 0, limit_remaining: 0.0005 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("sums usage of the UTC day, the week from Monday and the month [spec D1 D2 D3 D4 D22 D23 D24 D25]", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const records = yield* KeyResponses
      const { key, payer } = yield* payerWith(1_000_000)
      /** Spends 1 with the gateway's key, and 100 with the caller's own. */
      const spend = Effect.fnUntraced(function* (day: string) {
        yield* TestClock.setTime(Date.parse(`${day}T23:59:59.999Z`))
        yield* accounting.settle(yield* reserve(day, payer, 1), outcome(1))
        yield* accounting.settle(yield* reserve(`${day} own`, payer, 100, { isByok: true }), outcome(100))
        yield* TestClock.adjust("1 millis")
      })
      const sums = Effect.gen(function* () {
        const { usage, usage_daily, usage_monthly, usage_weekly, ...rest } = yield* records.of(key)
        const micro = [usage_daily, usage_weekly, usage_monthly, usage].map((credits) => Math.round(credits * 1e6))
        const { byok_usage, byok_usage_daily, byok_usage_monthly, byok_usage_weekly } = rest
        expect(
          [byok_usage_daily, byok_usage_weekly, byok_usage_monthly, byok_usage].map((credits) =>
            Math.round(credits * 1e4)
          )
        ).toEqual(micro)
        return micro
      })
      // A Friday, and the midnight after each.
      yield* spend("2026-11-27")
      expect(yield* sums).toEqual([0, 1, 1, 1])
      yield* spend("2026-11-28")
      expect(yield* sums).toEqual([0, 2, 2, 2])
      yield* spend("2026-11-29")
      // Monday has come.
      expect(yield* sums).toEqual([0, 0, 3, 3])
      yield* spend("2026-11-30")
      // The first of December has come, a Tuesday.
      expect(yield* sums).toEqual([0, 1, 0, 4])
      yield* TestClock.adjust("-1 millis")
      expect(yield* sums).toEqual([1, 1, 4, 4])
    }).pipe(Effect.provide(layer))
  )

  it.effect("admits nothing more when the clock is behind another process's", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 21, 0, 0, 1))
      const { payer } = yield* payerWith(10_000, { limit: micro(500), limitReset: "daily" })
      yield* reserve("gen-1", payer, 400)
      yield* TestClock.setTime(Date.UTC(2026, 10, 20, 23, 59, 59))
      expect(yield* refusal("gen-2", payer, 101)).toMatchObject({ scope: "key", remaining: 100 })
      yield* reserve("gen-3", payer, 100)
      yield* TestClock.setTime(Date.UTC(2026, 10, 21, 0, 0, 2))
      expect(yield* refusal("gen-4", payer, 1)).toMatchObject({ scope: "key", remaining: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("treats a negative amount as a defect", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(100)
      expect(Exit.hasDies(yield* Effect.exit(reserve("gen-1", payer, -1)))).toBe(true)
      const reserved = yield* reserve("gen-2", payer, 10)
      expect(Exit.hasDies(yield* Effect.exit(accounting.settle(reserved, outcome(-1))))).toBe(true)
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 100 })
      // The request has ended, so the reaper releases what it had reserved.
      expect(yield* accounting.reap).toBe(1)
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 100, reserved: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("commits the only request under way at once, and lets several share a commit", () =>
    Effect.gen(function* () {
      const ledger = yield* LedgerStore
      const alone: Array<boolean> = []
      const accounting = yield* Effect.provideService(make, LedgerStore, {
        ...ledger,
        reserve: (reservation, isAlone) => {
          alone.push(isAlone)
          return ledger.reserve(reservation, isAlone)
        },
        end: (request) => {
          alone.push(request.isAlone)
          return ledger.end(request)
        }
      })
      const { payer } = yield* payerWith(1000)
      const open = (id: string) => Effect.provideService(reserve(id, payer, 10), Accounting, accounting)
      const first = yield* open("gen-1")
      yield* nextTurn
      const second = yield* open("gen-2")
      yield* accounting.settle(first, outcome(1))
      yield* accounting.settle(second, outcome(1))
      yield* open("gen-3")
      expect(alone).toEqual([true, false, false, true, true])
    }).pipe(Effect.provide(layer))
  )

  it.effect("lets requests share a commit that begin in one turn of the event loop, although none waits", () =>
    Effect.gen(function* () {
      const ledger = yield* LedgerStore
      const alone: Array<boolean> = []
      const accounting = yield* Effect.provideService(make, LedgerStore, {
        ...ledger,
        reserve: (_, isAlone) => {
          alone.push(isAlone)
          return Effect.succeed({ amount: micro(10), reservedAt: 0, isAsGiven: false })
        },
        end: ({ isAlone }) => {
          alone.push(isAlone)
          return Effect.succeed({ settlement: "done", charged: undefined, bytesOfKey: undefined })
        }
      })
      const { payer } = yield* payerWith(1000)
      const serve = (id: string) =>
        Effect.flatMap(reserve(id, payer, 10), (reserved) => accounting.settle(reserved, outcome(1))).pipe(
          Effect.provideService(Accounting, accounting)
        )
      yield* nextTurn
      yield* serve("gen-1")
      yield* serve("gen-2")
      yield* nextTurn
      yield* serve("gen-3")
      yield* nextTurn
      yield* serve("gen-4")
      // Under load the first one of a turn does not know whether others follow.
      expect(alone).toEqual([true, true, false, false, false, false, true, true])
    }).pipe(Effect.provide(layer))
  )

  it.effect("adds credits, and distinguishes an unknown workspace from an overflow", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(100)
      expect(yield* accounting.addCredits(payer.workspaceId, micro(900), "gift")).toMatchObject({ balance: 1000 })
      expect(yield* accounting.addCredits("nowhere", micro(1))).toBe(null)
      const error = yield* Effect.flip(accounting.addCredits(payer.workspaceId, micro(Number.MAX_SAFE_INTEGER)))
      expect(error._tag).toBe("BalanceOutOfRange")
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 1000 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("lists what was added and corrected, newest first, with the balance after each", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const { payer } = yield* payerWith(100)
      const { workspaceId } = payer
      yield* accounting.addCredits(workspaceId, micro(900), "gift", "some-key")
      yield* accounting.settle(yield* reserve("gen-1", payer, 400), outcome(250))
      yield* accounting.addCredits(workspaceId, micro(-950), "not a gift", "some-key")
      yield* accounting.addCredits(workspaceId, micro(5))
      const all = yield* accounting.creditLedger(workspaceId, {})
      expect(all.hasMore).toBe(false)
      expect(all.items).toMatchObject([
        { kind: "added", amount: 5, balance: -195, note: null, actor: null },
        { kind: "correction", amount: -950, balance: -200, note: "not a gift", actor: "some-key" },
        { kind: "added", amount: 900, balance: 1000, note: "gift", actor: "some-key" },
        { kind: "initial", amount: 100, balance: 100, note: "first run", actor: null }
      ])
      const first = yield* accounting.creditLedger(workspaceId, { limit: 3 })
      expect(first).toEqual({ items: all.items.slice(0, 3), hasMore: true })
      expect(yield* accounting.creditLedger(workspaceId, { after: first.items[2]?.id })).toEqual({
        items: all.items.slice(3),
        hasMore: false
      })
      expect((yield* accounting.creditLedger("nowhere", {})).items).toEqual([])
      const unknown = yield* Effect.flip(accounting.creditLedger("nowhere", { after: all.items[0]?.id }))
      expect(unknown._tag).toBe("UnknownCursor")
    }).pipe(Effect.provide(layer))
  )
})

/**
 * Reaps one reservation within 30 seconds. Heartbeats take real time on Postgres, so the clock
 * moves step by step, and further if they lag behind.
 */
const reapedInTime = Effect.fnUntraced(function* (name: Database["name"]) {
  const accounting = yield* Accounting
  for (let second = 0; second < (name === "postgres" ? 300 : 30); second++) {
    yield* TestClock.adjust("1 second")
    const freed = yield* accounting.reap
    if (freed > 0) return expect(freed).toBe(1)
  }
  expect.fail("nothing was released")
})

describe.each(databases)("after a crash, on $name", ({ create, layer, name }) => {
  it.live("releases reservations of a killed process, keeps those of a job, and lists both", () =>
    Effect.gen(function* () {
      const location = yield* create
      const payer = yield* Effect.map(payerWith(10_000), ({ payer }) => payer).pipe(Effect.provide(layerAt(location)))
      yield* runAndKill("storage/sql/fixtures/reserveAndHang.ts", location, payer.keyHash, payer.workspaceId)

      yield* Effect.gen(function* () {
        const accounting = yield* Accounting
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 10_000, reserved: 1400 })
        // Nobody has watched it for 30 seconds, so it may still be alive.
        expect(yield* accounting.reap).toBe(0)
      }).pipe(Effect.provide(layerAt(location)))

      yield* Effect.gen(function* () {
        const accounting = yield* Accounting
        yield* reapedInTime(name)
        expect(yield* accounting.reap).toBe(0)
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 10_000, reserved: 700 })
        expect(yield* TestLedger.openReservations).toMatchObject([{ id: "gen-job", jobId: "job-1", owner: null }])
        expect(yield* accounting.reconciliation).toMatchObject({
          abandoned: [{ id: "gen-killed", state: "abandoned", amount: 700 }]
        })
        expect(yield* accounting.settle({ id: "gen-job" }, outcome(650))).toBe("done")
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 9350, reserved: 0 })
      }).pipe(Effect.provide(layerAt(location, {})), Effect.provide(TestClock.layer()))
    })
  )

  it.effect("releases nothing of a live process whose clock is an hour ahead or behind", () =>
    Effect.gen(function* () {
      const hour = Duration.toMillis("1 hour")
      for (const off of [hour, -hour]) {
        const location = yield* create
        const other = yield* Layer.build(layerAt(location, {})).pipe(clockAhead(off))
        yield* Effect.gen(function* () {
          const { payer } = yield* payerWith(1000)
          yield* reserve("gen-1", payer, 400).pipe(Effect.provide(other), clockAhead(off))
          for (let minute = 0; minute < 5; minute++) {
            yield* TestClock.adjust("1 minute")
            expect(yield* (yield* Accounting).reap).toBe(0)
          }
          expect(yield* (yield* Accounting).balanceOf(payer.workspaceId)).toMatchObject({ reserved: 400 })
        }).pipe(Effect.provide(layerAt(location, {})))
      }
    })
  )

  it.effect("charges a settlement that comes after the reaper, and marks it late", () =>
    Effect.gen(function* () {
      const location = yield* create
      // A suspended process sends no heartbeats: its layer is built, and its clock does not move.
      const sleeper = yield* Layer.build(layerAt(location))
      const { payer } = yield* payerWith(1000).pipe(Effect.provide(sleeper))
      const reserved = yield* reserve("gen-1", payer, 400).pipe(Effect.provide(sleeper))
      yield* Effect.gen(function* () {
        const accounting = yield* Accounting
        yield* reapedInTime(name)
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 1000, reserved: 0 })
      }).pipe(Effect.provide(layerAt(location, {})), Effect.provide(TestClock.layer()))
      yield* Effect.gen(function* () {
        const accounting = yield* Accounting
        expect(yield* accounting.settle(reserved, outcome(300))).toBe("late")
        expect(yield* accounting.settle(reserved, outcome(300))).toBe("already")
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 700, reserved: 0 })
        expect(yield* accounting.reconciliation).toMatchObject({ abandoned: [], late: [{ id: "gen-1", isLate: true }] })
      }).pipe(Effect.provide(sleeper))
    })
  )

  it.effect("releases the reservation of a settlement that failed", () =>
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const sql = yield* SqlClient
      const { payer } = yield* payerWith(1000)
      const reserved = yield* reserve("gen-1", payer, 400)
      const other = yield* reserve("gen-2", payer, 300)
      yield* sql`ALTER TABLE usage_ledger RENAME TO elsewhere`
      expect((yield* Effect.flip(accounting.settle(reserved, outcome(100))))._tag).toBe("StorageError")
      yield* sql`ALTER TABLE elsewhere RENAME TO usage_ledger`
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ reserved: 700 })
      expect(yield* accounting.reap).toBe(1)
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 1000, reserved: 300 })
      expect(yield* accounting.reconciliation).toMatchObject({ abandoned: [{ id: "gen-1" }] })
      expect(yield* accounting.settle(other, outcome(300))).toBe("done")
    }).pipe(Effect.provide(layer))
  )

  it.effect("tries a charge again for 10 seconds while the database cannot be used, and keeps its reservation", () =>
    Effect.gen(function* () {
      const ledger = yield* LedgerStore
      const lost = new StorageError({ operation: "test", message: "the connection was lost", retryable: true })
      let isLost = true
      const accounting = yield* Effect.provideService(make, LedgerStore, {
        ...ledger,
        end: (end) => Effect.suspend(() => (isLost ? Effect.fail(lost) : ledger.end(end)))
      })
      const { payer } = yield* payerWith(1000)
      const reserved = yield* reserve("gen-1", payer, 400).pipe(Effect.provideService(Accounting, accounting))
      const settling = yield* Effect.forkChild(accounting.settle(reserved, outcome(100)))
      yield* TestClock.adjust("8 seconds")
      expect(yield* accounting.reap).toBe(0)
      isLost = false
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(settling)).toBe("done")
      expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 900, reserved: 0 })

      isLost = true
      const other = yield* reserve("gen-2", payer, 400).pipe(Effect.provideService(Accounting, accounting))
      const failing = yield* Effect.forkChild(Effect.flip(accounting.settle(other, outcome(100))))
      yield* TestClock.adjust("11 seconds")
      expect(yield* Fiber.join(failing)).toBe(lost)
      expect(yield* accounting.reap).toBe(1)
    }).pipe(Effect.provide(layer))
  )

  it.effect("reaps in the background, at the start and at an interval", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { payer } = yield* payerWith(1000)
      const ofTheDead = Effect.fnUntraced(function* (id: string) {
        yield* reserve(id, payer, 100)
        yield* sql`UPDATE reservations SET owner = 'proc_dead' WHERE id = ${id}`
      })
      const open = Effect.map(TestLedger.openReservations, (reservations) => reservations.map(({ id }) => id))
      const released = { until: (ids: ReadonlyArray<string>) => ids.length === 1 }
      yield* reserve("gen-alive", payer, 400)
      yield* ofTheDead("gen-1")
      yield* Layer.build(layerBackground({ every: "30 seconds" }))
      expect(yield* Effect.repeat(open, released)).toEqual(["gen-alive"])
      yield* ofTheDead("gen-2")
      yield* TestClock.adjust("29 seconds")
      expect(yield* open).toHaveLength(2)
      const later = Effect.andThen(TestClock.adjust("1 second"), open)
      expect(yield* Effect.repeat(later, released)).toEqual(["gen-alive"])
    }).pipe(Effect.provide(layer))
  )

  it.live(
    "enforces a limit across processes that spend at the same time",
    () =>
      Effect.gen(function* () {
        const location = yield* create
        const { key, payer } = yield* payerWith(10_000, { limit: micro(150) }).pipe(Effect.provide(layerAt(location)))
        const spend = (name: string) =>
          run("storage/sql/fixtures/spend.ts", location, payer.keyHash, payer.workspaceId, name, "100")
        const counts = yield* Effect.all([spend("a"), spend("b"), spend("c")], { concurrency: "unbounded" })
        expect(counts.reduce((sum, count) => sum + Number(count), 0)).toBe(150)
        yield* Effect.gen(function* () {
          const accounting = yield* Accounting
          expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 9850, reserved: 0 })
          expect((yield* TestLedger.usageOf()).length).toBe(150)
          expect(yield* (yield* KeyResponses).of(key)).toMatchObject({ usage: 0.00015, limit_remaining: 0 })
        }).pipe(Effect.provide(layerAt(location)))
      }),
    60_000
  )
})
