/**
 * Suggests the name that a mistyped one most likely stands for.
 *
 * @since 0.1.0
 */

/** The edit distance (Levenshtein) between two texts. */
const distance = (a: string, b: string): number => {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, left] of Array.from(a).entries()) {
    const current = [i + 1]
    for (const [j, right] of Array.from(b).entries()) {
      const replaced = (previous[j] ?? 0) + (left === right ? 0 : 1)
      current.push(Math.min(replaced, (previous[j + 1] ?? 0) + 1, (current[j] ?? 0) + 1))
    }
    previous = current
  }
  return previous.at(-1) ?? 0
}

/** A shorter name is a part of too many others. */
const minPartLength = 3

const isPart = (part: string, whole: string): boolean => part.length >= minPartLength && whole.includes(part)

/**
 * How far two names are apart, without regard to case. What a name lacks to one that it is a part
 * of, such as `limit` to `limit_usd`, counts a quarter of a mistyped character.
 */
const farness = (a: string, b: string): number => {
  const [left, right] = [a.toLowerCase(), b.toLowerCase()]
  return distance(left, right) / (isPart(left, right) || isPart(right, left) ? 4 : 1)
}

/**
 * The candidate that is nearest, the first of several. `candidates` must not be empty.
 *
 * @category measuring
 * @since 0.1.0
 */
export const nearest = (name: string, candidates: ReadonlyArray<string>): string =>
  candidates.reduce((best, candidate) => (farness(name, candidate) < farness(name, best) ? candidate : best))
