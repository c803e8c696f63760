/**
 * The periods in which spending is counted, as pure functions over epoch milliseconds.
 *
 * All are UTC: the day from 00:00, the ISO week from Monday 00:00, the calendar month from its
 * first day.
 */

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

/** 1970-01-01 was a Thursday: three days after the start of its week. */
const weekStartOf = (day: number): number => {
  const sinceMonday = (day / dayMillis + 3) % 7
  return day - (sinceMonday < 0 ? sinceMonday + 7 : sinceMonday) * dayMillis
}

/** The start of the day, ISO week or month after the one that contains `millis`. */
export const nextStartOf = (period: "daily" | "weekly" | "monthly", millis: number): number => {
  const { day, month, week } = startsOf(millis)
  if (period === "daily") return day + dayMillis
  if (period === "weekly") return week + 7 * dayMillis
  const date = new Date(month)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1)
}

/** All three starts. */
export const startsOf = (millis: number): PeriodStarts => {
  const day = startOfDay(millis)
  const date = new Date(millis)
  return { day, week: weekStartOf(day), month: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) }
}
