/**
 * Removes objects that have no record. They remain when a process dies between storing an object
 * and recording it, or between deleting a record and its object.
 *
 * Nobody can read such an object; it only takes up space. Young objects are kept, because their
 * record may not be written yet: no put takes as long as they are kept. So several processes can
 * sweep one store at the same time, and never take an object that another one is still storing.
 *
 * An object of another database has no record in this one. So the first database to sweep a store
 * marks it as its own, and no other removes anything there.
 */
import { Duration, Effect, type Layer, Stream } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { ObjectStore, ObjectStoreError } from "./ObjectStore.ts"

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
  /** Objects younger than this are kept. Longer than `maxPutDuration`. Default: 2 hours. */
  readonly grace?: Duration.Input | undefined
}

const nameOf = (key: string): string => key.slice(key.indexOf("/") + 1)

/** The kind of the objects that mark a store. An object's name is the identifier of a database. */
const marks = "owner"

/** Its first organization identifies a database. Undefined: it is new, and has stored nothing. */
const databaseId: Effect.Effect<string | undefined, StorageError, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql`SELECT id FROM organizations WHERE id > ${""} ORDER BY id LIMIT 1`
  return row === undefined ? undefined : Dialect.text(row, "id")
}).pipe(mapSqlError("ObjectSweep.databaseId"))

/**
 * Makes an effect that checks every object of these owners once, removes what is left of
 * interrupted puts, and returns the number of both. Fails if the store belongs to another database.
 */
export const make = Effect.fnUntraced(function* <R>(
  owners: Effect.Effect<ReadonlyArray<ObjectOwner>, never, R>,
  options?: Options
): Effect.fn.Return<Effect.Effect<number, StorageError | ObjectStoreError>, never, ObjectStore | SqlClient | R> {
  const objects = yield* ObjectStore
  const sql = yield* SqlClient
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

  /** Whether the store belongs to this database. Fails if it belongs to another. */
  const isOwn = Effect.gen(function* () {
    const id = yield* Effect.provideService(databaseId, SqlClient, sql)
    if (id === undefined) return false
    const mark = `${marks}/${id}`
    const marked = Stream.runCollect(objects.list(marks))
    let found = yield* marked
    if (found.length === 0) {
      yield* Effect.catchTag(objects.put(mark, Stream.empty), "ObjectTooLarge", Effect.die)
      // Another database may have done the same since then.
      found = yield* marked
    }
    if (found.some(({ key }) => key !== mark)) {
      return yield* new ObjectStoreError({
        operation: "sweep",
        reason: "unavailable",
        message:
          "The object store holds the objects of another database, so nothing is removed from it. " +
          "Each database needs a bucket, prefix or folder of its own."
      })
    }
    return true
  })

  return Effect.gen(function* () {
    if (!(yield* isOwn)) return 0
    const cleared = yield* Effect.forEach(kinds, sweep)
    return cleared.reduce((sum, count) => sum + count, yield* objects.removeIncomplete(grace))
  })
})

/** Sweeps at the start and then at the interval, as long as the layer lives. */
export const layerBackground = <R>(
  owners: Effect.Effect<ReadonlyArray<ObjectOwner>, never, R>,
  options?: Options
): Layer.Layer<never, never, ObjectStore | SqlClient | R> =>
  Background.layer({
    work: Effect.flatten(make(owners, options)),
    every: options?.every ?? "1 hour",
    failure: "Objects without a record could not be removed"
  })
