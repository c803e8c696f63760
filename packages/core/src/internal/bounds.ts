/**
 * Upper bounds on the contents of a request (contract, "Upper bounds").
 *
 * Arrays are bounded by items, and texts by bytes of UTF-8, because that is their cost on the wire
 * and in memory.
 */
import * as Schema from "effect/Schema"

/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const maxBytesPerUnit = 3

const isWithinBytes = (text: string, max: number): boolean => {
  if (text.length > max) return false
  if (text.length * maxBytesPerUnit <= max) return true
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < 0x80) bytes += 1
    else if (unit < 0x800) bytes += 2
    else if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(at + 1))) {
      bytes += 4
      at++
    } else bytes += 3
    if (bytes > max) return false
  }
  return true
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000

const sizeOf = (bytes: number): string =>
  bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : bytes % 1024 === 0 ? `${bytes / 1024} KiB` : `${bytes} bytes`

/**
 * At most `max` bytes of UTF-8. In OpenAPI it becomes `maxLength`, which is correct because a text
 * never has more characters than bytes.
 */
export const isMaxBytes = (max: number) =>
  Schema.makeFilter((text: string) => isWithinBytes(text, max), {
    ...Schema.isMaxLength(max).annotations,
    expected: `at most ${sizeOf(max)} of UTF-8`
  })

/** At most `max` items. */
export const isMaxItems = (max: number) => Schema.isMaxLength(max, { expected: `at most ${max} items` })

/**
 * Subtracts the smallest possible JSON size of a value from a budget of bytes. A negative result
 * means that the value is too large. It avoids encoding values that are far too large.
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

/** At most `max` bytes as JSON. */
export const isMaxJsonBytes = (max: number) =>
  Schema.makeFilter((value: Schema.Json) => leftAfter(value, max) >= 0 && isWithinBytes(JSON.stringify(value), max), {
    expected: `JSON of at most ${sizeOf(max)}`
  })
