/**
 * The periods in which spending is counted, as pure functions over epoch milliseconds.
 *
 * All are UTC: the day from 00:00, the ISO week from Monday 00:00, the calendar month from its first day.
 */

/** After which period a spending limit starts anew; `null` in its place means never. */
export type LimitReset = "daily" | "weekly" | "monthly"

/** Every {@link LimitReset}. */
export const limitResets: ReadonlyArray<LimitReset> = ["daily", "weekly", "monthly"]

/** Milliseconds in a UTC day (UTC as computers keep it has no leap seconds). */
export const dayMillis = 86_400_000

/** Where the day, the ISO week and the month of an instant begin. */
export interface PeriodStarts {
  readonly day: number
  readonly week: number
  readonly month: number
}

/** Start of the UTC day that holds `millis`. */
export const startOfDay = (millis: number): number => Math.floor(millis / dayMillis) * dayMillis

/** Start of the ISO week (Monday) that holds `millis`. */
export const startOfWeek = (millis: number): number => {
  const day = Math.floor(millis / dayMillis)
  // Day 0 of the epoch was a Thursday, three days after a Monday.
  const sinceMonday = (((day + 3) % 7) + 7) % 7
  return (day - sinceMonday) * dayMillis
}

/** Start of the calendar month that holds `millis`. */
export const startOfMonth = (millis: number): number => {
  const date = new Date(millis)
  // setUTCFullYear, unlike Date.UTC, takes the years 0 to 99 as they are.
  date.setUTCHours(0, 0, 0, 0)
  return date.setUTCDate(1)
}

let remembered: PeriodStarts = { day: Number.NaN, week: Number.NaN, month: Number.NaN }

/** All three starts at once; remembers the last day asked for, because almost every question is about today. */
export const startsOf = (millis: number): PeriodStarts => {
  const day = startOfDay(millis)
  if (remembered.day !== day) remembered = { day, week: startOfWeek(day), month: startOfMonth(day) }
  return remembered
}

/** When the period of `reset` that holds `millis` ends and the next begins; `null` when it never does. */
export const nextReset = (reset: LimitReset | null, millis: number): number | null => {
  switch (reset) {
    case null:
      return null
    case "daily":
      return startOfDay(millis) + dayMillis
    case "weekly":
      return startOfWeek(millis) + 7 * dayMillis
    case "monthly": {
      const date = new Date(startOfMonth(millis))
      return date.setUTCMonth(date.getUTCMonth() + 1)
    }
  }
}

/** The {@link LimitReset} of that name, or null for any other text. */
export const limitResetOf = (text: string | null): LimitReset | null =>
  limitResets.find((reset) => reset === text) ?? null
