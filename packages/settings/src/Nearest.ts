/**
 * Suggests the name that a mistyped one most likely stands for.
 *
 * @since 0.1.0
 */

/**
 * The edit distance (Levenshtein) between two texts, where each character of `whole` before and
 * after `part` counts `outside`.
 */
const distance = (part: string, whole: string, outside: number): number => {
  const [from, to] = [Array.from(part), Array.from(whole)]
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index * outside)
  for (const [i, left] of from.entries()) {
    const insertion = i + 1 === from.length ? outside : 1
    const current = [i + 1]
    for (const [j, right] of to.entries()) {
      const replaced = (previous[j] ?? 0) + (left === right ? 0 : 1)
      current.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (current[j] ?? 0) + insertion))
    }
    previous = current
  }
  return previous.at(-1) ?? 0
}

/** A shorter name resembles a part of too many others. */
const minPartLength = 3

/**
 * How different two names are, without regard to case. What the shorter one lacks at its ends, such
 * as `limit` or `limt` to `limit_usd`, counts a quarter of a mistyped character.
 */
const difference = (a: string, b: string): number => {
  const [part, whole] = [a.toLowerCase(), b.toLowerCase()].toSorted((left, right) => left.length - right.length)
  if (part === undefined || whole === undefined) return 0
  return distance(part, whole, part.length < minPartLength ? 1 : 1 / 4)
}

/**
 * The candidate that is nearest, the first of several. `candidates` must not be empty.
 *
 * @category measuring
 * @since 0.1.0
 */
export const nearest = (name: string, candidates: ReadonlyArray<string>): string =>
  candidates.reduce((best, candidate) => (difference(name, candidate) < difference(name, best) ? candidate : best))
