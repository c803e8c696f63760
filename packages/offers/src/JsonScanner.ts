/**
 * Scans the bytes of a JSON body as they arrive, before it is parsed. The service scans the bodies
 * of callers with it, and adapters the answers of upstreams.
 *
 * A parser builds all that a body contains: a few megabytes can become millions of objects and
 * block all other requests. The scanner only counts. It rejects nesting, lists and numbers of
 * values above its limits, in time linear in the bytes. It does not check the grammar; the parser
 * does that later. The attacks `empty-texts`, `upstream-results` and `upstream-nesting` send such
 * bodies.
 *
 * It can also extract one long string from the body, so that the string is never whole in memory
 * (attack `transcriptions`).
 *
 * @since 0.1.0
 */
import type { Issue } from "@model-gateway/core/GatewayError"

/**
 * What a body may contain at most.
 *
 * @category models
 * @since 0.1.0
 */
export interface Limits {
  /** Levels of nesting. */
  readonly depth: number
  /** Items of a list, or members of an object. */
  readonly entries: number
  /** Values in total. */
  readonly values: number
}

/**
 * A string to extract: the value of `member` in the object `field` of the body.
 *
 * @category models
 * @since 0.1.0
 */
export interface Extraction {
  readonly field: string
  readonly member: string
  /** The string starts. As in the parser, it replaces an earlier one with the same name. */
  readonly begin: () => void
  /** Some of its bytes, as written in the JSON. */
  readonly take: (bytes: Uint8Array) => void
}

/**
 * Options of a scan.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  readonly limits: Limits
  /**
   * The maximum number of items of the list at a path such as `documents` or `provider.order`, if
   * it is limited.
   */
  readonly maxItems?: ((path: string) => number | undefined) | undefined
  /** Receives the bytes to parse: all except the extracted string. */
  readonly keep: (bytes: Uint8Array) => void
  readonly extract?: Extraction | undefined
}

/**
 * The scanner of one body.
 *
 * @category models
 * @since 0.1.0
 */
export interface JsonScanner {
  /** Scans the next bytes. Returns the issue for which the body is rejected, if any. */
  readonly push: (bytes: Uint8Array) => Issue | undefined
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openObject = 0x7b
const closeObject = 0x7d
const openList = 0x5b
const closeList = 0x5d

/** Longer names are not fields of the contract. */
const maxNameBytes = 256

/** Names are tracked for the fields of the body and their members, for paths and the extraction. */
const namedLevels = 2

/** After this many bytes without an escape, a native search is faster than a loop. */
const shortString = 24

const nameOf = (bytes: ReadonlyArray<number>): string => {
  const text = Buffer.from(bytes).toString("utf8")
  if (!text.includes("\\")) return text
  try {
    const parsed: unknown = JSON.parse(`"${text}"`)
    return typeof parsed === "string" ? parsed : text
  } catch {
    return text
  }
}

/**
 * Makes the scanner of one body.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = ({ extract, keep, limits, maxItems = () => undefined }: Options): JsonScanner => {
  const isObject = new Uint8Array(limits.depth + 1)
  const entries = new Int32Array(limits.depth + 1)
  const bounds = new Int32Array(limits.depth + 1)
  const names: Array<Array<number>> = Array.from({ length: namedLevels + 1 }, () => [])
  let depth = 0
  let values = 1
  let inString = false
  let isEscaped = false
  let isName = false
  let expectsName = false
  let isExtracting = false

  /** The path of the current level. */
  const path = (): string =>
    names
      .slice(1, Math.min(depth, namedLevels + 1))
      .filter((_, index) => isObject[index + 1] === 1)
      .map(nameOf)
      .join(".")

  /** The limit of a list that starts here. */
  const boundOfNext = (): number | undefined => {
    for (let level = 1; level <= depth; level++) if (level > namedLevels || isObject[level] === 0) return undefined
    return maxItems(
      names
        .slice(1, depth + 1)
        .map(nameOf)
        .join(".")
    )
  }

  const tooMany = (): Issue => {
    const max = bounds[depth] ?? limits.entries
    return { path: path(), message: `Expected at most ${max} ${isObject[depth] === 1 ? "members" : "items"}` }
  }

  const open = (object: boolean): Issue | undefined => {
    // Read this before entering the level: the level above names the list.
    const ownBound = object ? undefined : boundOfNext()
    depth++
    if (depth > limits.depth) return { path: path(), message: `Expected at most ${limits.depth} levels of nesting` }
    isObject[depth] = object ? 1 : 0
    entries[depth] = 1
    bounds[depth] = ownBound ?? limits.entries
    expectsName = object
    return count()
  }

  const count = (): Issue | undefined =>
    ++values > limits.values
      ? { path: path(), message: `Expected a body of at most ${limits.values} values` }
      : undefined

  const nextEntry = (): Issue | undefined => {
    entries[depth] = (entries[depth] ?? 0) + 1
    if ((entries[depth] ?? 0) > (bounds[depth] ?? 0) && depth > 0) return tooMany()
    expectsName = isObject[depth] === 1
    return count()
  }

  const beginString = (): void => {
    inString = true
    isName = expectsName && depth <= namedLevels && depth > 0
    if (isName) names[depth] = []
    isExtracting =
      extract !== undefined &&
      !expectsName &&
      depth === 2 &&
      isObject[1] === 1 &&
      isObject[2] === 1 &&
      nameOf(names[1] ?? []) === extract.field &&
      nameOf(names[2] ?? []) === extract.member
  }

  // The next quote and backslash of the current bytes, cached so that no byte is searched twice.
  let searched: Uint8Array | undefined
  let nextQuote = -1
  let nextBackslash = -1

  const find = (bytes: Uint8Array, code: number, from: number): number => {
    const found = bytes.indexOf(code, from)
    return found === -1 ? bytes.length : found
  }

  /** The next quote or backslash, or the end of the bytes. */
  const nextSpecial = (bytes: Uint8Array, from: number): number => {
    if (searched !== bytes) {
      searched = bytes
      nextQuote = -1
      nextBackslash = -1
    }
    if (nextQuote < from) nextQuote = find(bytes, quote, from)
    if (nextBackslash < from) nextBackslash = find(bytes, backslash, from)
    return Math.min(nextQuote, nextBackslash)
  }

  /** Where the string's content ends in these bytes: at its closing quote, or at their end. */
  const endOfString = (bytes: Uint8Array, from: number): number => {
    let at = from
    let plainFrom = from
    while (at < bytes.length) {
      if (isEscaped) {
        isEscaped = false
        plainFrom = ++at
        continue
      }
      if (at - plainFrom >= shortString) at = nextSpecial(bytes, at)
      const code = bytes[at]
      if (code === quote) return at
      if (code === backslash) isEscaped = true
      at++
    }
    return Math.min(at, bytes.length)
  }

  const noteName = (bytes: Uint8Array, from: number, to: number): void => {
    const name = names[depth]
    if (name === undefined) return
    for (let at = from; at < to && name.length <= maxNameBytes; at++) name.push(bytes[at] ?? 0)
  }

  const push = (bytes: Uint8Array): Issue | undefined => {
    let at = 0
    let keptFrom = 0
    while (at < bytes.length) {
      if (inString) {
        const end = endOfString(bytes, at)
        if (isName) noteName(bytes, at, end)
        if (isExtracting && extract !== undefined) {
          if (end > at) extract.take(bytes.subarray(at, end))
          keptFrom = end
        }
        at = end
        if (at < bytes.length) {
          inString = false
          isExtracting = false
          at++
        }
        continue
      }
      let issue: Issue | undefined
      switch (bytes[at]) {
        case quote:
          beginString()
          if (isExtracting) {
            extract?.begin()
            keep(bytes.subarray(keptFrom, at + 1))
            keptFrom = at + 1
          }
          break
        case comma:
          issue = nextEntry()
          break
        case colon:
          expectsName = false
          break
        case openObject:
          issue = open(true)
          break
        case openList:
          issue = open(false)
          break
        case closeObject:
        case closeList:
          if (depth > 0) depth--
          expectsName = false
          break
        default:
      }
      if (issue !== undefined) return issue
      at++
    }
    if (keptFrom < bytes.length) keep(bytes.subarray(keptFrom))
    return undefined
  }

  return { push }
}
