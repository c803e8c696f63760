/**
 * Removes objects that have no record. They remain when a process dies between storing an object
 * and recording it, or between deleting a record and its object.
 *
 * Nobody can read such an object; it only takes up space. Young objects are kept, because their
 * record may not be written yet.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule, Stream } from "effect"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { VideoJobs } from "../video/VideoJobs.ts"
import { FileStore } from "./FileStore.ts"
import { ObjectStore, type ObjectStoreError } from "./ObjectStore.ts"

/** A store that records objects of one kind. */
export interface ObjectOwner {
  /** The part of a key before the slash. */
  readonly kind: string
  /** Returns which of these keys have a record, or may still get one. */
  readonly keeps: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlySet<string>, StorageError>
}

/** The sweep. */
export class ObjectSweep extends Context.Service<
  ObjectSweep,
  {
    /** Checks every object once. Returns how many were removed. */
    readonly run: Effect.Effect<number, StorageError | ObjectStoreError>
  }
>()("@model-gateway/server/objects/ObjectSweep") {}

/** When to sweep, and what. */
export interface Options {
  /** Default: 1 hour. */
  readonly every?: Duration.Input | undefined
  /** Objects younger than this are kept. Default: 1 hour. */
  readonly grace?: Duration.Input | undefined
}

/** Makes the sweep over the object store. */
export const make = Effect.fnUntraced(function* (owners: ReadonlyArray<ObjectOwner>, options?: Options) {
  const objects = yield* ObjectStore
  const grace = Duration.toMillis(Duration.fromInputUnsafe(options?.grace ?? "1 hour"))

  const sweep = Effect.fnUntraced(function* ({ keeps, kind }: ObjectOwner) {
    const youngest = (yield* Clock.currentTimeMillis) - grace
    let cleared = 0
    yield* objects.list(kind).pipe(
      Stream.filter(({ modifiedAt }) => modifiedAt < youngest),
      Stream.map(({ key }) => key),
      Stream.grouped(200),
      Stream.runForEach((keys) =>
        Effect.flatMap(keeps(keys), (kept) =>
          Effect.forEach(
            keys.filter((key) => !kept.has(key)),
            (key) => {
              cleared++
              return objects.remove(key)
            },
            { discard: true }
          )
        )
      )
    )
    return cleared
  })

  return ObjectSweep.of({
    run: Effect.map(Effect.forEach(owners, sweep), (cleared) => cleared.reduce((sum, count) => sum + count, 0))
  })
})

const nameOf = (key: string): string => key.slice(key.indexOf("/") + 1)

const matching = (keys: ReadonlyArray<string>, ownerOf: (key: string) => string, owners: ReadonlySet<string>) =>
  new Set(keys.filter((key) => owners.has(ownerOf(key))))

/** Uploads, named after their file. */
const files = Effect.map(FileStore, ({ known }): ObjectOwner => ({
  kind: "files",
  keeps: (keys) => Effect.map(known(keys.map(nameOf)), (ids) => matching(keys, nameOf, ids))
}))

/** The job of a video's key. The key ends in the index of the video. */
const jobOf = (key: string): string => nameOf(key).replace(/-\d+$/, "")

/** Finished videos, named after their job. */
const videos = Effect.map(VideoJobs, ({ withContent }): ObjectOwner => ({
  kind: "videos",
  keeps: (keys) => Effect.map(withContent(keys.map(jobOf)), (ids) => matching(keys, jobOf, ids))
}))

/** The sweep over uploads and finished videos. It runs only when called. */
export const layer = (options?: Options): Layer.Layer<ObjectSweep, never, ObjectStore | FileStore | VideoJobs> =>
  Layer.effect(
    ObjectSweep,
    Effect.flatMap(Effect.all([files, videos]), (owners) => make(owners, options))
  )

/** Sweeps at the start and then at the interval, as long as the layer lives. */
export const layerRunning = (options?: Options): Layer.Layer<never, never, ObjectStore | FileStore | VideoJobs> =>
  Layer.effectDiscard(
    Effect.flatMap(ObjectSweep, (sweep) =>
      sweep.run.pipe(
        Effect.catch((error) => Effect.logWarning("Objects without a record could not be removed", error.message)),
        Effect.repeat(Schedule.spaced(options?.every ?? "1 hour")),
        Effect.forkScoped
      )
    )
  ).pipe(Layer.provide(layer(options)))
