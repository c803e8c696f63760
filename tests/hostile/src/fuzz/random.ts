/** Random choices from a seed (sfc32). */

export interface Random {
  /** At least 0 and below 1. */
  readonly fraction: () => number
  /** A whole number, at least 0 and less than `below`. */
  readonly below: (below: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(from: readonly [A, ...ReadonlyArray<A>]) => A
  /** An item of a list that may be empty. */
  readonly pickOr: <A>(from: ReadonlyArray<A>, otherwise: A) => A
}

/** Each request has its own generator, so that it can be reproduced without those before it. */
export const make = (seed: number, number: number): Random => {
  let [a, b, c, counter] = [seed | 0, number | 0, 0x9e3779b9, 1]
  const next = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + sum) | 0
    return (sum >>> 0) / 0x1_0000_0000
  }
  for (let warm = 0; warm < 12; warm++) next()
  const below = (limit: number): number => Math.floor(next() * limit)
  return {
    fraction: next,
    below,
    chance: (probability) => next() < probability,
    pick: (from) => from[below(from.length)] ?? from[0],
    pickOr: (from, otherwise) => from[below(from.length)] ?? otherwise
  }
}
