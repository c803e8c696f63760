/**
 * The periods in which spending is counted, as pure functions over epoch milliseconds.
 *
 * All are UTC: the day from 00:00, the ISO week from Monday 00:00, the calendar month from its
 * first day.
 */

/** The period after which a spending limit resets. `null` in its place means never. */
export type LimitReset = "daily" | "weekly" | "monthly"

/** Every {@link LimitReset}. */
export const limitResets: ReadonlyArray<LimitReset> = ["daily", "weekly", "monthly"]

/** Milliseconds in a UTC day. Computer time has no leap seconds. */
export const dayMillis = 86_400_000

/** The starts of the day, ISO week and month of an instant. */
export interface PeriodStarts {
  readonly day: number
  readonly week: number
  readonly month: number
}

/** Start of the UTC day that contains `millis`. */
export const startOfDay = (millis: number): number => Math.floor(millis / dayMillis) * dayMillis

/** Start of the ISO week (Monday) that contains `millis`. */
export const startOfWeek = (millis: number): number => {
  const day = Math.floor(millis / dayMillis)
  // Day 0 of the epoch was a Thursday, three days after a Monday.
  const sinceMonday = (((day + 3) % 7) + 7) % 7
  return (day - sinceMonday) * dayMillis
}

/** Start of the calendar month that contains `millis`. */
export const startOfMonth = (millis: number): number => {
  const date = new Date(millis)
  // setUTCFullYear, unlike Date.UTC, does not map the years 0 to 99 to 1900 to 1999.
  date.setUTCHours(0, 0, 0, 0)
  return date.setUTCDate(1)
}

/** All three starts. */
export const startsOf = (millis: number): PeriodStarts => ({
  day: startOfDay(millis),
  week: startOfWeek(millis),
  month: startOfMonth(millis)
})

/** The {@link LimitReset} with this name, or null. */
export const limitResetOf = (text: string | null): LimitReset | null =>
  limitResets.find((reset) => reset === text) ?? null
