/** Times in wire format: ISO 8601 UTC with milliseconds. */
import { DateTime } from "effect"

/** The time of these epoch milliseconds. */
export const fromMillis = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** The time of these epoch milliseconds, or null. */
export const fromMillisOrNull = (millis: number | null): string | null => (millis === null ? null : fromMillis(millis))
