/** A flag whose value is a time in ISO 8601 with its zone. */
import { DateTime, Option } from "effect"
import { Flag } from "effect/cli"

const isoTime = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/

/** JavaScript takes the 31st of February for the 3rd of March. */
const hasDay = (text: string): boolean => {
  const day = text.slice(0, 10)
  return Option.exists(DateTime.make(`${day}T00:00:00Z`), (time) => DateTime.formatIso(time).startsWith(day))
}

/** Milliseconds since 1970. */
const millisOf = (text: string): Option.Option<number> =>
  isoTime.test(text) && hasDay(text) ? Option.map(DateTime.make(text), DateTime.toEpochMillis) : Option.none()

/** The flag `name`, in milliseconds since 1970. */
export const make = (name: string): Flag.Flag<number> =>
  Flag.String(name).pipe(
    Flag.withMetavar("time"),
    Flag.filterMap(millisOf, () => "Expected a time in ISO 8601 with its zone, such as 2027-01-01T00:00:00Z")
  )

/** The flag `name`, in milliseconds since 1970, which may also be a UTC day. */
export const makeWithDay = (name: string): Flag.Flag<number> =>
  Flag.String(name).pipe(
    Flag.withMetavar("time"),
    Flag.filterMap(
      (text) => millisOf(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text),
      () => "Expected a day or a time in ISO 8601, such as 2027-01-31 or 2027-01-31T10:00:00Z"
    )
  )

/** The time as the API has it. */
export const format = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))
