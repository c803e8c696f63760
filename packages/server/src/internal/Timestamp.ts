/** Times in wire format: ISO 8601 UTC with milliseconds. */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import { DateTime, Effect, Option } from "effect"
import { invalid } from "./Issues.ts"

/** The time of these epoch milliseconds. */
export const fromMillis = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** The time of these epoch milliseconds, or null. */
export const fromMillisOrNull = (millis: number | null): string | null => (millis === null ? null : fromMillis(millis))

/** The epoch milliseconds of a time in the request. Fails with a 400 if there is no such time. */
export const toMillis = (field: string, time: string): Effect.Effect<number, BadRequest> => {
  const parsed = DateTime.make(time)
  // JavaScript parses February 31 as March 3.
  return Option.isNone(parsed) || !DateTime.formatIso(parsed.value).startsWith(time.slice(0, 10))
    ? Effect.fail(invalid([{ path: field, message: "Expected a time that exists" }]))
    : Effect.succeed(DateTime.toEpochMillis(parsed.value))
}

/**
 * The epoch milliseconds of the bounds `from` and `to` of a list. Undefined: no bound. Fails with a
 * 400 if there is no such time.
 */
export const toRange = Effect.fnUntraced(function* (query: {
  readonly from?: string | undefined
  readonly to?: string | undefined
}) {
  return {
    from: query.from === undefined ? undefined : yield* toMillis("from", query.from),
    to: query.to === undefined ? undefined : yield* toMillis("to", query.to)
  }
})
