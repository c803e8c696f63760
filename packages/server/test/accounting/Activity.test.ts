import { describe, expect, it } from "@effect/vitest"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { WorkspaceStore } from "../../src/access/WorkspaceStore.ts"
import { Accounting } from "../../src/accounting/Accounting.ts"
import * as Activity from "../../src/accounting/Activity.ts"
import * as ActivitySeries from "../../src/accounting/ActivitySeries.ts"
import { entries, type Entry } from "../../src/accounting/Ledger.ts"
import { dayMillis, startOfDay } from "../../src/internal/Periods.ts"
import type { Page } from "../../src/storage/sql/Page.ts"
import { databases } from "../TestDatabases.ts"

const first = Date.UTC(2026, 0, 1)

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** A request, and how it ends. */
const Step = Schema.Struct({
  payer: between(0, 2),
  model: Schema.Literals(["m", "n"]),
  ends: Schema.Literals(["completed", "completed", "failed", "rejected", "released", "late", "twice"]),
  hours: between(0, 20),
  takesHours: between(0, 30),
  cost: between(0, 100),
  isByok: Schema.Boolean,
  tokens: Schema.NullOr(Schema.Literals([7, 1e300]))
})

const History = Schema.Array(Step).check(Schema.isMinLength(5), Schema.isMaxLength(25))

/** The sums of entries of the ledger, as the service must give them. */
const sumsOf = (rows: ReadonlyArray<Entry>, byWorkspace: boolean): ReadonlyArray<Activity.DaySums> => {
  const groups = Map.groupBy(rows, (row) =>
    JSON.stringify([startOfDay(row.reservedAt), row.model, row.provider ?? "", byWorkspace ? row.workspaceId : ""])
  )
  const sum = (of: ReadonlyArray<Entry>, value: (row: Entry) => number) =>
    of.reduce((total, row) => total + value(row), 0)
  const cost = (of: ReadonlyArray<Entry>) => MicroCredits.make(sum(of, (row) => row.cost))
  const tokens = (count = 0) => (count > 1e9 ? 0 : count)
  return Array.from(groups.values(), (group) => ({
    dayStart: startOfDay(group[0]?.reservedAt ?? 0),
    model: group[0]?.model ?? "",
    provider: group[0]?.provider ?? "",
    workspaceId: byWorkspace ? group[0]?.workspaceId : undefined,
    requests: group.length,
    failed: group.filter(({ status }) => status !== "completed").length,
    cost: cost(group.filter(({ isByok }) => !isByok)),
    byokCost: cost(group.filter(({ isByok }) => isByok)),
    promptTokens: sum(group, ({ usage }) => tokens(usage?.["input_tokens"] ?? usage?.["total_tokens"])),
    completionTokens: sum(group, ({ usage }) => tokens(usage?.["output_tokens"]))
  })).toSorted(
    (a, b) =>
      b.dayStart - a.dayStart ||
      compare(a.model, b.model) ||
      compare(a.provider, b.provider) ||
      compare(a.workspaceId ?? "", b.workspaceId ?? "")
  )
}

/** The same of groups and intervals. */
const seriesOf = (
  rows: ReadonlyArray<Entry>,
  length: number,
  of: (row: Entry) => string
): ReadonlyArray<ActivitySeries.Sums> =>
  Array.from(
    Map.groupBy(rows, (row) => `${row.reservedAt - (row.reservedAt % length)} ${of(row)}`).entries(),
    ([name, group]) => {
      const [start = "", of = ""] = name.split(" ")
      const used = sumsOf(group, false)
      const total = (count: "cost" | "byokCost" | "promptTokens" | "completionTokens") =>
        used.reduce((sum, each) => sum + each[count], 0)
      const failed = group.filter(({ status }) => status !== "completed")
      const durations = group
        .filter(({ status }) => status === "completed")
        .map(({ reservedAt, settledAt }) => settledAt - reservedAt)
        .toSorted((a, b) => a - b)
      const share = (part: number) => durations.find((_, n) => (n + 1) / durations.length >= part)
      return {
        start: Number(start),
        group: of,
        requests: group.length,
        failed: failed.length,
        cost: MicroCredits.make(total("cost")),
        byokCost: MicroCredits.make(total("byokCost")),
        promptTokens: total("promptTokens"),
        completionTokens: total("completionTokens"),
        details: {
          failures: Object.fromEntries(
            Array.from(
              Map.groupBy(failed, ({ errorStatus, status }) => String(errorStatus ?? status)),
              ([status, { length }]) => [status, length]
            )
          ),
          p50: share(0.5),
          p95: share(0.95)
        }
      }
    }
  ).toSorted((a, b) => b.start - a.start || compare(a.group, b.group))

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

describe.each(databases)("the activity on $name", ({ layer: stores, name }) => {
  const layer = Layer.merge(Activity.layerSql, ActivitySeries.layerSql).pipe(Layer.provideMerge(stores))

  it.layer(layer)((it) => {
    it.effect.prop(
      "has the sums of the ledger by day, model and provider, of an organization, a workspace and a key",
      [History],
      ([history]) =>
        Effect.gen(function* () {
          const accounting = yield* Accounting
          const workspaces = yield* WorkspaceStore
          const keys = yield* KeyStore
          const sql = yield* SqlClient
          const { organizationId } = yield* workspaces.ensureDefault()
          const payers = []
          for (const [slug, names] of [
            ["first", ["a", "b"]],
            ["second", ["c"]]
          ] as const) {
            // All runs share the workspaces.
            const { id: workspaceId } = yield* workspaces
              .create(organizationId, { name: slug, slug })
              .pipe(Effect.catchTag("SlugTaken", () => workspaces.get(organizationId, slug)))
            yield* accounting.addCredits(workspaceId, MicroCredits.make(1_000_000))
            for (const of of names) {
              const { key } = yield* keys.create({ organizationId, workspaceId, name: of })
              payers.push({ keyHash: key.hash, workspaceId, guardrailId: null })
            }
          }
          let now = first
          for (const [n, { cost, ends, hours, isByok, model, payer: who, takesHours, tokens }] of history.entries()) {
            now += hours * 3_600_000
            yield* TestClock.setTime(now)
            const payer = payers[who]
            if (payer === undefined) return expect.unreachable()
            const id = `gen-${payers[0]?.keyHash}-${n}`
            yield* accounting.reserve({ id, payer, operation: "rerank", model, amount: MicroCredits.make(100), isByok })
            yield* TestClock.setTime(now + takesHours * 3_600_000)
            const outcome = {
              cost: MicroCredits.make(cost),
              provider: cost > 50 ? "p" : "q",
              upstreamModel: "u",
              usage: { seconds: 1.5, ...(tokens === null ? {} : { total_tokens: tokens, output_tokens: tokens }) }
            }
            switch (ends) {
              case "completed":
                yield* accounting.settle({ id }, outcome)
                break
              case "failed":
                yield* accounting.release({ id }, { status: "failed", errorStatus: 502, provider: "p" })
                break
              case "rejected":
                yield* accounting.release({ id }, { status: "cancelled" })
                break
              case "released":
                yield* accounting.release({ id })
                break
              case "late":
                yield* sql`UPDATE reservations SET owner = 'proc_dead' WHERE id = ${id}`
                yield* accounting.reap
                yield* accounting.settle({ id }, outcome)
                break
              case "twice":
                yield* accounting.settle({ id }, outcome)
                yield* accounting.settle({ id }, outcome)
                yield* accounting.release({ id }, { status: "failed" })
                break
            }
          }
          const activity = yield* Activity.Activity
          /** All pages of this many items. */
          const pages = Effect.fnUntraced(function* (organizationId: string, filter: Activity.Filter, most?: number) {
            const items: Array<Activity.DaySums> = []
            for (;;) {
              const limit: number = most ?? 3
              const last: Activity.DaySums | undefined = items.at(-1)
              const after = last === undefined ? undefined : { ...last, workspaceId: last.workspaceId ?? "" }
              const page: Page<Activity.DaySums> = yield* activity.list(organizationId, filter, { after, limit })
              expect(page.items).toHaveLength(page.hasMore ? limit : page.items.length)
              items.push(...page.items)
              if (!page.hasMore) return items
            }
          })
          const all = (yield* sql`SELECT * FROM usage_ledger`).map(entries.read)
          const days = { from: 0, to: Number.MAX_SAFE_INTEGER }
          expect(yield* pages(organizationId, days)).toEqual(sumsOf(all, false))
          expect(yield* pages(organizationId, days, 1000)).toEqual(sumsOf(all, false))
          expect(yield* pages(organizationId, { ...days, byWorkspace: true })).toEqual(sumsOf(all, true))
          for (const { keyHash, workspaceId } of payers) {
            const ofKey = all.filter((row) => row.keyHash === keyHash)
            expect(yield* pages(organizationId, { ...days, keyHash })).toEqual(sumsOf(ofKey, false))
            const ofWorkspace = all.filter((row) => row.workspaceId === workspaceId)
            expect(yield* pages(organizationId, { ...days, workspaceIds: [workspaceId] })).toEqual(
              sumsOf(ofWorkspace, false)
            )
          }
          const day = { from: first + dayMillis, to: first + dayMillis }
          const ofDay = all.filter(({ reservedAt }) => startOfDay(reservedAt) === day.from)
          expect(yield* pages(organizationId, day)).toEqual(sumsOf(ofDay, false))
          expect(yield* pages("another organization", days)).toEqual([])

          const series = yield* ActivitySeries.ActivitySeries
          const range = { from: first, to: first + 400 * dayMillis, interval: "day" } as const
          const whole = { ...range, group: undefined, details: true }
          for (const [group, of] of [
            [undefined, () => ""],
            ["key", (row: Entry) => row.keyHash],
            ["workspace", (row: Entry) => row.workspaceId],
            ["model", (row: Entry) => row.model],
            ["provider", (row: Entry) => row.provider ?? ""]
          ] as const) {
            const scopes: ReadonlyArray<Pick<ActivitySeries.Filter, "keyHash" | "workspaceIds">> = [
              {},
              { keyHash: payers[0]?.keyHash },
              { workspaceIds: [payers[2]?.workspaceId ?? ""] },
              { workspaceIds: [] }
            ]
            for (const scope of scopes) {
              const filter = { ...range, ...scope, group }
              const read = yield* series.list(organizationId, { ...filter, details: true })
              const wanted = all.filter(
                ({ keyHash, workspaceId }) =>
                  (scope.keyHash ?? keyHash) === keyHash && scope.workspaceIds?.includes(workspaceId) !== false
              )
              expect(read).toEqual(seriesOf(wanted, dayMillis, of))
              const summed = read.map((sums) => ({ ...sums, details: undefined }))
              expect(yield* series.list(organizationId, { ...filter, details: false })).toEqual(summed)
            }
          }
          expect(yield* series.list(organizationId, { ...whole, interval: "hour" })).toEqual(
            seriesOf(all, 3_600_000, () => "")
          )
          expect(yield* series.list("another organization", whole)).toEqual([])
          expect(yield* series.list("another organization", { ...whole, group: "key", details: false })).toEqual([])
        }),
      { arbitrary: { runs: name === "sqlite" ? 40 : 10 } }
    )
  })

  it.layer(layer)((it) => {
    it.effect("has the sums of requests that end together, whatever their keys, models, costs and days", () =>
      Effect.gen(function* () {
        const accounting = yield* Accounting
        const keys = yield* KeyStore
        const sql = yield* SqlClient
        const { list } = yield* Activity.Activity
        const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
        yield* accounting.addCredits(workspaceId, MicroCredits.make(1_000_000))
        const created = yield* Effect.forEach(["a", "b"], (name) => keys.create({ organizationId, workspaceId, name }))
        const requests = Array.from({ length: 96 }, (_, n) => ({
          id: `gen-${n}`,
          keyHash: created[n % 2]?.key.hash ?? "",
          model: n % 8 === 0 ? "x".repeat(300) : `model-${n % 3}`,
          isByok: n % 5 === 0,
          cost: n % 7
        }))
        const all = { concurrency: "unbounded", discard: true } as const
        for (const day of [0, 1]) {
          yield* TestClock.setTime(first + day * dayMillis)
          yield* Effect.forEach(
            requests.filter((_, n) => Math.floor(n / 2) % 2 === day),
            ({ id, isByok, keyHash, model }) =>
              accounting.reserve({
                id,
                payer: { keyHash, workspaceId, guardrailId: null },
                operation: "rerank",
                model,
                amount: MicroCredits.make(10),
                isByok
              }),
            all
          )
        }
        yield* Effect.forEach(
          requests,
          ({ cost, id }, n) =>
            n % 11 === 0
              ? accounting.release({ id, workspaceId }, { status: "failed", errorStatus: 502 })
              : accounting.settle(
                  { id, workspaceId },
                  {
                    cost: MicroCredits.make(cost),
                    provider: "p",
                    upstreamModel: "u",
                    usage: { input_tokens: n, output_tokens: 1 }
                  }
                ),
          all
        )
        const rows = (yield* sql`SELECT * FROM usage_ledger`)
          .map(entries.read)
          .map((row) => (row.model.length > 256 ? { ...row, model: "other" } : row))
        expect(rows.length).toBe(96)
        const days = { from: first, to: first + dayMillis }
        const page = { limit: 1000 }
        expect((yield* list(organizationId, days, page)).items).toEqual(sumsOf(rows, false))
        for (const { key } of created) {
          const ofKey = rows.filter(({ keyHash }) => keyHash === key.hash)
          expect((yield* list(organizationId, { ...days, keyHash: key.hash }, page)).items).toEqual(
            sumsOf(ofKey, false)
          )
        }
      })
    )
  })

  it.layer(layer)((it) => {
    it.effect("has a row of its own for a number of models each day, and one for all others", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
        const { list } = yield* Activity.Activity
        /** Requests for models that are named by number, on the first day. */
        const use = (key: string, cost: number, from: number, to: number) => sql`
          WITH RECURSIVE numbers(n) AS (SELECT CAST(${from} AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to})
          INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
          SELECT ${key} || n, ${key}, ${workspaceId}, 'rerank', 'model-' || n, 'p', 'm', 0, 0, 2, ${cost}, ${first}, 0 FROM numbers`
        const days = { from: first, to: first }
        const page = { limit: 5000 }
        const seen = Effect.gen(function* () {
          const { items } = yield* list(organizationId, days, page)
          const sum = (of: (sums: Activity.DaySums) => number) => items.reduce((total, sums) => total + of(sums), 0)
          const others = items.find(({ model }) => model === "other")
          return [items.length, sum(({ requests }) => requests), sum(({ cost }) => cost), others?.requests]
        })
        yield* use("a", 0, 1, 600)
        expect(yield* seen).toEqual([501, 600, 0, 100])
        // Models with a row keep it, also for other keys.
        yield* use("b", 0, 400, 700)
        expect(yield* seen).toEqual([501, 901, 0, 300])
        const ofKey = yield* list(organizationId, { ...days, keyHash: "b" }, page)
        expect([ofKey.items.length, ofKey.items.at(-1)?.requests]).toEqual([102, 200])
        // There are rows left for those that cost something.
        yield* use("c", 3, 650, 1250)
        expect(yield* seen).toEqual([1000, 1502, 1803, 402])
      })
    )
  })

  it.layer(Layer.fresh(layer))((it) => {
    it.effect("has a row for a model that is paid for, although free ones come before it in a batch", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { id: workspaceId, organizationId } = yield* (yield* WorkspaceStore).ensureDefault()
        const { list } = yield* Activity.Activity
        /** Requests for models that are named by number. Those from `paid` on cost something. */
        const use = (from: number, to: number, paid: number) => sql`
          WITH RECURSIVE numbers(n) AS (SELECT CAST(${from} AS BIGINT) UNION ALL SELECT n + 1 FROM numbers WHERE n < ${to})
          INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
          SELECT 'id-' || n, 'key', ${workspaceId}, 'rerank', 'model-' || n, 'p', 'm', 0, 0, 2, CASE WHEN n >= ${paid} THEN 3 ELSE 0 END, ${first}, 0 FROM numbers`
        yield* use(1, 950, 1)
        yield* use(951, 1011, 1011)
        const { items } = yield* list(organizationId, { from: first, to: first }, { limit: 5000 })
        const costOf = (name: string) => items.find(({ model }) => model === name)?.cost
        expect([costOf("model-1011"), costOf("other"), items.length]).toEqual([3, 0, 952])
      })
    )
  })
})
