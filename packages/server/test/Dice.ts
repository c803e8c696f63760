/** Random choices that are the same for the same seed. */
import { Effect, Random } from "effect"

/** A source of choices. */
export interface Dice {
  readonly random: Random.Random
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly next: () => number
  /** An integer between both, inclusive. */
  readonly int: (min: number, max: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(from: readonly [A, ...ReadonlyArray<A>]) => A
  readonly bytes: (size: number) => Uint8Array
}

/** Two sources with different names are independent, so that a change of one leaves the other. */
export const make = (seed: number, name: string): Dice => {
  const random = Effect.runSync(Random.withSeed(Effect.service(Random.Random), `${seed} ${name}`))
  const next = () => random.nextDoubleUnsafe()
  const int = (min: number, max: number) => min + Math.floor(next() * (max - min + 1))
  return {
    random,
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (from) => from[int(0, from.length - 1)] ?? from[0],
    bytes: (size) => Uint8Array.from({ length: size }, () => int(0, 255))
  }
}
