/** Random numbers that are the same in every run. */

export interface Random {
  /** From 0 to 1, without 1. */
  readonly next: () => number
  /** A whole number from `least` to `most`. */
  readonly integer: (least: number, most: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(all: ReadonlyArray<A>) => A
  /** One of them, the more often the larger its weight is. */
  readonly weighted: <A>(all: ReadonlyArray<readonly [weight: number, value: A]>) => A
}

/** The generator mulberry32. */
export const random = (seed: number): Random => {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const at = <A>(all: ReadonlyArray<A>, index: number): A => {
    const value = all[index]
    if (value === undefined) throw new Error("There is nothing to choose from")
    return value
  }
  return {
    next,
    integer: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (probability) => next() < probability,
    pick: (all) => at(all, Math.floor(next() * all.length)),
    weighted: (all) => {
      let left = next() * all.reduce((sum, [weight]) => sum + weight, 0)
      const [, value] = all.find(([weight]) => (left -= weight) < 0) ?? at(all, all.length - 1)
      return value
    }
  }
}
