/**
 * Bounds on the length of texts, counted in Unicode code points, as the specification and JSON
 * Schema count characters. Most emoji are one code point but two units of a JavaScript string.
 */
import * as Schema from "effect/Schema"

/** Whether the text has at most `max` characters. An unpaired surrogate counts as one. */
export const isWithinCharacters = (text: string, max: number): boolean => {
  // A code point is one or two units, so counting is needed only between these two bounds.
  if (text.length <= max) return true
  if (text.length > 2 * max) return false
  let left = max
  for (const _ of text) if (--left < 0) return false
  return true
}

/**
 * At most `max` characters, like {@link isWithinCharacters}. It has the annotations of
 * Effect's `isMaxCodePoints` (`maxLength` in OpenAPI, generated values), but counts only if the
 * number of units does not decide. A minimum of one character needs no such check: use
 * `isMinLength(1)`.
 */
export const isMaxCharacters = (max: number) =>
  Schema.makeFilter((text: string) => isWithinCharacters(text, max), {
    ...Schema.isMaxCodePoints(max).annotations,
    expected: `at most ${max} characters`
  })
