/** The bytes that a response has (RFC 9110, section 14). */
import type { HttpClientResponse } from "effect/http/HttpClientResponse"
import type { RangeOptions } from "../GatewayClient.ts"

/** Positions are counted from 0 in the whole content. */
export interface Part {
  /** Whether the response is not limited to a range. */
  readonly isWhole: boolean
  readonly start: number
  /** The position after the last byte. Undefined: unknown. */
  readonly end: number | undefined
  /** The size of the whole content. Undefined: unknown. */
  readonly size: number | undefined
  /** The strong entity tag, with which the rest can be requested. */
  readonly etag: string | undefined
}

/** The `Range` header. */
export const header = (range: RangeOptions["range"]): string | undefined =>
  range === undefined ? undefined : `bytes=${range.start}-${range.end ?? ""}`

/** Undefined if the headers contradict each other. */
export const partOf = ({ headers, status }: HttpClientResponse): Part | undefined => {
  const tag = headers["etag"]
  const coding = headers["content-encoding"] ?? "identity"
  // Positions in compressed bytes are not those of the bytes that the platform returns.
  const isPlain = coding === "identity"
  const etag = isPlain && tag?.startsWith('"') === true ? tag : undefined
  const length = isPlain ? numberOf(headers["content-length"]) : undefined
  if (status === 200) return { isWhole: true, start: 0, end: length, size: length, etag }
  const match = status === 206 && isPlain ? contentRange.exec(headers["content-range"] ?? "") : null
  if (match === null) return undefined
  const start = Number(match[1])
  const end = Number(match[2]) + 1
  const size = numberOf(match[3])
  return end <= start || end > (size ?? end) || end - start !== (length ?? end - start)
    ? undefined
    : { isWhole: false, start, end, size, etag }
}

const contentRange = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/

const numberOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/**
 * Whether the part is in a range that was requested. A service may return the whole content
 * instead.
 */
export const isWithin = ({ end = Infinity, isWhole, start }: Part, range: RangeOptions["range"]): boolean =>
  isWhole || (range !== undefined && start === range.start && end - 1 <= (range.end ?? Infinity))

/** Whether the part continues the content of a first part at a position. */
export const continues = (part: Part, first: Part, position: number): boolean =>
  part.start === position &&
  (part.size ?? first.size) === (first.size ?? part.size) &&
  (part.etag ?? first.etag) === first.etag

/**
 * The end of what was requested, whose beginning the first part has. A later part may tell the size
 * that the first one did not. Undefined: unknown.
 */
export const endOf = (first: Part, part: Part, range: RangeOptions["range"]): number | undefined => {
  const size = first.size ?? part.size
  if (first.isWhole) return size
  return size === undefined ? first.end : Math.min((range?.end ?? Infinity) + 1, size)
}
