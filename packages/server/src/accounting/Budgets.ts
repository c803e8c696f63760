/**
 * The budget of a key or a guardrail: its limit, and the amounts used and reserved in total, today,
 * this week and this month.
 *
 * One row holds all of it, so that a paid request touches it once. The first write of a new period
 * resets that period's sums; reads do the same in memory. Periods only move forward: a process
 * whose clock is behind another's at midnight fails with {@link ClockBehind} and counts in the
 * later day.
 */
import { LimitReset } from "@model-gateway/core/CurrentKey"
import { Data, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as Periods from "./Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"

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
  readonly held: Sums
  /** Reserved by requests in progress that use caller-supplied keys. */
  readonly byokHeld: Sums
}

/** A change to a budget, in micro-credits. Negative amounts subtract. */
export interface Change {
  readonly usage: number
  readonly byok: number
  readonly held: number
  readonly byokHeld: number
}

/** The row is already in a later day, which starts at `day`. The caller must count in that day. */
export class ClockBehind extends Data.TaggedError("ClockBehind")<{ readonly day: number }> {}

const counters = [
  ["usage", "?5"],
  ["byok", "?6"],
  ["held", "?7"],
  ["byok_held", "?8"]
] as const
const periods = [
  ["day", "?2"],
  ["week", "?3"],
  ["month", "?4"]
] as const

const advance = [
  ...counters.map(([counter, delta]) => `${counter} = ${counter} + ${delta}`),
  ...periods.map(
    ([period, start]) => `${period}_start = CASE WHEN ${period}_start < ${start} THEN ${start} ELSE ${period}_start END`
  ),
  ...counters.flatMap(([counter, delta]) =>
    periods.map(([period, start]) => {
      const column = `${counter}_${period}`
      return `${column} = CASE WHEN ${period}_start = ${start} THEN ${column} + ${delta} WHEN ${period}_start < ${start} THEN ${delta} ELSE ${column} END`
    })
  )
].join(", ")

const counted = (suffix: string): string =>
  `usage${suffix} + held${suffix} + include_byok * (byok${suffix} + byok_held${suffix})`

const within = (period: string, start: string): string =>
  `CASE WHEN ${period}_start = ${start} THEN ${counted(`_${period}`)} ELSE 0 END`

const fits = `(limit_micro IS NULL OR CAST(?7 AS BIGINT) + include_byok * ?8 = 0 OR ?7 + include_byok * ?8 + CASE limit_reset
  WHEN 'daily' THEN ${within("day", "?2")}
  WHEN 'weekly' THEN ${within("week", "?3")}
  WHEN 'monthly' THEN ${within("month", "?4")}
  ELSE ${counted("")} END <= limit_micro)`

/** The statements on budgets. All of them must run inside a transaction. */
export interface Budgets {
  /**
   * Reserves the amounts in the periods of `starts` if the limit allows it. Returns whether it did.
   */
  readonly hold: (
    id: string,
    starts: Periods.PeriodStarts,
    held: number,
    byokHeld: number
  ) => Effect.Effect<boolean, SqlError>
  /** Applies a change to those periods of `starts` that are still current. */
  readonly apply: (id: string, starts: Periods.PeriodStarts, change: Change) => Effect.Effect<void, SqlError>
  /**
   * The budget at one point in time, or null if there is none. Fails with {@link ClockBehind} when
   * the budget is already in a later day.
   */
  readonly read: (id: string, now: number) => Effect.Effect<Budget | null, SqlError | ClockBehind>
}

/** Prepares the statements. */
export const make = (sql: SqlClient): Budgets => {
  const hold = Dialect.prepareChange(sql, `UPDATE budgets SET ${advance} WHERE id = ?1 AND day_start <= ?2 AND ${fits}`)
  const apply = Dialect.prepareChange(sql, `UPDATE budgets SET ${advance} WHERE id = ?1`)
  const select = Dialect.prepare(sql, `SELECT * FROM budgets WHERE id = ?1`)
  return {
    hold: (id, { day, month, week }, held, byokHeld) =>
      Effect.map(hold(id, day, week, month, 0, 0, held, byokHeld), (changed) => changed > 0),
    apply: (id, { day, month, week }, change) =>
      Effect.asVoid(apply(id, day, week, month, change.usage, change.byok, change.held, change.byokHeld)),
    read: (id, now) =>
      Effect.flatMap(select(id), ([row]) => {
        if (row === undefined) return Effect.succeed(null)
        const day = Dialect.int(row, "day_start")
        return day > Periods.startOfDay(now) ? Effect.fail(new ClockBehind({ day })) : Effect.succeed(fromRow(row, now))
      })
  }
}

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
    held: sums("held"),
    byokHeld: sums("byok_held")
  }
}

/** What can still be reserved in the current period, never below 0. Null if there is no limit. */
export const remaining = (budget: Budget): MicroCredits.MicroCredits | null => {
  if (budget.limit === null) return null
  const period = budget.limitReset ?? "total"
  const byok = budget.includeByok ? budget.byok[period] + budget.byokHeld[period] : 0
  return MicroCredits.make(Math.max(0, budget.limit - budget.usage[period] - budget.held[period] - byok))
}
