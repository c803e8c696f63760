/**
 * What must hold of the rows after each commit: no limit is exceeded, the sums agree with the
 * entries, and what has ended does not change.
 */
import * as Dialect from "../../../packages/server/src/storage/sql/Dialect.ts"
import type { Row } from "./Database.ts"
import type { World } from "./World.ts"

const queries = {
  budgets: "SELECT * FROM budgets",
  workspaces: "SELECT id, balance_micro, reserved_micro FROM workspaces",
  reservations: "SELECT * FROM reservations",
  usage: "SELECT * FROM usage_ledger",
  days: "SELECT key_hash, requests, cost_micro + byok_micro AS cost_micro FROM usage_days",
  credits: "SELECT workspace_id, amount_micro FROM credit_ledger",
  jobs: "SELECT id, status, step, cost_micro, outputs, error, completed_at, reservation_id FROM video_jobs"
} as const

/** The statements whose rows {@link RowInvariants.check} takes. */
export const statements: ReadonlyArray<string> = Object.values(queries)

/** Checks committed rows. */
export interface RowInvariants {
  readonly check: (rows: ReadonlyArray<ReadonlyArray<Row>>) => void
}

const sum = (rows: ReadonlyArray<Row>, column: string): number =>
  rows.reduce((total, row) => total + Dialect.int(row, column), 0)

const periods = { daily: "day", weekly: "week", monthly: "month" } as const

/** What counts against the limit of a budget. */
const countedOf = (row: Row): number => {
  const reset = Dialect.oneOfOrNull(row, "limit_reset", ["daily", "weekly", "monthly"] as const)
  const suffix = reset === null ? "" : `_${periods[reset]}`
  return Dialect.int(row, `usage${suffix}`) + Dialect.int(row, `reserved${suffix}`)
}

const finals = new Set(["completed", "failed", "cancelled", "expired"])

/** Makes the checks. They compare each commit with the one before. */
export const make = (world: World): RowInvariants => {
  const totals = new Map<string, number>()
  const limits = new Map<string, string>()
  const ended = new Map<string, string>()
  const available = new Map<string, number>()
  let lateBefore = 0

  const check: RowInvariants["check"] = ([
    budgets = [],
    workspaces = [],
    reservations = [],
    usage = [],
    days = [],
    credits = [],
    jobs = []
  ]) => {
    const open = reservations.filter((row) => Dialect.text(row, "state") === "open")
    // A request that is settled after its reservation was released is charged although it may
    // exceed a limit by then.
    const late = usage.filter((row) => Dialect.bool(row, "is_late")).length
    const isLate = late > lateBefore
    lateBefore = late

    for (const row of budgets) {
      const id = Dialect.text(row, "id")
      const column = Dialect.text(row, "kind") === "key" ? "key_hash" : "guardrail_id"
      const inReservations = sum(
        open.filter((reservation) => reservation[column] === id),
        "amount_micro"
      )
      const used = sum(
        usage.filter((entry) => entry[column] === id),
        "cost_micro"
      )
      const name = `${Dialect.text(row, "kind")} budget`
      if (Dialect.int(row, "reserved") !== inReservations) {
        world.violated(
          "reservations add up",
          `a ${name} has reserved ${Dialect.int(row, "reserved")}, its reservations ${inReservations}`
        )
      }
      if (Dialect.int(row, "usage") !== used) {
        world.violated("usage adds up", `a ${name} has used ${Dialect.int(row, "usage")}, its ledger says ${used}`)
      }
      const limit = Dialect.intOrNull(row, "limit_micro")
      const counted = countedOf(row)
      const total = inReservations + used
      // Someone may set a limit below what is used already; after that nothing more is admitted. On
      // Postgres several commits may lie between two checks.
      const rule = `${limit} ${String(row["limit_reset"])}`
      const isSame = limits.get(id) === rule
      limits.set(id, rule)
      if (limit !== null && isSame && counted > limit && total > (totals.get(id) ?? 0) && !isLate) {
        world.violated("no limit is exceeded", `a ${name} with a limit of ${limit} has ${counted} used and reserved`)
      }
      totals.set(id, total)
    }

    for (const row of workspaces) {
      const id = Dialect.text(row, "id")
      const own = (rows: ReadonlyArray<Row>) => rows.filter((one) => one["workspace_id"] === id)
      const inReservations = sum(own(open), "amount_micro")
      const balance = Dialect.int(row, "balance_micro")
      const reserved = Dialect.int(row, "reserved_micro")
      const owed = sum(own(credits), "amount_micro") - sum(own(usage), "cost_micro")
      if (reserved !== inReservations) {
        world.violated(
          "reservations add up",
          `the workspace has reserved ${reserved}, its reservations ${inReservations}`
        )
      }
      if (balance !== owed) {
        world.violated("the balance adds up", `the workspace has ${balance}, its ledgers say ${owed}`)
      }
      const left = balance - reserved
      if (left < 0 && left < (available.get(id) ?? 0) && !isLate) {
        world.violated("no limit is exceeded", `the workspace has ${balance} and has reserved ${reserved}`)
      }
      available.set(id, left)
    }

    for (const [name, own] of Map.groupBy(days, (row) => (row["key_hash"] === "" ? "the workspaces" : "the keys"))) {
      const [requests, cost] = [sum(own, "requests"), sum(own, "cost_micro")]
      if (requests !== usage.length || cost !== sum(usage, "cost_micro")) {
        world.violated("the days add up", `${name} have ${requests} requests for ${cost}, the ledger ${usage.length}`)
      }
    }

    const remember = (kind: string, id: string, state: string) => {
      const before = ended.get(id)
      if (before !== undefined && before !== state) {
        world.violated(`a final ${kind} never changes`, `${before} became ${state}`)
      }
      ended.set(id, state)
    }
    for (const row of usage) remember("ledger entry", Dialect.text(row, "id"), JSON.stringify({ ...row }, bigints))
    for (const row of jobs) {
      const id = Dialect.text(row, "id")
      const isFinal = finals.has(Dialect.text(row, "status"))
      // A canceled or expired job may say later that its provider's answer was lost.
      const { error, ...rest } = row
      const state = row["status"] === "failed" ? { ...rest, error } : rest
      if (isFinal || ended.has(id)) remember("job", id, JSON.stringify(state, bigints))
    }
  }

  return { check }
}

const bigints = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value)
