/** Random histories against books kept by hand: a list of requests, summed anew for every question. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as MicroCredits from "../../src/accounting/MicroCredits.ts"
import { GuardrailStore } from "../../src/guardrails/GuardrailStore.ts"
import { KeyRecords } from "../../src/keys/KeyRecord.ts"
import { KeyStore } from "../../src/keys/KeyStore.ts"
import { startOfDay, startOfMonth, startOfWeek } from "../../src/keys/Periods.ts"
import { WorkspaceStore } from "../../src/workspaces/WorkspaceStore.ts"
import { layer } from "../storage/TestStorage.ts"

const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 300 }))

const Step = Schema.Union([
  Schema.Struct({ do: Schema.Literal("reserve"), amount: small, byok: Schema.Boolean }),
  Schema.Struct({ do: Schema.Literal("settle"), which: small, cost: small }),
  Schema.Struct({ do: Schema.Literal("release"), which: small }),
  Schema.Struct({ do: Schema.Literal("wait"), hours: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 60 })) })
])

const History = Schema.Struct({
  steps: Schema.Array(Step).check(Schema.isMaxLength(40)),
  credits: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3000 })),
  limit: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 }))),
  reset: Schema.NullOr(Schema.Literals(["daily", "weekly", "monthly"])),
  includeByok: Schema.Boolean,
  guardrailLimit: Schema.NullOr(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1000 })))
})

interface Request {
  readonly id: string
  readonly at: number
  readonly amount: number
  readonly byok: boolean
  state: "open" | "settled" | "released"
  cost: number
}

const startOf = { daily: startOfDay, weekly: startOfWeek, monthly: startOfMonth }

describe("the books", () => {
  it.effect.prop(
    "agree with a list of requests summed by hand, whatever happens in whatever order",
    [History],
    ([history]) =>
      Effect.gen(function* () {
        let now = Date.UTC(2026, 10, 20, 12)
        yield* TestClock.setTime(now)
        yield* Effect.gen(function* () {
          const accounting = yield* Accounting
          const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault({
            credits: MicroCredits.make(history.credits)
          })
          const limit = history.limit === null ? null : MicroCredits.make(history.limit)
          const { key } = yield* (yield* KeyStore).create({
            organizationId,
            workspaceId,
            name: "k",
            limit,
            limitReset: history.reset,
            includeByokInLimit: history.includeByok
          })
          const guardrail = yield* (yield* GuardrailStore).create({
            organizationId,
            name: "g",
            limit: history.guardrailLimit === null ? null : MicroCredits.make(history.guardrailLimit)
          })
          const payer = { keyHash: key.hash, workspaceId, guardrailId: guardrail.id }
          const requests: Array<Request> = []

          const sum = (of: (request: Request) => number) => requests.reduce((total, request) => total + of(request), 0)
          const counted = (request: Request) => (request.state === "open" ? request.amount : request.cost)
          const inPeriod = (request: Request) =>
            history.reset === null || startOf[history.reset](request.at) === startOf[history.reset](now)
          const towardsKey = (request: Request) =>
            inPeriod(request) && (!request.byok || history.includeByok) ? counted(request) : 0
          const inCredits = (request: Request) => (request.byok ? 0 : counted(request))

          const fits = (amount: number, byok: boolean) => {
            if (amount === 0) return true
            const keyCounts = !byok || history.includeByok
            if (keyCounts && history.limit !== null && sum(towardsKey) + amount > history.limit) return false
            if (byok) return true
            if (history.guardrailLimit !== null && sum(inCredits) + amount > history.guardrailLimit) return false
            return sum(inCredits) + amount <= history.credits
          }

          for (const step of history.steps) {
            switch (step.do) {
              case "wait": {
                now += step.hours * 3_600_000
                yield* TestClock.setTime(now)
                break
              }
              case "reserve": {
                const { amount, byok } = step
                const id = `gen-${requests.length}`
                const expected = fits(amount, byok)
                const let_in = yield* accounting
                  .reserve({ id, payer, operation: "o", model: "m", amount: MicroCredits.make(amount), isByok: byok })
                  .pipe(
                    Effect.as(true),
                    Effect.catchTag("InsufficientCredits", () => Effect.succeed(false))
                  )
                expect(let_in).toBe(expected)
                if (let_in) requests.push({ id, at: now, amount, byok, state: "open", cost: 0 })
                break
              }
              case "settle":
              case "release": {
                const request = requests[step.which % Math.max(1, requests.length)]
                if (request === undefined) break
                const wasOpen = request.state === "open"
                // What was held is the worst case, so it costs at most that.
                const cost = step.do === "settle" ? Math.min(step.cost, request.amount) : 0
                const answer =
                  step.do === "settle"
                    ? yield* accounting.settle(request, {
                        cost: MicroCredits.make(cost),
                        provider: "p",
                        upstreamModel: "u"
                      })
                    : yield* accounting.release(request)
                expect(answer).toBe(wasOpen ? "done" : "already")
                if (wasOpen) Object.assign(request, { state: `${step.do}d`, cost })
                break
              }
            }
          }

          const settled = requests.filter((request) => request.state === "settled")
          const spent = (byok: boolean, start?: (millis: number) => number) =>
            MicroCredits.toCredits(
              settled
                .filter((request) => request.byok === byok && (start === undefined || start(request.at) === start(now)))
                .reduce((total, request) => total + request.cost, 0)
            )
          const record = yield* (yield* KeyRecords).of(key)
          expect(record).toMatchObject({
            usage: spent(false),
            usage_daily: spent(false, startOfDay),
            usage_weekly: spent(false, startOfWeek),
            usage_monthly: spent(false, startOfMonth),
            byok_usage: spent(true),
            byok_usage_daily: spent(true, startOfDay),
            byok_usage_weekly: spent(true, startOfWeek),
            byok_usage_monthly: spent(true, startOfMonth),
            limit_remaining:
              history.limit === null ? null : MicroCredits.toCredits(Math.max(0, history.limit - sum(towardsKey)))
          })
          const held = sum((request) => (request.state === "open" && !request.byok ? request.amount : 0))
          const balance = history.credits - sum(inCredits) + held
          expect(yield* accounting.balanceOf(workspaceId)).toMatchObject({ balance, held })
          const usage = yield* accounting.usageOf({ keyHash: key.hash }, { limit: 1000 })
          expect(usage.items.map((row) => row.id).toSorted()).toEqual(settled.map((request) => request.id).toSorted())
        }).pipe(Effect.provide(layer))
      }),
    { timeout: 60_000, arbitrary: { runs: 60 } }
  )
})
