/**
 * The byte range that a request asks for: the `Range` and `If-Range` headers (RFC 9110, section
 * 14).
 *
 * A single range of bytes is supported. A header that is malformed, lists several ranges, uses
 * another unit or cannot be satisfied is ignored, as the RFC allows. The response is then the whole
 * content with status 200, because no operation's status set has a 416.
 */
import type { ByteWindow } from "../objects/ObjectStore.ts"

const form = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i

/** The request headers that matter here. */
export interface Conditions {
  readonly range: string | undefined
  readonly ifRange: string | undefined
}

/**
 * The requested window, or undefined for the whole content. `etag` is the strong entity tag of the
 * content, including its quotes.
 *
 * @example
 * ```ts
 * import * as ByteRange from "./ByteRange.ts"
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
