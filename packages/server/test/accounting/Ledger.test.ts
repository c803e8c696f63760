/** Random sequences of commands, compared with a model after each of them. */
import { describe, expect, it } from "@effect/vitest"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { GuardrailStore } from "../../src/access/GuardrailStore.ts"
import type { Key } from "../../src/access/Key.ts"
import { KeyResponses } from "../../src/access/KeyResponses.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as Budgets from "../../src/accounting/Budgets.ts"
import { entries, reservations } from "../../src/accounting/Ledger.ts"
import { LedgerStore } from "../../src/accounting/LedgerStore.ts"
import * as Dialect from "../../src/storage/sql/Dialect.ts"
import { ProcessInstance } from "../../src/storage/sql/ProcessInstance.ts"
import { databases } from "../TestDatabases.ts"
import * as LedgerModel from "./LedgerModel.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** Which of the latest requests: 0 is the last one. */
const which = between(0, 3)

const rarely = Schema.Literals([false, false, false, false, true])

const Reserve = Schema.Struct({
  do: Schema.Literal("reserve"),
  /** Reserve the id of an earlier request again. */
  isRepeat: rarely,
  which,
  key: between(0, 2),
  guardrail: Schema.NullOr(between(0, 1)),
  isJob: rarely,
  /** Which keys may serve the request: the gateway's, the caller's, or either. */
  keys: Schema.Literals(["gateway", "byok", "either"]),
  amount: between(0, 150),
  /** What the caller's provider key may cost if either may serve the request. */
  byokAmount: between(0, 150)
})

/** What was reserved may not suffice, so a settlement may charge more. */
const Settle = Schema.Struct({
  do: Schema.Literal("settle"),
  which,
  percent: between(0, 130),
  byProviderKey: Schema.Boolean
})

const Limit = Schema.Struct({
  /** Negative: no limit. */
  limit: between(-100, 500),
  limitReset: Schema.NullOr(Schema.Literals(["daily", "weekly", "monthly"])),
  includeByok: Schema.Boolean
})

/** Reservations and settlements are frequent, so that the limits are reached. */
const Command = Schema.Union([
  Reserve,
  Reserve,
  Reserve,
  Reserve,
  Settle,
  Settle,
  Schema.Struct({
    do: Schema.Literal("release"),
    which,
    status: Schema.NullOr(Schema.Literals(["failed", "cancelled"]))
  }),
  Schema.Struct({ do: Schema.Literal("abandon"), which }),
  Schema.Struct({ do: Schema.Literal("wait"), hours: Schema.Literals([1, 5, 24, 50, 200, -1, -30]) }),
  Schema.Struct({ do: Schema.Literal("add"), workspace: between(0, 1), credits: between(-200, 600) }),
  Schema.Struct({ do: Schema.Literal("limit"), budget: between(0, 4), ...Limit.fields })
])

const History = Schema.Struct({
  credits: between(0, 2000),
  limits: Schema.Tuple(Array.from({ length: 5 }, () => Limit)),
  commands: Schema.Array(Command).check(Schema.isMinLength(1), Schema.isMaxLength(50))
})

/** A Friday, so that a week and a month end soon. */
const start = Date.UTC(2026, 1, 27, 20)

describe.each(databases)("the ledger on $name", ({ layer, name }) => {
  let runs = 0
  it.layer(layer)((it) => {
    it.effect.prop(
      "agrees with a model that sums all requests, after each command of a random sequence",
      [History],
      ([history]) =>
        Effect.gen(function* () {
          const accounting = yield* Accounting
          const store = yield* LedgerStore
          const workspaces = yield* WorkspaceStore
          const keys = yield* KeyStore
          const guardrails = yield* GuardrailStore
          const process = yield* ProcessInstance
          const sql = yield* SqlClient
          const { organizationId } = yield* workspaces.ensureDefault()
          const run = runs++
          let now = start
          yield* TestClock.setTime(now)
          const model = LedgerModel.make()

          const workspaceIds: Array<string> = []
          for (const slug of [`a${run}`, `b${run}`]) {
            const { id } = yield* workspaces.create(organizationId, { name: slug, slug })
            yield* accounting.addCredits(id, MicroCredits.make(history.credits))
            model.added.set(id, history.credits)
            workspaceIds.push(id)
          }
          const workspaceOf = (index: number) => workspaceIds[index] ?? expect.unreachable()
          const made: Array<Key> = []
          for (const workspaceId of [workspaceOf(0), workspaceOf(0), workspaceOf(1)]) {
            made.push((yield* keys.create({ organizationId, workspaceId, name: "k" })).key)
          }
          const keyOf = (index: number) => made[index] ?? expect.unreachable()
          const guardrailIds: Array<string> = []
          for (const guardrail of ["g", "h"]) {
            guardrailIds.push((yield* guardrails.create({ organizationId, name: guardrail })).id)
          }
          const budgetIds = [...made.map(({ hash }) => hash), ...guardrailIds]

          const setLimit = Effect.fnUntraced(function* (
            index: number,
            { includeByok, limit: wished, limitReset }: typeof Limit.Type
          ) {
            const limit = wished < 0 ? null : MicroCredits.make(wished)
            const id = budgetIds[index] ?? expect.unreachable()
            const isKey = index < made.length
            if (isKey) yield* keys.update(organizationId, id, { limit, limitReset, includeByokInLimit: includeByok })
            else yield* guardrails.update(organizationId, id, { limit, limitReset })
            const day = model.budgets.get(id)?.day ?? 0
            model.budgets.set(id, { limit, limitReset, includeByok: isKey && includeByok, day })
          })
          for (const [index, limit] of history.limits.entries()) yield* setLimit(index, limit)

          const requests: Array<LedgerModel.Request> = []
          const requestOf = (from: number) => requests[Math.max(0, requests.length - 1 - from)]

          const apply = Effect.fnUntraced(function* (command: typeof Command.Type) {
            switch (command.do) {
              case "wait":
                now += command.hours * 3_600_000
                return yield* TestClock.setTime(now)
              case "add": {
                const id = workspaceOf(command.workspace)
                model.added.set(id, (model.added.get(id) ?? 0) + command.credits)
                const balance = yield* accounting.addCredits(id, MicroCredits.make(command.credits))
                return expect(balance).toEqual(LedgerModel.balanceOf(model, id))
              }
              case "limit":
                return yield* setLimit(command.budget, command)
              case "reserve": {
                const before = command.isRepeat ? requestOf(command.which) : undefined
                const id = before?.id ?? `gen-${run}-${requests.length}`
                const key = keyOf(command.key)
                const isByok = command.keys === "byok"
                const byokAmount = command.keys === "either" ? MicroCredits.make(command.byokAmount) : undefined
                const payer = {
                  keyHash: key.hash,
                  workspaceId: key.workspaceId,
                  guardrailId: command.guardrail === null ? null : (guardrailIds[command.guardrail] ?? null)
                }
                const request = {
                  ...payer,
                  id,
                  jobId: command.isJob ? `job-${id}` : null,
                  isByok,
                  amount: MicroCredits.make(command.amount),
                  byokExtra: MicroCredits.make(Math.max(0, (byokAmount ?? 0) - command.amount))
                }
                if (before === undefined) requests.push(request)
                const expected = LedgerModel.reserve(model, request, now)
                const answer = yield* accounting
                  .reserve({
                    id,
                    payer,
                    operation: "o",
                    model: "m",
                    amount: request.amount,
                    isByok,
                    byokAmount,
                    ...(command.isJob ? { jobId: `job-${id}` } : {})
                  })
                  .pipe(
                    Effect.map(({ amount, reservedAt }) => ({ amount, reservedAt })),
                    Effect.catchTag("InsufficientCredits", ({ limit, remaining, scope }) =>
                      Effect.succeed({ scope, limit, remaining })
                    )
                  )
                return expect(answer).toEqual(expected)
              }
              case "settle": {
                const request = requestOf(command.which)
                if (request === undefined) return
                const result = {
                  status: "completed",
                  cost: MicroCredits.make(Math.floor((request.amount * command.percent) / 100)),
                  isByok: command.byProviderKey
                } as const
                const expected = LedgerModel.end(model, request.id, result, now)
                const { cost, isByok } = result
                const answer = yield* accounting.settle(request, { cost, isByok, provider: "p", upstreamModel: "u" })
                return expect(answer).toBe(expected)
              }
              case "release": {
                const request = requestOf(command.which)
                if (request === undefined) return
                const { status } = command
                const result = status === null ? undefined : { status, cost: MicroCredits.zero }
                const expected = LedgerModel.end(model, request.id, result, now)
                const failure = status === null ? undefined : { status, errorStatus: 502, provider: "p" }
                return expect(yield* accounting.release(request, failure)).toBe(expected)
              }
              case "abandon": {
                const request = requestOf(command.which)
                if (request === undefined) return
                const expected = LedgerModel.abandon(model, request.id, now)
                return expect(yield* store.abandon([{ id: request.id, owner: process.id }], now)).toBe(expected)
              }
            }
          })

          const compare = Effect.gen(function* () {
            const budgets = yield* sql`SELECT * FROM budgets WHERE ${sql.in("id", budgetIds)}`
            const read = budgets.map((row) => [Dialect.text(row, "id"), Budgets.fromRow(row, now)])
            expect(Object.fromEntries(read)).toEqual(
              Object.fromEntries(budgetIds.map((id) => [id, LedgerModel.budgetOf(model, id, now)]))
            )
            for (const id of workspaceIds) {
              expect(yield* accounting.balanceOf(id)).toEqual(LedgerModel.balanceOf(model, id))
            }
            const open = yield* sql`SELECT * FROM reservations WHERE ${sql.in("workspace_id", workspaceIds)}`
            expect(byId(open.map(reservations.read))).toMatchObject(byId(model.reservations.values()))
            const ended = yield* sql`SELECT * FROM usage_ledger WHERE ${sql.in("workspace_id", workspaceIds)}`
            expect(byId(ended.map(entries.read))).toMatchObject(
              byId(Array.from(model.entries.values(), ({ entry }) => entry))
            )
          })

          for (const command of history.commands) {
            yield* apply(command)
            yield* compare
          }

          const records = yield* KeyResponses
          for (const key of made) {
            const budget = LedgerModel.budgetOf(model, key.hash, now)
            const left = LedgerModel.remaining(budget)
            const { daily, monthly, total, weekly } = budget.usage
            expect(yield* records.of(yield* keys.get(organizationId, key.hash))).toMatchObject({
              usage: MicroCredits.toCredits(total),
              usage_daily: MicroCredits.toCredits(daily),
              usage_weekly: MicroCredits.toCredits(weekly),
              usage_monthly: MicroCredits.toCredits(monthly),
              byok_usage: MicroCredits.toCredits(budget.byok.total),
              byok_usage_daily: MicroCredits.toCredits(budget.byok.daily),
              byok_usage_weekly: MicroCredits.toCredits(budget.byok.weekly),
              byok_usage_monthly: MicroCredits.toCredits(budget.byok.monthly),
              limit_remaining: left === null ? null : MicroCredits.toCredits(left)
            })
          }
        }),
      { arbitrary: { seed: "ledger", size: 100, runs: name === "sqlite" ? 200 : 40 } }
    )
  })
})

const byId = <A extends { readonly id: string }>(rows: Iterable<A>) =>
  Array.from(rows).toSorted((a, b) => (a.id < b.id ? -1 : 1))
