/**
 * The periods in which spending is counted, as pure functions over epoch milliseconds.
 *
 * All are UTC: the day from 00:00, the ISO week from Monday 00:00, the calendar month from its
 * first day.
 */
import { DateTime } from "effect"

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

/** All three starts. */
export const startsOf = (millis: number): PeriodStarts => {
  const instant = DateTime.makeUnsafe(millis)
  return {
    day: startOfDay(millis),
    week: DateTime.toEpochMillis(DateTime.startOf(instant, "week", { weekStartsOn: 1 })),
    month: DateTime.toEpochMillis(DateTime.startOf(instant, "month"))
  }
}
