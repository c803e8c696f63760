/**
 * The sums of the day, which the service writes once for a commit of SQLite or a batch of Postgres.
 * The budgets that requests of a commit end in are written once, too, on SQLite.
 */
import { describe, expect, it } from "@effect/vitest"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Exit, Layer, Record, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import { entries, type Entry, type NewReservation, type Result } from "../../src/accounting/Ledger.ts"
import * as LedgerSql from "../../src/accounting/LedgerSql.ts"
import { claimLost, type End, LedgerStore } from "../../src/accounting/LedgerStore.ts"
import { dayMillis, startOfDay } from "../../src/internal/Periods.ts"
import * as Dialect from "../../src/storage/sql/Dialect.ts"
import { databases } from "../TestDatabases.ts"
import * as WatchedSqlite from "../storage/sqlite/WatchedSqlite.ts"

const micro = MicroCredits.make
const first = Date.UTC(2026, 0, 1)
const unbounded = { concurrency: "unbounded" } as const

/** The store over a database that tells of each synchronous statement before it runs. */
const database = (before?: (text: string) => void) =>
  LedgerSql.layer.pipe(Layer.provideMerge(WatchedSqlite.layer(before)), Layer.fresh)

/** Writes the workspaces `v` and `w`, with the keys `v-0`, `v-1`, `w-0` and `w-1`. */
const payers = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO organizations (id, name, created_at) VALUES ('o', 'o', 0)`
  for (const id of ["v", "w"]) {
    yield* sql`INSERT INTO workspaces (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at, slug)
      VALUES (${id}, 'o', ${id}, 0, 'native', 1000000, 0, 0, 0, ${id})`
    for (const key of ["0", "1"]) {
      yield* sql`INSERT INTO budgets (id, kind, include_byok) VALUES (${`${id}-${key}`}, 'key', 0)`
    }
  }
})

const reservation = (id: string, more?: Partial<NewReservation>): NewReservation => ({
  id,
  keyHash: "w-0",
  workspaceId: "w",
  operation: "rerank",
  model: "m",
  reservedAt: first,
  dayStart: first,
  amount: micro(100),
  byokExtra: micro(0),
  isByok: false,
  state: "open",
  owner: "proc",
  ...more
})

const completed = (cost: number, more?: Partial<Result>): Result => ({
  status: "completed",
  cost: micro(cost),
  provider: "p",
  upstreamModel: "u",
  ...more
})

/** An answer for an idempotency key that no one has claimed, so that it cannot be stored. */
const lost = {
  answer: {
    scope: "s",
    key: "k",
    owner: "proc",
    keyHash: "w-0",
    status: 200,
    headers: "{}",
    body: "",
    packed: null,
    bytes: 0
  }
}

const reserveAll = (reservations: ReadonlyArray<NewReservation>) =>
  Effect.flatMap(LedgerStore, ({ reserve }) => Effect.forEach(reservations, (each) => reserve(each, false), unbounded))

/** Ends what was reserved. */
const end = (
  reserved: NewReservation,
  result: Result | undefined,
  more?: Partial<Pick<End, "answer" | "workspaceId">>
) =>
  Effect.flatMap(LedgerStore, (store) =>
    store.end({ id: reserved.id, reservation: reserved, result, now: reserved.reservedAt + 1, isAlone: false, ...more })
  )

/** A row whose integers are numbers. Postgres returns bigints. */
const withNumbers = (row: Row) => Record.map(row, (value) => (typeof value === "bigint" ? Number(value) : value))

const days = Effect.flatMap(SqlClient, (sql) =>
  Effect.map(sql`SELECT * FROM usage_days ORDER BY workspace_id, key_hash, day_start, model, provider`, (rows) =>
    rows.map(withNumbers)
  )
)

/** `usage_days`, from the entries one by one. The models must have rows of their own. */
const expectedOf = (all: ReadonlyArray<Entry>) => {
  const rows = all.flatMap((entry) => ["", entry.keyHash].map((keyHash) => ({ keyHash, entry })))
  const groups = Map.groupBy(rows, ({ entry: { model, provider, reservedAt, workspaceId }, keyHash }) =>
    JSON.stringify([workspaceId, keyHash, startOfDay(reservedAt), model, provider ?? ""])
  )
  const sum = (of: ReadonlyArray<Entry>, value: (entry: Entry) => number) =>
    of.reduce((total, entry) => total + value(entry), 0)
  const tokens = (count = 0) => (count > 1e9 ? 0 : Math.floor(count))
  return Array.from(groups.values(), (rows) => {
    const group = rows.map(({ entry }) => entry)
    return {
      workspace_id: group[0]?.workspaceId,
      key_hash: rows[0]?.keyHash,
      day_start: startOfDay(group[0]?.reservedAt ?? 0),
      model: group[0]?.model,
      provider: group[0]?.provider ?? "",
      requests: group.length,
      failed: group.filter(({ status }) => status !== "completed").length,
      cost_micro: sum(group, ({ cost, isByok }) => (isByok ? 0 : cost)),
      byok_micro: sum(group, ({ cost, isByok }) => (isByok ? cost : 0)),
      prompt_tokens: sum(group, ({ usage }) => tokens(usage?.["input_tokens"] ?? usage?.["total_tokens"])),
      completion_tokens: sum(group, ({ usage }) => tokens(usage?.["output_tokens"]))
    }
  })
}

/** Fails unless the sums are exactly those of the ledger. Returns the number of entries. */
const checkSums = Effect.gen(function* () {
  const sql = yield* SqlClient
  const all = (yield* sql`SELECT * FROM usage_ledger`).map(entries.read)
  const found = yield* days
  expect(found).toEqual(expect.arrayContaining(expectedOf(all)))
  expect(found.length).toBe(expectedOf(all).length)
  return all.length
})

const budgetsOf = (text: string): boolean => /^UPDATE (budgets|workspaces)/.test(text)

const sumsOf = (text: string) => text.includes("INTO usage_days") || text.startsWith("UPDATE usage_days")

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Request = Schema.Struct({
  workspace: Schema.Literals(["v", "w"]),
  key: between(0, 1),
  model: Schema.Literals(["m", "n", "m "]),
  provider: Schema.Literals(["", "p", " p"]),
  hours: between(0, 40),
  /** More than the credits of the workspace is refused. */
  amount: Schema.Literals([100, 100, 100, 2_000_000]),
  isByok: Schema.Boolean,
  cost: between(0, 100),
  /** In addition to the total. */
  inputTokens: Schema.NullOr(Schema.Literals([3])),
  tokens: Schema.NullOr(Schema.Literals([0, 7, 2.9, 1_000_000_000, 1_000_000_001])),
  ends: Schema.Literals(["completed", "failed", "none", "twice", "late", "lost", "callers", "undone", "plain"])
})

describe.each(databases)("the sums of the day on $name", ({ layer, name }) => {
  it.effect.prop(
    "are those of the ledger after random requests at once",
    [
      Schema.Array(Schema.Array(Request).check(Schema.isMinLength(1), Schema.isMaxLength(30))).check(
        Schema.isMaxLength(4)
      )
    ],
    ([rounds]) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const store = yield* LedgerStore
        yield* payers
        const run = Effect.fnUntraced(function* (id: string, request: typeof Request.Type) {
          const { amount, cost, ends, hours, inputTokens, isByok, key, model, provider, tokens, workspace } = request
          const reserved = reservation(id, {
            workspaceId: workspace,
            keyHash: `${workspace}-${key}`,
            model,
            isByok,
            amount: micro(amount),
            reservedAt: first + hours * 3_600_000
          })
          const usage = {
            ...(tokens === null ? {} : { total_tokens: tokens, output_tokens: tokens, seconds: 1.5 }),
            ...(inputTokens === null ? {} : { input_tokens: inputTokens })
          }
          const result = completed(cost, { provider: provider === "" ? null : provider, usage })
          if (ends === "plain") {
            return yield* sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, usage, reserved_at, settled_at)
              VALUES (${id}, ${reserved.keyHash}, ${workspace}, 'rerank', ${model}, ${provider}, 'u', ${isByok ? 1 : 0}, 0, 0, ${cost}, ${JSON.stringify(usage)}, ${reserved.reservedAt}, 0)`
          }
          yield* store.reserve(reserved, false)
          switch (ends) {
            case "completed":
              return yield* end(reserved, result)
            case "failed":
              return yield* end(reserved, { ...result, status: "failed", cost: micro(0) })
            case "none":
              return yield* end(reserved, undefined)
            case "twice":
              return yield* Effect.all([end(reserved, result), end(reserved, result)], unbounded)
            case "late":
              yield* store.abandon([{ id, owner: "proc" }], first)
              return yield* end(reserved, result)
            case "lost":
              return yield* end(reserved, result, lost)
            case "callers":
              return yield* sql.withTransaction(
                Effect.andThen(end(reserved, result), Effect.exit(end(reserved, result, lost)))
              )
            case "undone":
              return yield* sql.withTransaction(Effect.andThen(end(reserved, result), Effect.fail("undone")))
          }
        })
        for (const [round, requests] of rounds.entries()) {
          const exits = yield* Effect.forEach(
            requests.entries(),
            ([n, request]) => Effect.exit(run(`${round}-${n}`, request)),
            unbounded
          )
          expect(exits.filter(Exit.hasDies)).toEqual([])
          yield* checkSums
        }
      }).pipe(Effect.provide(name === "sqlite" ? database() : layer)),
    { arbitrary: { seed: "day sums", size: 100, runs: name === "sqlite" ? 100 : 30 } }
  )

  it.effect("have rows for a number of models, and one for all others", () =>
    Effect.gen(function* () {
      const store = yield* LedgerStore
      yield* payers
      /** Requests for models that are named by number. */
      const use = Effect.fnUntraced(function* (key: string, cost: number, from: number, to: number) {
        const reserved = Array.from({ length: to - from + 1 }, (_, n) =>
          reservation(`${key}-${from + n}`, { keyHash: key, model: `model-${from + n}` })
        )
        yield* Effect.forEach(reserved, (each) => store.reserve(each, false), unbounded)
        // Of a known workspace, they are written in order.
        yield* Effect.forEach(reserved, (each) => end(each, completed(cost), { workspaceId: "w" }), unbounded)
      })
      const seen = Effect.fnUntraced(function* (key: string) {
        const rows = (yield* days).filter((row) => row["key_hash"] === key)
        const sum = (of: typeof rows, column: string) => of.reduce((total, row) => total + Dialect.int(row, column), 0)
        const others = rows.filter(({ model }) => model === "other")
        return [rows.length, sum(rows, "requests"), sum(rows, "cost_micro"), sum(others, "requests")]
      })
      yield* use("w-0", 0, 1, 600)
      expect(yield* seen("")).toEqual([501, 600, 0, 100])
      // Models with a row keep it, also for other keys.
      yield* use("w-1", 0, 400, 700)
      expect(yield* seen("")).toEqual([501, 901, 0, 300])
      // There are rows left for those that cost something.
      yield* use("w-1", 3, 701, 1250)
      expect(yield* seen("")).toEqual([1000, 1451, 1650, 351])
      expect(yield* seen("w-0")).toEqual([501, 600, 0, 100])
      expect((yield* seen("w-1")).slice(1)).toEqual([851, 1650, 251])
    }).pipe(Effect.provide(name === "sqlite" ? database() : layer))
  )
})

describe("the sums of the day on SQLite", () => {
  it.effect("are written once for all requests of a commit that have the same rows", () => {
    const ran: Array<string> = []
    return Effect.gen(function* () {
      yield* payers
      const use = Effect.fnUntraced(function* (name: string) {
        const reserved = Array.from({ length: 60 }, (_, n) =>
          reservation(`${name}-${n}`, { keyHash: `w-${n % 2}`, model: n % 3 === 0 ? "m" : "n" })
        )
        yield* reserveAll(reserved)
        ran.length = 0
        yield* Effect.forEach(reserved, (each, n) => end(each, completed(n)), unbounded)
        const count = (is: (text: string) => boolean) => ran.filter(is).length
        return [count((text) => text === "COMMIT"), count(sumsOf), count(budgetsOf)]
      })
      // An update of each row that there is not, and an insert. The budgets of two keys, and the
      // credits of a workspace.
      expect(yield* use("first")).toEqual([1, 12, 3])
      // Two models, each for the workspace and two keys.
      expect(yield* use("second")).toEqual([1, 6, 3])
      expect(yield* checkSums).toBe(120)
    }).pipe(Effect.provide(database((text) => ran.push(text))))
  })

  it.effect("have each request of a group once whose first run was rolled back because one failed", () => {
    let rollbacks = 0
    return Effect.gen(function* () {
      yield* payers
      const reserved = Array.from({ length: 20 }, (_, n) => reservation(`id-${n}`, { keyHash: `w-${n % 2}` }))
      yield* reserveAll(reserved)
      const exits = yield* Effect.forEach(
        reserved,
        (each, n) => Effect.exit(end(each, completed(1), n % 7 === 3 ? lost : undefined)),
        unbounded
      )
      expect(exits.flatMap((exit, n) => (Exit.isFailure(exit) ? [n] : []))).toEqual([3, 10, 17])
      expect(exits[3]).toEqual(Exit.fail(claimLost))
      // Once the whole group, and each of the three by itself.
      expect(rollbacks).toBe(4)
      expect(yield* checkSums).toBe(17)
      expect((yield* days).map((row) => [row["key_hash"], row["requests"]])).toEqual([
        ["", 17],
        ["w-0", 9],
        ["w-1", 8]
      ])
      const sql = yield* SqlClient
      // What the three have reserved is reserved still.
      expect(yield* sql`SELECT usage, usage_day, reserved FROM budgets WHERE id LIKE 'w-%' ORDER BY id`).toEqual([
        { usage: 9, usage_day: 9, reserved: 100 },
        { usage: 8, usage_day: 8, reserved: 200 }
      ])
      expect(yield* sql`SELECT balance_micro, reserved_micro FROM workspaces WHERE id = 'w'`).toEqual([
        { balance_micro: 1_000_000 - 17, reserved_micro: 300 }
      ])
    }).pipe(
      Effect.provide(
        database((text) => {
          if (text.startsWith("ROLLBACK")) rollbacks++
        })
      )
    )
  })

  it.effect("and the requests are not written if the sums cannot be, and are written once by the next attempt", () => {
    let isBroken = true
    return Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* payers
      const reserved = Array.from({ length: 5 }, (_, n) => reservation(`id-${n}`))
      yield* reserveAll(reserved)
      const all = Effect.forEach(reserved, (each) => Effect.exit(end(each, completed(1))), unbounded)
      expect((yield* all).map(Exit.isFailure)).toEqual([true, true, true, true, true])
      expect(yield* sql`SELECT id FROM usage_ledger`).toEqual([])
      expect(yield* days).toEqual([])
      const callers = sql.withTransaction(Effect.forEach(reserved, (each) => end(each, completed(1))))
      expect(Exit.isFailure(yield* Effect.exit(callers))).toBe(true)
      isBroken = false
      expect((yield* all).map(Exit.isSuccess)).toEqual([true, true, true, true, true])
      expect(yield* checkSums).toBe(5)
    }).pipe(
      Effect.provide(
        database((text) => {
          if (sumsOf(text) && isBroken) throw Object.assign(new Error("refused"), { errcode: 1 })
        })
      )
    )
  })

  it.effect("have rows for the same models as if the trigger had added the entries one after the other", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* LedgerStore
      yield* payers
      let count = 0
      const use = Effect.fnUntraced(function* (requests: ReadonlyArray<readonly [model: string, cost: number]>) {
        const ended = requests.map(([model, cost]) => {
          const n = count++
          const id = `id-${String(n).padStart(5, "0")}`
          return { cost, reserved: reservation(id, { model, reservedAt: first + dayMillis + n, amount: micro(0) }) }
        })
        yield* Effect.forEach(ended, ({ reserved }) => store.reserve(reserved, false), unbounded)
        yield* Effect.forEach(ended, ({ cost, reserved }) => end(reserved, completed(cost)), unbounded)
      })
      const models = (from: number, to: number, cost: number) =>
        Array.from({ length: to - from }, (_, n) => [`model-${from + n}`, cost] as const)
      yield* use([
        ["x".repeat(256), 0],
        ["x".repeat(257), 0],
        ["x".repeat(257), 3]
      ])
      yield* use(models(0, 600, 0))
      yield* use(models(550, 1200, 3))
      yield* use(models(0, 1200, 0))
      // The trigger adds the same entries, which plain SQL writes for the other workspace.
      yield* sql`INSERT INTO usage_ledger (id, key_hash, workspace_id, operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at)
        SELECT 'copy-' || id, 'v-0', 'v', operation, model, provider, upstream_model, is_byok, is_late, reserved_micro, cost_micro, reserved_at, settled_at
        FROM usage_ledger ORDER BY id`
      const rowsOf = (workspace: string, key: string) =>
        sql`SELECT day_start, model, provider, requests, failed, cost_micro FROM usage_days
          WHERE workspace_id = ${workspace} AND key_hash = ${key} ORDER BY model`
      const found = yield* rowsOf("w", "")
      expect(found.length).toBe(1000)
      expect(found.reduce((total, row) => total + Dialect.int(row, "requests"), 0)).toBe(count)
      expect(found).toEqual(yield* rowsOf("v", ""))
      expect(yield* rowsOf("w", "w-0")).toEqual(found)
      // One that costs something gives its model a row, although one that does not comes first.
      yield* sql`DELETE FROM usage_days WHERE model LIKE 'model-11%'`
      yield* use([
        ["mixed", 0],
        ["mixed", 3],
        ["mixed", 0]
      ])
      expect(yield* sql`SELECT requests, cost_micro FROM usage_days WHERE model = 'mixed'`).toEqual([
        { requests: 3, cost_micro: 3 },
        { requests: 3, cost_micro: 3 }
      ])
    }).pipe(Effect.provide(database()))
  )
})
