/**
 * Removes objects that have no record. They remain when a process dies between storing an object
 * and recording it, or between deleting a record and its object.
 *
 * Nobody can read such an object; it only takes up space. Young objects are kept, because their
 * record may not be written yet: no put takes as long as they are kept. So several processes can
 * sweep one store at the same time, and never take an object that another one is still storing.
 */
import { Duration, Effect, type Layer, Stream } from "effect"
import * as Background from "../internal/Background.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { ObjectStore, type ObjectStoreError } from "./ObjectStore.ts"

/** The store that records the objects of one kind. */
export interface ObjectOwner {
  /** The part of an object's key before the slash. */
  readonly kind: string
  /** The identifier of the record of an object, from the part of its key after the slash. */
  readonly recordOf: (name: string) => string
  /** Returns which of these identifiers have a record whose objects must be kept. */
  readonly known: (ids: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StorageError>
}

/** When to sweep, and which objects. */
export interface Options {
  /** The time between two sweeps. Default: 1 hour. */
  readonly every?: Duration.Input | undefined
  /** Objects younger than this are kept. Longer than `longestPut`. Default: 2 hours. */
  readonly grace?: Duration.Input | undefined
}

const nameOf = (key: string): string => key.slice(key.indexOf("/") + 1)

/**
 * Makes an effect that checks every object of these owners once, removes what is left of interrupted
 * puts, and returns how many it removed.
 */
export const make = Effect.fnUntraced(function* <R>(
  owners: Effect.Effect<ReadonlyArray<ObjectOwner>, never, R>,
  options?: Options
): Effect.fn.Return<Effect.Effect<number, StorageError | ObjectStoreError>, never, ObjectStore | R> {
  const objects = yield* ObjectStore
  const kinds = yield* owners
  const grace = Duration.fromInputUnsafe(options?.grace ?? "2 hours")

  const sweep = Effect.fnUntraced(function* ({ kind, known, recordOf }: ObjectOwner) {
    let cleared = 0
    const removeUnknown = Effect.fnUntraced(function* (keys: ReadonlyArray<string>) {
      const kept = yield* known(keys.map((key) => recordOf(nameOf(key))))
      for (const key of keys) {
        if (kept.has(recordOf(nameOf(key)))) continue
        cleared++
        yield* objects.remove(key)
      }
    })
    yield* objects.list(kind).pipe(
      Stream.filter(({ age }) => Duration.isGreaterThan(age, grace)),
      Stream.map(({ key }) => key),
      Stream.grouped(200),
      Stream.runForEach(removeUnknown)
    )
    return cleared
  })

  return Effect.gen(function* () {
    const cleared = yield* Effect.forEach(kinds, sweep)
    return cleared.reduce((sum, count) => sum + count, yield* objects.removeIncomplete(grace))
  })
})

/** Sweeps at the start and then at the interval, as long as the layer lives. */
export const layerRunning = <R>(
  owners: Effect.Effect<ReadonlyArray<ObjectOwner>, never, R>,
  options?: Options
): Layer.Layer<never, never, ObjectStore | R> =>
  Background.layerRepeating({
    work: Effect.flatten(make(owners, options)),
    every: options?.every ?? "1 hour",
    failure: "Objects without a record could not be removed"
  })
