/**
 * The header `Retry-After` (RFC 9110, 10.2.3).
 *
 * @since 0.1.0
 */
import type { Headers } from "effect/http/Headers"

/**
 * The seconds to wait. Undefined without the header or with an invalid one, negative for a date in
 * the past.
 *
 * A date is compared with the response's own `Date`, or with `now`, in milliseconds, without one: a
 * browser hides that header of another origin.
 *
 * @category decoding
 * @since 0.1.0
 */
export const seconds = (headers: Headers, now: number): number | undefined => {
  const text = headers["retry-after"]
  if (text === undefined) return undefined
  // JSON has no infinite numbers.
  if (/^\d+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  // `Date.parse` alone would accept "-3" as a day in March 2001.
  if (!text.endsWith("GMT")) return undefined
  const wait = Date.parse(text) - (Date.parse(headers["date"] ?? "") || now)
  return Number.isNaN(wait) ? undefined : wait / 1000
}
