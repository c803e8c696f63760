/** Two processes that reserve and settle on one database at the same time. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as Dialect from "../../src/storage/sql/Dialect.ts"
import { LedgerStore } from "../../src/accounting/LedgerStore.ts"
import { ProcessInstance } from "../../src/storage/sql/ProcessInstance.ts"
import * as Dice from "../Dice.ts"
import { databases } from "../TestDatabases.ts"
import { clockAhead, layerAt } from "../TestStorage.ts"
import * as TestLedger from "./TestLedger.ts"
import { micro, outcome, payerWith, reserve } from "./TestPayer.ts"

const unbounded = { concurrency: "unbounded" } as const

describe.each(databases)("two processes on $name", ({ create, name }) => {
  const processes = Effect.flatMap(create, (location) =>
    Effect.all([Layer.build(layerAt(location)), Layer.build(layerAt(location))])
  )

  it.live("let exactly 100 of 500 concurrent requests through the limit of a key, workspace or guardrail", () =>
    Effect.gen(function* () {
      const [first, second] = yield* processes
      yield* Effect.gen(function* () {
        const { organizationId, payer } = yield* payerWith(100 * 70)
        const guardrails = yield* GuardrailStore
        const workspaces = yield* WorkspaceStore
        const keys = yield* KeyStore
        const accounting = yield* Accounting
        const rich = yield* workspaces.create(organizationId, { name: "rich", slug: "rich" })
        yield* accounting.addCredits(rich.id, micro(1_000_000))
        const keyIn = (workspaceId: string, limit: number | null) =>
          Effect.map(
            keys.create({ organizationId, workspaceId, name: "k", limit: limit === null ? null : micro(limit) }),
            ({ key }) => key.hash
          )
        const guardrail = yield* guardrails.create({ organizationId, name: "g", limit: micro(100 * 70) })
        const payers = {
          workspace: payer,
          key: { ...payer, workspaceId: rich.id, keyHash: yield* keyIn(rich.id, 100 * 70) },
          guardrail: { keyHash: yield* keyIn(rich.id, null), workspaceId: rich.id, guardrailId: guardrail.id }
        }
        for (const [scope, one] of Object.entries(payers)) {
          const results = yield* Effect.forEach(
            Array.from({ length: 500 }, (_, n) => n),
            (n) =>
              reserve(`${scope}-${n}`, one, 70).pipe(
                Effect.flatMap((reserved) => Effect.flatMap(Accounting, ({ settle }) => settle(reserved, outcome(70)))),
                Effect.catchTag("InsufficientCredits", (refused) => Effect.succeed(refused.scope)),
                Effect.provide(n % 2 === 0 ? first : second)
              ),
            unbounded
          )
          expect(results.filter((result) => result === "done").length).toBe(100)
          expect(results.filter((result) => result === scope).length).toBe(400)
        }
        expect((yield* TestLedger.usageOf()).length).toBe(300)
        expect(yield* TestLedger.openReservations).toEqual([])
        expect(yield* accounting.balanceOf(payer.workspaceId)).toMatchObject({ balance: 0, reserved: 0 })
        expect(yield* accounting.balanceOf(rich.id)).toMatchObject({ balance: 1_000_000 - 200 * 70, reserved: 0 })
      }).pipe(Effect.provide(first))
    })
  )

  it.live("count random requests of many keys and guardrails exactly, at any moment within all limits", () =>
    Effect.gen(function* () {
      const [first, second] = yield* processes
      const dice = Dice.make(20_261_122, name)
      /** A number from 0 to `below` - 1. */
      const random = (below: number) => dice.int(0, below - 1)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const accounting = yield* Accounting
        const { organizationId } = yield* payerWith(0)
        // The requests of each workspace reach one kind of limit: that of the workspace, of its
        // keys or of their guardrail.
        const ample = 1_000_000
        const credits = [4800, ample, ample]
        const keyLimits = [ample, 1400, ample]
        const guardrailLimits = [ample, ample, 3000]
        const workspaceIds = yield* Effect.forEach(credits, (amount, n) =>
          Effect.gen(function* () {
            const { id } = yield* (yield* WorkspaceStore).create(organizationId, {
              name: `workspace ${n}`,
              slug: `workspace-${n}`
            })
            yield* accounting.addCredits(id, micro(amount))
            return id
          })
        )
        const guardrailIds = yield* Effect.forEach(guardrailLimits, (limit, n) =>
          Effect.flatMap(GuardrailStore, (guardrails) =>
            Effect.map(
              guardrails.create({ organizationId, name: `guardrail ${n}`, limit: micro(limit) }),
              ({ id }) => id
            )
          )
        )
        const payers = yield* Effect.forEach(Array.from({ length: 12 }), (_, n) =>
          Effect.gen(function* () {
            const workspaceId = workspaceIds[n % 3] ?? ""
            const { key } = yield* (yield* KeyStore).create({
              organizationId,
              workspaceId,
              name: "k",
              limit: micro(keyLimits[n % 3] ?? ample),
              limitReset: n % 2 === 0 ? "daily" : null
            })
            // Keys of different workspaces share guardrails, so batches need rows in any order.
            const guardrailId = guardrailIds[n % 3 === 2 ? 2 : random(2)] ?? null
            return { keyHash: key.hash, workspaceId, guardrailId: n === 0 ? null : guardrailId }
          })
        )
        const spent = new Map<string, number>()
        const charge = (ids: ReadonlyArray<string | null>, cost: number) => {
          for (const id of ids) if (id !== null) spent.set(id, (spent.get(id) ?? 0) + cost)
        }

        const one = Effect.fnUntraced(function* (n: number) {
          const payer = payers[random(payers.length)] ?? payers[0]
          if (payer === undefined) return "none"
          const amount = 20 + random(180)
          const cost = random(amount + 1)
          const end = random(5)
          const [here, there] = random(2) === 0 ? [first, second] : [second, first]
          const settle = (reservation: { readonly id: string }) =>
            Effect.flatMap(Accounting, ({ settle }) => settle(reservation, outcome(cost)))
          const reserved = yield* Effect.provide(reserve(`gen-${n}`, payer, amount), here)
          switch (end) {
            case 0: {
              yield* Effect.provide(
                Effect.flatMap(Accounting, ({ release }) => release(reserved)),
                here
              )
              return "released"
            }
            case 1: {
              // Both processes settle it, as after a confirmation that was lost.
              const settled = yield* Effect.all(
                [Effect.provide(settle(reserved), here), Effect.provide(settle({ id: reserved.id }), there)],
                unbounded
              )
              expect(settled.toSorted()).toEqual(["already", "done"])
              break
            }
            case 2: {
              // The other process takes this one for dead, and it settles late.
              const { id: owner } = yield* Effect.provide(ProcessInstance, here)
              const now = yield* Clock.currentTimeMillis
              const abandon = Effect.flatMap(LedgerStore, (ledger) => ledger.abandon([{ id: reserved.id, owner }], now))
              expect(yield* Effect.provide(abandon, there)).toBe(1)
              expect(yield* Effect.provide(settle(reserved), here)).toBe("late")
              break
            }
            default:
              expect(yield* Effect.provide(settle(reserved), here)).toBe("done")
          }
          charge([payer.keyHash, payer.guardrailId, payer.workspaceId], cost)
          return "settled"
        })

        let isOver = false
        // Every look sees committed sums within the limits, except for costs that were settled
        // late.
        const looks = yield* Effect.forkChild(
          Effect.gen(function* () {
            while (!isOver) {
              const rows = yield* sql`SELECT reserved, limit_micro, usage FROM budgets WHERE limit_micro IS NOT NULL`
              for (const row of rows) {
                const reserved = Dialect.int(row, "reserved")
                expect(reserved).toBeGreaterThanOrEqual(0)
                expect(reserved).toBeLessThanOrEqual(Dialect.int(row, "limit_micro"))
              }
              yield* Effect.yieldNow
            }
          }),
          { startImmediately: true }
        )
        const results = yield* Effect.forEach(
          Array.from({ length: 600 }, (_, n) => n),
          (n) => Effect.catchTag(one(n), "InsufficientCredits", ({ scope }) => Effect.succeed(scope)),
          { concurrency: 100 }
        )
        isOver = true
        yield* Fiber.join(looks)
        const count = (of: string) => results.filter((result) => result === of).length
        expect(count("settled")).toBeGreaterThan(100)
        // Each limit is reached.
        for (const scope of ["key", "guardrail", "workspace"]) {
          expect([scope, count(scope) > 10]).toEqual([scope, true])
        }

        const budgets = yield* sql`SELECT id, usage, reserved, byok_reserved FROM budgets`
        for (const row of budgets) {
          expect(row).toMatchObject({ usage: spent.get(Dialect.text(row, "id")) ?? 0, reserved: 0, byok_reserved: 0 })
        }
        for (const [n, id] of workspaceIds.entries()) {
          expect(yield* accounting.balanceOf(id)).toMatchObject({
            balance: (credits[n] ?? 0) - (spent.get(id) ?? 0),
            reserved: 0
          })
        }
        expect((yield* TestLedger.usageOf()).length).toBe(count("settled"))
        expect(yield* sql`SELECT * FROM reservations`).toEqual([])
        if (name === "postgres") {
          const [found] = yield* sql`SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`
          expect(found).toMatchObject({ deadlocks: 0 })
        }
      }).pipe(Effect.provide(first))
    })
  )

  it.live("count a day once when midnight comes to one of them first", () =>
    Effect.gen(function* () {
      const [first, second] = yield* processes
      const day = 86_400_000
      const now = yield* Clock.currentTimeMillis
      const untilMidnight = day - (now % day)
      const before = clockAhead(untilMidnight - 60_000)
      const after = clockAhead(untilMidnight + 60_000)
      yield* Effect.gen(function* () {
        const { payer } = yield* payerWith(1_000_000, { limit: micro(100 * 70), limitReset: "daily" })
        // Yesterday's budget is used up.
        yield* Effect.forEach(
          Array.from({ length: 100 }, (_, n) => n),
          (n) => before(Effect.provide(reserve(`before-${n}`, payer, 70), first)),
          unbounded
        )
        const results = yield* Effect.forEach(
          Array.from({ length: 300 }, (_, n) => n),
          (n) =>
            (n % 2 === 0
              ? after(Effect.provide(reserve(`gen-${n}`, payer, 70), first))
              : before(Effect.provide(reserve(`gen-${n}`, payer, 70), second))
            ).pipe(
              Effect.as("reserved"),
              Effect.catchTag("InsufficientCredits", ({ scope }) => Effect.succeed(scope))
            ),
          unbounded
        )
        expect(results.filter((result) => result === "reserved").length).toBe(100)
      }).pipe(Effect.provide(first))
    })
  )
})
