/**
 * Objects in a folder of this machine: `<dir>/<kind>/<two characters>/<name>`. A partial object is
 * written to this process's folder below `<dir>/.partial`. That is on the same file system, so that
 * a rename publishes the object.
 */
import { Clock, Duration, Effect, FileSystem, Layer, Option, Stream } from "effect"
import * as ByteSize from "effect/ByteSize"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { Path } from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type { Scope } from "effect/Scope"
import { createHash } from "node:crypto"
import { syncFolder } from "../internal/syncFolder.ts"
import * as DiskFailure from "./DiskFailure.ts"
import * as FreeSpace from "./FreeSpace.ts"
import {
  type ByteWindow,
  keyOf,
  kinds,
  type ListedObject,
  ObjectNotFound,
  ObjectStore,
  ObjectStoreError,
  ObjectTooLarge,
  parse,
  type Place,
  type PutOptions,
  type StoredObject
} from "./ObjectStore.ts"
import * as ProcessFolder from "./ProcessFolder.ts"

const disk = "The disk that holds the files"

const failed = (operation: string) => DiskFailure.toStoreError(operation, disk)

const replaced = new ObjectStoreError({
  operation: "read",
  reason: "unavailable",
  message: "The object was replaced while it was read."
})

/** Whether both are of the same file. A put creates a new file. */
const isSame = (one: FileSystem.File.Info, other: FileSystem.File.Info): boolean =>
  Option.getOrNull(one.ino) === Option.getOrNull(other.ino) &&
  Option.getOrNull(one.mtime)?.getTime() === Option.getOrNull(other.mtime)?.getTime() &&
  one.size === other.size

const isMissing = (error: PlatformError): boolean => error.reason._tag === "NotFound"

/** Larger than what file systems store inline, so that it needs a free block. */
const probe = new Uint8Array(65_536)

/** Makes the store over a folder. */
export const make = Effect.fnUntraced(function* (
  dir: string
): Effect.fn.Return<ObjectStore["Service"], ObjectStoreError, FileSystem.FileSystem | Path | SecureRandom | Scope> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path
  const random = yield* SecureRandom
  const checkSpace = yield* FreeSpace.make(disk)
  const partials = yield* Effect.mapError(ProcessFolder.make(path.join(dir, ".partial")), failed("open"))

  // The last two random digits spread entries evenly over folders, because the first digits are a
  // timestamp. Video names also end in `-` and an index.
  const folderOf = ({ kind, name }: Place) => path.join(dir, kind, name.replace(/-\d+$/, "").slice(-2))

  const fileOf = (key: string) => Option.map(parse(key), (place) => path.join(folderOf(place), place.name))

  /** A name for a partial object. Closing the scope removes the file. */
  const partialFile = Effect.acquireRelease(
    Effect.map(random.uuidV4(), (id) => path.join(partials, id)),
    (partial) => Effect.ignore(fs.remove(partial, { force: true }))
  )

  const write = Effect.fnUntraced(function* <E, R>(
    partial: string,
    content: Stream.Stream<Uint8Array, E, R>,
    { maxBytes = Number.POSITIVE_INFINITY }: PutOptions
  ): Effect.fn.Return<Omit<StoredObject, "key">, E | ObjectTooLarge | ObjectStoreError, R | Scope> {
    const hash = createHash("sha256")
    const file = yield* fs.open(partial, { flag: "wx" }).pipe(Effect.mapError(failed("put")))
    let bytes = 0
    let unchecked = 0
    yield* checkSpace("put", partials)
    yield* Stream.runForEach(content, (chunk): Effect.Effect<void, ObjectTooLarge | ObjectStoreError> => {
      bytes += chunk.length
      unchecked += chunk.length
      if (bytes > maxBytes) return Effect.fail(new ObjectTooLarge({ limit: maxBytes }))
      hash.update(chunk)
      const written = Effect.mapError(file.writeAll(chunk), failed("put"))
      if (unchecked < FreeSpace.checkedEvery) return written
      unchecked = 0
      return Effect.andThen(checkSpace("put", partials), written)
    })
    yield* Effect.mapError(file.sync, failed("put"))
    return { bytes, sha256: hash.digest("hex") }
  })

  const put = Effect.fn("ObjectStore.put")(function* <E, R>(
    key: string,
    content: Stream.Stream<Uint8Array, E, R>,
    options?: PutOptions
  ) {
    const place = parse(key)
    if (Option.isNone(place)) return yield* Effect.die(new RangeError("The object key is malformed"))
    const folder = folderOf(place.value)
    return yield* Effect.scoped(
      Effect.gen(function* () {
        const partial = yield* partialFile
        const written = yield* Effect.scoped(write(partial, content, options ?? {}))
        yield* fs
          .makeDirectory(folder, { recursive: true })
          .pipe(Effect.andThen(fs.rename(partial, path.join(folder, place.value.name))), Effect.mapError(failed("put")))
        yield* syncFolder(fs, folder)
        return { key, ...written }
      })
    )
  })

  const located = (key: string) =>
    Option.match(fileOf(key), {
      onNone: () => Effect.fail(new ObjectNotFound({ key })),
      onSome: Effect.succeed
    })

  const orMissing = (operation: string, key: string) => (error: PlatformError) =>
    isMissing(error) ? new ObjectNotFound({ key }) : failed(operation)(error)

  const open = Effect.fn("ObjectStore.open")(function* (key: string) {
    const file = yield* located(key)
    const stat = fs.stat(file).pipe(Effect.mapError(orMissing("open", key)))
    const found = yield* stat
    const read = (window?: ByteWindow) =>
      Stream.unwrap(
        Effect.map(stat, (now) =>
          isSame(found, now)
            ? fs
                .stream(
                  file,
                  window === undefined
                    ? undefined
                    : { offset: ByteSize.bytes(window.start), bytesToRead: ByteSize.bytes(window.length) }
                )
                .pipe(Stream.mapError(orMissing("read", key)))
            : Stream.fail(replaced)
        )
      )
    return { bytes: ByteSize.toNumberUnsafe(found.size), read }
  })

  const remove = Effect.fn("ObjectStore.remove")(function* (key: string) {
    const file = fileOf(key)
    if (Option.isNone(file)) return
    yield* fs.remove(file.value, { force: true }).pipe(Effect.mapError(failed("remove")))
  })

  const entries = (folder: string) =>
    fs.readDirectory(folder).pipe(
      Effect.catchIf(isMissing, () => Effect.succeed([])),
      Effect.mapError(failed("list"))
    )

  const ageOf = (file: string, now: number) =>
    fs.stat(file).pipe(
      Effect.map((info) => Option.map(info.mtime, (time) => Duration.millis(Math.max(0, now - time.getTime())))),
      // The object was deleted after the folder was read.
      Effect.catchIf(isMissing, () => Effect.succeed(Option.none<Duration.Duration>())),
      Effect.mapError(failed("list"))
    )

  const list = (kind: string) =>
    Stream.fromIterableEffect(entries(path.join(dir, kind))).pipe(
      Stream.flatMap((shard) =>
        Stream.fromIterableEffect(entries(path.join(dir, kind, shard))).pipe(
          Stream.mapEffect((name) =>
            Effect.gen(function* () {
              const age = yield* ageOf(path.join(dir, kind, shard, name), yield* Clock.currentTimeMillis)
              return Option.map(age, (age): ListedObject => ({ key: `${kind}/${name}`, age }))
            })
          )
        )
      ),
      Stream.filter(Option.isSome),
      Stream.map((listed) => listed.value)
    )

  // The folder of a dead process is removed by the next process to start.
  const removeIncomplete = () => Effect.succeed(0)

  /**
   * Stores an object of each kind and removes it. So it fails where an upload or a video would: on a
   * full disk, and if any of the folders is missing and cannot be created, or is read-only.
   */
  const check = Effect.forEach(
    kinds,
    (kind) =>
      Effect.flatMap(random.uuidV4(), (id) => {
        const key = keyOf(kind, `probe-${id}`)
        return Effect.ensuring(put(key, Stream.make(probe)), Effect.ignore(remove(key)))
      }),
    { discard: true }
  ).pipe(Effect.catchTag("ObjectTooLarge", () => Effect.void))

  return ObjectStore.of({ put, open, remove, list, removeIncomplete, check })
})

/** Objects in a folder of this machine. The folder is created if it does not exist. */
export const layer = (
  dir: string
): Layer.Layer<ObjectStore, ObjectStoreError, FileSystem.FileSystem | Path | SecureRandom> =>
  Layer.effect(ObjectStore, make(dir))
