/**
 * Bounds on the length of texts, counted in characters as the specification, JSON Schema and every other language's tools
 * count them: an emoji outside the basic plane is one, not the two units that JavaScript keeps it in.
 */
import * as Schema from "effect/Schema"

const isWithin = (text: string, most: number): boolean => {
  // A character is one unit or two, so only what lies between is worth counting.
  if (text.length <= most) return true
  if (text.length > 2 * most) return false
  let left = most
  for (const _ of text) if (--left < 0) return false
  return true
}

/**
 * At most so many characters; half a surrogate pair counts as one. What Effect's `isMaxCodePoints` says of itself it says too (`maxLength` in OpenAPI, generated values),
 * but it counts only where the number of units leaves it open. The least of one character needs no such check: `isMinLength(1)` is that.
 */
export const isMaxCharacters = (most: number) =>
  Schema.makeFilter((text: string) => isWithin(text, most), {
    ...Schema.isMaxCodePoints(most).annotations,
    expected: `at most ${most} characters`
  })
