/**
 * Which bytes a request asks for: the `Range` and `If-Range` headers (RFC 9110, section 14).
 *
 * One range of bytes is served. A header that is malformed, asks for several ranges, for another unit, or for bytes that are not there, is ignored, as the RFC allows: the answer is then the whole, with
 * status 200, which is in every operation's status set where a 416 is not.
 */
import type { ByteWindow } from "./ObjectStore.ts"

const form = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i

/** What of the request matters here. */
export interface Conditions {
  readonly range: string | undefined
  readonly ifRange: string | undefined
}

/**
 * The window that is asked for, or undefined for the whole. `etag` is the strong entity tag of what is there, quotes included.
 *
 * @example
 * ```ts
 * import * as ByteRange from "@model-gateway/server/files/ByteRange"
 *
 * ByteRange.parse({ range: "bytes=-500", ifRange: undefined }, 10_000, '"abc"') // { start: 9500, length: 500 }
 * ```
 */
export const parse = ({ ifRange, range }: Conditions, size: number, etag: string): ByteWindow | undefined => {
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return undefined
  const match = form.exec(range)
  if (match === null) return undefined
  const [, first = "", last = ""] = match
  if (first === "") return suffix(last, size)
  const start = Number(first)
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== "" && Number(last) < start) return undefined
  return start < size ? { start, length: end - start + 1 } : undefined
}

const suffix = (last: string, size: number): ByteWindow | undefined => {
  const length = Math.min(Number(last), size)
  return last === "" || length === 0 ? undefined : { start: size - length, length }
}
