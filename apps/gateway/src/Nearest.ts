/** Suggests the name that a mistyped one most likely stands for. */

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

/**
 * The candidate with the smallest edit distance, the first of several. `candidates` must not be
 * empty.
 */
export const nearest = (name: string, candidates: ReadonlyArray<string>): string =>
  candidates.reduce((best, candidate) => (distance(name, candidate) < distance(name, best) ? candidate : best))
