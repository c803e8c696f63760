/**
 * Reads the budget of a key or a guardrail: its limit, and the amounts used and reserved in total,
 * today, this week and this month.
 *
 * The first write of a new period resets that period's sums in the row
 * (`accounting/LedgerStatements.ts`); reads do the same in memory.
 */
import { LimitReset } from "@model-gateway/core/CurrentKey"
import type { Row } from "effect/sql/SqlConnection"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"

/** Sums over all time and over the current periods. */
export interface Sums {
  readonly total: number
  readonly daily: number
  readonly weekly: number
  readonly monthly: number
}

/** A budget at one point in time. Amounts are micro-credits. */
export interface Budget {
  readonly limit: number | null
  readonly limitReset: LimitReset | null
  readonly includeByok: boolean
  readonly usage: Sums
  readonly byok: Sums
  /** Reserved by requests in progress that are billed in credits. */
  readonly reserved: Sums
  /** Reserved by requests in progress that use provider keys. */
  readonly byokReserved: Sums
}

const noSums: Sums = { total: 0, daily: 0, weekly: 0, monthly: 0 }

/** A budget that nothing was spent from. */
export const unused = (settings: Pick<Budget, "limit" | "limitReset" | "includeByok">): Budget => ({
  limit: settings.limit,
  limitReset: settings.limitReset,
  includeByok: settings.includeByok,
  usage: noSums,
  byok: noSums,
  reserved: noSums,
  byokReserved: noSums
})

/** Reads a row of `budgets` at one point in time. Sums of ended periods read 0. */
export const fromRow = (row: Row, now: number): Budget => {
  const starts = Periods.startsOf(now)
  // A clock behind the row's day must not read the sums of a current period as ended.
  const daily = Dialect.int(row, "day_start") >= starts.day
  const weekly = Dialect.int(row, "week_start") >= starts.week
  const monthly = Dialect.int(row, "month_start") >= starts.month
  const sums = (counter: string): Sums => ({
    total: Dialect.int(row, counter),
    daily: daily ? Dialect.int(row, `${counter}_day`) : 0,
    weekly: weekly ? Dialect.int(row, `${counter}_week`) : 0,
    monthly: monthly ? Dialect.int(row, `${counter}_month`) : 0
  })
  return {
    limit: Dialect.intOrNull(row, "limit_micro"),
    limitReset: Dialect.oneOfOrNull(row, "limit_reset", LimitReset.literals),
    includeByok: Dialect.bool(row, "include_byok"),
    usage: sums("usage"),
    byok: sums("byok"),
    reserved: sums("reserved"),
    byokReserved: sums("byok_reserved")
  }
}

/**
 * The start of the UTC day in which the last request of a budget was admitted. Null: there was
 * none.
 */
export const lastDayOf = (row: Row): number | null => Dialect.int(row, "day_start") || null

/** What can still be reserved in the current period, never below 0. Null if there is no limit. */
export const remaining = (budget: Budget): MicroCredits.MicroCredits | null => {
  if (budget.limit === null) return null
  const period = budget.limitReset ?? "total"
  const byok = budget.includeByok ? budget.byok[period] + budget.byokReserved[period] : 0
  return MicroCredits.make(Math.max(0, budget.limit - budget.usage[period] - budget.reserved[period] - byok))
}

/** What a caller can do about a limit that does not allow a request. */
export const waysOut = (resets: boolean): string =>
  `Raise the limit${resets ? " or wait for its reset" : ""}, and add credits if the workspace has too few.`
