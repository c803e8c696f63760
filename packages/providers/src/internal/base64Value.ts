/**
 * Files in base64 inside of a JSON answer. They are decoded as they arrive, so that a video of any
 * size takes the memory of a few chunks.
 */
import { Effect, Stream } from "effect"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import { badResponse } from "./videoJobs.ts"

const quote = 0x22
const backslash = 0x5c

/** Longer strings are no names of members. */
const maxName = 64

/** The rest of an answer, without its files, is small. */
const maxRest = 64 * 1024

/** What a scanner finds. */
interface Found {
  /** A file begins. */
  readonly begin: () => void
  /** Some of its base64, as written in the JSON. */
  readonly take: (bytes: Uint8Array) => void
  readonly end: () => void
  /** Bytes that are not of a file. */
  readonly keep: (bytes: Uint8Array) => void
}

/** Finds the strings that are values of `member`, at any depth. */
const scanner = (member: string, { begin, end, keep, take }: Found) => {
  let isString = false
  let isEscaped = false
  let isFile = false
  let isValue = false
  let word = ""
  return (bytes: Uint8Array): void => {
    let at = 0
    let from = 0
    while (at < bytes.length) {
      if (isFile) {
        // Base64 has no quotes, so the next one ends it.
        const found = bytes.indexOf(quote, at)
        const stop = found === -1 ? bytes.length : found
        if (stop > at) take(bytes.subarray(at, stop))
        from = stop
        at = stop
        if (found !== -1) {
          isFile = false
          at++
          end()
        }
        continue
      }
      const code = bytes[at] ?? 0
      if (isString) {
        if (!isEscaped && code === quote) isString = false
        else if (word.length < maxName) word += String.fromCharCode(code)
        isEscaped = !isEscaped && code === backslash
      } else if (code === quote && isValue && word === member) {
        isFile = true
        isValue = false
        keep(bytes.subarray(from, at + 1))
        begin()
      } else if (code === quote) {
        isString = true
        word = ""
      } else if (code === 0x3a) isValue = true
      // Anything else than a space ends the place where the value of a name can begin.
      else if (code > 0x20) isValue = false
      at++
    }
    if (!isFile && from < bytes.length) keep(bytes.subarray(from))
  }
}

/** Decodes base64 that arrives in chunks, with what JSON may escape in it. */
const decoder = () => {
  let rest = ""
  return (bytes: Uint8Array): Uint8Array | undefined => {
    const text = rest + Buffer.from(bytes).toString("latin1")
    // An escape may go on in the next chunk.
    const open = text.lastIndexOf("\\")
    const cut = open >= 0 && text.length - open < (text[open + 1] === "u" ? 6 : 2) ? open : text.length
    const plain = text
      .slice(0, cut)
      .replaceAll(/\\(?:u00([0-7][0-9a-f])|(\/))/gi, (_, hex?: string) =>
        hex === undefined ? "/" : String.fromCharCode(Number.parseInt(hex, 16))
      )
    const usable = plain.length - (plain.length % 4)
    rest = plain.slice(usable) + text.slice(cut)
    return /^[A-Za-z0-9+/=]*$/.test(plain) ? Buffer.from(plain.slice(0, usable), "base64") : undefined
  }
}

/**
 * The JSON of an answer, with empty strings for its files, and whether it has a file. It ends where
 * the first file begins, which closes the connection.
 */
export const probe = <E>(
  answer: Stream.Stream<Uint8Array, E>,
  member: string
): Effect.Effect<{ readonly hasFile: boolean; readonly text: string }, E | ProviderError> =>
  Effect.suspend(() => {
    const kept: Array<Uint8Array> = []
    let size = 0
    let hasFile = false
    const push = scanner(member, {
      begin: () => (hasFile = true),
      take: () => {},
      end: () => {},
      keep: (bytes) => {
        size += bytes.length
        kept.push(bytes)
      }
    })
    return Stream.runForEachWhile(answer, (chunk) =>
      Effect.sync(() => {
        push(chunk)
        return !hasFile && size <= maxRest
      })
    ).pipe(
      Effect.andThen(
        Effect.suspend(() =>
          !hasFile && size > maxRest
            ? Effect.fail(badResponse(`more than ${maxRest} bytes without a file`))
            : Effect.succeed({ hasFile, text: Buffer.concat(kept).toString("utf8") })
        )
      )
    )
  })

/** The bytes of the file with this index. It fails if the answer ends before the file does. */
export const file = <E>(
  answer: Stream.Stream<Uint8Array, E>,
  member: string,
  index: number
): Stream.Stream<Uint8Array, E | ProviderError> =>
  Stream.suspend(() => {
    const decode = decoder()
    let current = -1
    let isOver = false
    let isBroken = false
    let parts: Array<Uint8Array> = []
    const push = scanner(member, {
      begin: () => current++,
      take: (bytes) => {
        if (current !== index || isOver) return
        const decoded = decode(bytes)
        if (decoded === undefined) isBroken = true
        else if (decoded.length > 0) parts.push(decoded)
      },
      end: () => (isOver ||= current === index),
      keep: () => {}
    })
    return answer.pipe(
      Stream.mapEffect((chunk) => {
        push(chunk)
        const bytes = parts
        parts = []
        return isBroken ? Effect.fail(badResponse("a file that is not base64")) : Effect.succeed({ bytes, isOver })
      }),
      Stream.takeUntil(({ isOver }) => isOver),
      Stream.flatMap(({ bytes }) => Stream.fromIterable(bytes)),
      Stream.concat(Stream.suspend(() => (isOver ? Stream.empty : Stream.fail(badResponse(`no output ${index}`, 200)))))
    )
  })
