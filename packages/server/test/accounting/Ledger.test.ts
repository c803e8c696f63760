/** Random sequences of events, compared with a model that sums a list of requests each time. */
import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import { KeyRecords } from "../../src/access/KeyRecords.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { startOfDay, startsOf } from "../../src/internal/Periods.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { databases } from "../TestDatabases.ts"
import * as TestLedger from "./TestLedger.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Reservations, and amounts near the limits, are frequent, so that the limits are reached. */
const Step = Schema.Struct({
  do: Schema.Literals(["reserve", "reserve", "reserve", "settle", "release", "wait"]),
  amount: between(20, 150),
  share: between(0, 100),
  which: between(0, 1000),
  hours: between(1, 60),
  /** Which keys may serve a request: the gateway's, the caller's, or either. */
  keys: Schema.Literals(["gateway", "own", "either"]),
  /** The most that the caller's own key costs if either may serve it. */
  ownAmount: between(20, 150),
  servedByOwn: Schema.Boolean
})

const History = Schema.Struct({
  steps: Schema.Array(Step).check(Schema.isMinLength(30), Schema.isMaxLength(50)),
  credits: between(0, 2000),
  limit: between(-100, 500),
  reset: Schema.Literals(["never", "daily", "weekly", "monthly"]),
  includeByok: Schema.Boolean,
  guardrailLimit: between(-300, 800)
})

/** A negative number means no limit. */
const limitOf = (limit: number) => (limit < 0 ? null : MicroCredits.make(limit))

interface Request {
  readonly id: string
  readonly at: number
  /** What it may cost in credits, and with the caller's own key. */
  readonly credits: number
  readonly own: number
  state: "open" | "settled" | "released"
  cost: number
  /** Whether the caller's own key served it. */
  byok: boolean
}

const startOfWeek = (millis: number) => startsOf(millis).week
const startOfMonth = (millis: number) => startsOf(millis).month
const startOf = { daily: startOfDay, weekly: startOfWeek, monthly: startOfMonth }

describe.each(databases)("the ledger on $name", ({ layer, name }) => {
  let runs = 0
  it.layer(layer)((it) => {
    it.effect.prop(
      "agrees with a model that sums all requests, for random sequences of events",
      [History],
      ([history]) =>
        Effect.gen(function* () {
          const accounting = yield* Accounting
          const workspaces = yield* WorkspaceStore
          const { organizationId } = yield* workspaces.ensureDefault()
          const { id: workspaceId } = yield* workspaces.create(organizationId, { name: "w", slug: `w-${runs++}` })
          yield* accounting.addCredits(workspaceId, MicroCredits.make(history.credits))
          const reset = history.reset === "never" ? null : history.reset
          // The test clock begins in 1970, whose first week began before any time that a row can
          // hold.
          let now = Math.max(yield* Clock.currentTimeMillis, Date.UTC(2026, 0, 1))
          yield* TestClock.setTime(now)
          const limit = limitOf(history.limit)
          const guardrailLimit = limitOf(history.guardrailLimit)
          const { key } = yield* (yield* KeyStore).create({
            organizationId,
            workspaceId,
            name: "k",
            limit,
            limitReset: reset,
            includeByokInLimit: history.includeByok
          })
          const guardrail = yield* (yield* GuardrailStore).create({
            organizationId,
            name: "g",
            limit: guardrailLimit
          })
          const payer = { keyHash: key.hash, workspaceId, guardrailId: guardrail.id }
          const requests: Array<Request> = []

          const sum = (of: (request: Request) => number) => requests.reduce((total, request) => total + of(request), 0)
          const inPeriod = (request: Request) => reset === null || startOf[reset](request.at) === startOf[reset](now)
          /** Only one of its keys serves a request, so what is held is the larger of both. */
          const ofKey = (credits: number, own: number) => (history.includeByok ? Math.max(credits, own) : credits)
          const inCredits = (request: Request) =>
            request.state === "open" ? request.credits : request.byok ? 0 : request.cost
          const towardsKey = (request: Request) => {
            if (!inPeriod(request)) return 0
            if (request.state === "open") return ofKey(request.credits, request.own)
            return !request.byok || history.includeByok ? request.cost : 0
          }

          const fits = (credits: number, own: number) => {
            const counts = ofKey(credits, own)
            if (counts > 0 && limit !== null && sum(towardsKey) + counts > limit) return false
            if (credits === 0) return true
            if (guardrailLimit !== null && sum(inCredits) + credits > guardrailLimit) return false
            return sum(inCredits) + credits <= history.credits
          }

          for (const step of history.steps) {
            switch (step.do) {
              case "wait": {
                now += step.hours * 3_600_000
                yield* TestClock.setTime(now)
                break
              }
              case "reserve": {
                const { keys } = step
                const credits = keys === "own" ? 0 : step.amount
                const own = keys === "gateway" ? 0 : keys === "own" ? step.amount : step.ownAmount
                const id = `gen-${key.hash}-${requests.length}`
                const expected = fits(credits, own)
                const let_in = yield* accounting
                  .reserve({
                    id,
                    payer,
                    operation: "o",
                    model: "m",
                    ...(keys === "own"
                      ? { amount: MicroCredits.make(own), isByok: true }
                      : { amount: MicroCredits.make(credits) }),
                    ...(keys === "either" ? { byokAmount: MicroCredits.make(own) } : {})
                  })
                  .pipe(
                    Effect.as(true),
                    Effect.catchTag("InsufficientCredits", () => Effect.succeed(false))
                  )
                expect(let_in).toBe(expected)
                if (let_in) requests.push({ id, at: now, credits, own, state: "open", cost: 0, byok: false })
                break
              }
              case "settle":
              case "release": {
                const request = requests[step.which % Math.max(1, requests.length)]
                if (request === undefined) break
                const wasOpen = request.state === "open"
                const byok = request.credits === 0 || (request.own > 0 && step.servedByOwn)
                // The reserved amount is the worst case, so the cost is at most that.
                const most = byok ? request.own : request.credits
                const cost = step.do === "settle" ? Math.floor((most * step.share) / 100) : 0
                const answer =
                  step.do === "settle"
                    ? yield* accounting.settle(request, {
                        cost: MicroCredits.make(cost),
                        provider: "p",
                        upstreamModel: "u",
                        isByok: byok
                      })
                    : yield* accounting.release(request)
                expect(answer).toBe(wasOpen ? "done" : "already")
                if (wasOpen) Object.assign(request, { state: `${step.do}d`, cost, byok })
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
            limit_remaining: limit === null ? null : MicroCredits.toCredits(Math.max(0, limit - sum(towardsKey)))
          })
          const held = sum((request) => (request.state === "open" ? request.credits : 0))
          const balance = history.credits - sum(inCredits) + held
          expect(yield* accounting.balanceOf(workspaceId)).toMatchObject({ balance, held })
          const usage = yield* TestLedger.usageOf({ keyHash: key.hash })
          expect(usage.map((row) => row.id).toSorted()).toEqual(settled.map((request) => request.id).toSorted())
        }),
      { timeout: 60_000, arbitrary: { runs: name === "sqlite" ? 200 : 40 } }
    )
  })
})
