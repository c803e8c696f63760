/**
 * Upper bounds on what a request may hold (contract, "Upper bounds").
 *
 * Arrays are bounded in items and texts in bytes of UTF-8, which is what they take up on the wire
 * and in memory.
 */
import * as Schema from "effect/Schema"

/** A text of this many UTF-16 units never takes more than three bytes for each of them. */
const mostBytesPerUnit = 3

const isWithinBytes = (text: string, most: number): boolean => {
  if (text.length > most) return false
  if (text.length * mostBytesPerUnit <= most) return true
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(at + 1))) {
      bytes += 4
      at++
    } else bytes += 3
    if (bytes > most) return false
  }
  return true
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

const sizeOf = (bytes: number): string =>
  bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`

/**
 * At most `most` bytes of UTF-8. In OpenAPI it is `maxLength`, because a text never has more
 * characters than bytes.
 */
export const isMaxBytes = (most: number) =>
  Schema.makeFilter((text: string) => isWithinBytes(text, most), {
    ...Schema.isMaxLength(most).annotations,
    expected: `at most ${sizeOf(most)} of UTF-8`
  })

/** At most `most` items. */
export const isMaxItems = (most: number) => Schema.isMaxLength(most, { expected: `at most ${most} items` })

/**
 * What is left of a budget of bytes after the least that a value takes as JSON; below 0 where it is
 * too small.
 */
const leftAfter = (value: Schema.Json, budget: number): number => {
  if (typeof value === "string") return budget - value.length - 2
  if (typeof value !== "object" || value === null) return budget - 1
  let left = budget - 2
  for (const [name, member] of Object.entries(value)) {
    if (left < 0) return left
    left = leftAfter(member, Array.isArray(value) ? left : left - name.length - 3)
  }
  return left
}

/** At most `most` bytes when written as JSON. A value that is much larger is not written out. */
export const isMaxJsonBytes = (most: number) =>
  Schema.makeFilter((value: Schema.Json) => leftAfter(value, most) >= 0 && isWithinBytes(JSON.stringify(value), most), {
    expected: `JSON of at most ${sizeOf(most)}`
  })
