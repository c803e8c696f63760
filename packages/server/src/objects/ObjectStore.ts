/**
 * Stores bytes: uploaded files and finished videos. Each object is stored whole under its key or
 * not at all.
 *
 * Keys consist of the service's own identifiers (`files/file_…`, `videos/video_…-0`) and never
 * contain caller input. The database decides which objects are in use. An object without a row was
 * left behind by a crash; {@link ObjectStore}'s `list` finds it.
 *
 * The interface needs nothing that S3 cannot do: whole puts, ranged gets, listing by prefix.
 */
import { Clock, Context, Data, Effect, Layer, Option, Stream } from "effect"
import * as ByteSize from "effect/ByteSize"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { FileSystem } from "effect/FileSystem"
import { Path } from "effect/Path"
import type { PlatformError } from "effect/PlatformError"
import type { Scope } from "effect/Scope"
import { createHash } from "node:crypto"
import * as Readiness from "../observability/Readiness.ts"
import * as ProcessFolder from "./ProcessFolder.ts"

/** The result of a put. */
export interface StoredObject {
  readonly key: string
  readonly bytes: number
  /** SHA-256 of the bytes in lowercase hex. */
  readonly sha256: string
}

/** Options of a put. */
export interface PutOptions {
  /** Default: no limit. */
  readonly maxBytes?: number | undefined
}

/** A window of an object: `length` bytes from offset `start`. */
export interface ByteWindow {
  readonly start: number
  readonly length: number
}

/** An object that the store holds. */
export interface ListedObject {
  readonly key: string
  /** Epoch milliseconds. */
  readonly modifiedAt: number
}

/**
 * The store failed (status 503). `full`: no space left, and nothing of the object was kept.
 * `unavailable`: any other failure. `message` contains no path.
 */
export class ObjectStoreError extends Data.TaggedError("ObjectStoreError")<{
  readonly operation: string
  readonly reason: "full" | "unavailable"
  readonly message: string
  readonly cause?: unknown
}> {}

/** No object has this key. */
export class ObjectNotFound extends Data.TaggedError("ObjectNotFound")<{ readonly key: string }> {
  override readonly message = "There is no such object."
}

/** The content exceeds the limit (status 413). Nothing of the object was kept. */
export class ObjectTooLarge extends Data.TaggedError("ObjectTooLarge")<{ readonly limit: number }> {
  override get message(): string {
    return `More than ${this.limit} bytes.`
  }
}

/** The object store. */
export class ObjectStore extends Context.Service<
  ObjectStore,
  {
    /**
     * Stores a whole object under the key and replaces an existing one. The object becomes visible
     * atomically, once it is safely on disk. A failure or an interruption leaves nothing behind.
     * Fails as the content does, with {@link ObjectTooLarge} as soon as `maxBytes` is exceeded, or
     * with {@link ObjectStoreError}.
     */
    readonly put: <E, R>(
      key: string,
      content: Stream.Stream<Uint8Array, E, R>,
      options?: PutOptions
    ) => Effect.Effect<StoredObject, E | ObjectTooLarge | ObjectStoreError, R>
    /** The object's size in bytes. */
    readonly size: (key: string) => Effect.Effect<number, ObjectNotFound | ObjectStoreError>
    /** The object's bytes, or a window of them. */
    readonly get: (key: string, window?: ByteWindow) => Stream.Stream<Uint8Array, ObjectNotFound | ObjectStoreError>
    /** Deletes the object. Also succeeds if there is none. */
    readonly remove: (key: string) => Effect.Effect<void, ObjectStoreError>
    /** Every object whose key starts with `<kind>/`. */
    readonly list: (kind: string) => Stream.Stream<ListedObject, ObjectStoreError>
    /** Checks whether an object could be stored now. */
    readonly check: Effect.Effect<void, ObjectStoreError>
  }
>()("@model-gateway/server/objects/ObjectStore") {}

/** The key of an object: its kind (`files` or `videos`) and a name that the service made. */
export const keyOf = (kind: "files" | "videos", name: string): string => `${kind}/${name}`

const keyForm = /^([a-z]{1,32})\/([\w-]{1,200})$/

interface Place {
  readonly kind: string
  readonly name: string
}

/** Nothing is stored under a malformed key, and no path is ever built from one. */
const parse = (key: string): Option.Option<Place> => {
  const match = keyForm.exec(key)
  return match?.[1] === undefined || match[2] === undefined
    ? Option.none()
    : Option.some({ kind: match[1], name: match[2] })
}

const full = new Set(["ENOSPC", "EDQUOT", "EFBIG"])

const codeOf = (error: PlatformError): string | undefined => {
  const cause = error.reason.cause
  return typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string"
    ? cause.code
    : undefined
}

const failed = (operation: string) => (error: PlatformError) => {
  const isFull = full.has(codeOf(error) ?? "")
  return new ObjectStoreError({
    operation,
    reason: isFull ? "full" : "unavailable",
    message: isFull ? "The disk that holds the files is full." : "The store of files did not answer as expected.",
    cause: error
  })
}

const isMissing = (error: PlatformError): boolean => error.reason._tag === "NotFound"

/** Larger than what file systems keep beside a file's name, so that it needs a free block. */
const probe = new Uint8Array(65_536)

/**
 * Stores objects in a local folder: `<dir>/<kind>/<two characters>/<name>`. A partial object is
 * written to this process's folder below `<dir>/.partial`. That is on the same file system, so that
 * a rename publishes the object.
 */
export const makeLocal = Effect.fnUntraced(function* (
  dir: string
): Effect.fn.Return<ObjectStore["Service"], ObjectStoreError, FileSystem | Path | SecureRandom | Scope> {
  const fs = yield* FileSystem
  const path = yield* Path
  const random = yield* SecureRandom
  const partials = yield* Effect.mapError(ProcessFolder.make(path.join(dir, ".partial")), failed("open"))

  // The last two random digits spread entries evenly over folders, because the first digits are a
  // timestamp. Video names also end in `-` and an index.
  const folderOf = ({ kind, name }: Place) => path.join(dir, kind, name.replace(/-\d+$/, "").slice(-2))

  const fileOf = (key: string) => Option.map(parse(key), (place) => path.join(folderOf(place), place.name))

  /**
   * Without this, a power failure can undo a rename that was reported as done. Not every platform
   * can open a folder.
   */
  const syncFolder = (folder: string) =>
    Effect.ignore(Effect.scoped(Effect.flatMap(fs.open(folder, { flag: "r" }), (file) => file.sync)))

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
    yield* Stream.runForEach(content, (chunk): Effect.Effect<void, ObjectTooLarge | ObjectStoreError> => {
      bytes += chunk.length
      if (bytes > maxBytes) return Effect.fail(new ObjectTooLarge({ limit: maxBytes }))
      hash.update(chunk)
      return Effect.mapError(file.writeAll(chunk), failed("put"))
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
        yield* syncFolder(folder)
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

  const size = Effect.fn("ObjectStore.size")(function* (key: string) {
    const file = yield* located(key)
    const info = yield* fs.stat(file).pipe(Effect.mapError(orMissing("size", key)))
    return ByteSize.toNumberUnsafe(info.size)
  })

  const get = (key: string, window?: ByteWindow) =>
    Stream.unwrap(
      Effect.map(located(key), (file) =>
        fs
          .stream(
            file,
            window === undefined
              ? undefined
              : { offset: ByteSize.bytes(window.start), bytesToRead: ByteSize.bytes(window.length) }
          )
          .pipe(Stream.mapError(orMissing("get", key)))
      )
    )

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

  const modifiedAt = (file: string) =>
    fs.stat(file).pipe(
      Effect.map((info) => Option.map(info.mtime, (time) => time.getTime())),
      // The object was deleted after the folder was read.
      Effect.catchIf(isMissing, () => Effect.succeed(Option.none<number>())),
      Effect.mapError(failed("list"))
    )

  const list = (kind: string) =>
    Stream.fromIterableEffect(entries(path.join(dir, kind))).pipe(
      Stream.flatMap((shard) =>
        Stream.fromIterableEffect(entries(path.join(dir, kind, shard))).pipe(
          Stream.mapEffect((name) =>
            Effect.map(
              modifiedAt(path.join(dir, kind, shard, name)),
              Option.map((time): ListedObject => ({ key: `${kind}/${name}`, modifiedAt: time }))
            )
          )
        )
      ),
      Stream.filter(Option.isSome),
      Stream.map((listed) => listed.value)
    )

  /** Writes a file and deletes it, which detects a full disk and a missing or read-only folder. */
  const check = Effect.scoped(Effect.flatMap(partialFile, (partial) => write(partial, Stream.make(probe), {}))).pipe(
    Effect.catchTag("ObjectTooLarge", () => Effect.void),
    Effect.asVoid
  )

  return ObjectStore.of({ put, size, get, remove, list, check })
})

/**
 * Objects in a folder of this machine, made when missing.
 *
 * @example
 * ```ts
 * import { NodeFileSystem, NodePath } from "@effect/platform-node"
 * import { Layer } from "effect"
 * import { SecureRandom } from "effect/crypto"
 * import * as ObjectStore from "@model-gateway/server/objects/ObjectStore"
 *
 * const Objects = ObjectStore.layerLocal(".data/objects").pipe(
 *   Layer.provide([NodeFileSystem.layer, NodePath.layer, SecureRandom.layerWebCrypto])
 * )
 * ```
 */
export const layerLocal = (dir: string): Layer.Layer<ObjectStore, ObjectStoreError, FileSystem | Path | SecureRandom> =>
  Layer.effect(ObjectStore, makeLocal(dir))

/** Stores objects in this process's memory. For tests of code that uses the store. */
export const makeMemory = Effect.sync(() => {
  const stored = new Map<string, { readonly content: Uint8Array; readonly modifiedAt: number }>()

  const found = (key: string) =>
    Effect.suspend(() => {
      const object = stored.get(key)
      return object === undefined ? Effect.fail(new ObjectNotFound({ key })) : Effect.succeed(object.content)
    })

  return ObjectStore.of({
    put: Effect.fnUntraced(function* <E, R>(
      key: string,
      content: Stream.Stream<Uint8Array, E, R>,
      options?: PutOptions
    ): Effect.fn.Return<StoredObject, E | ObjectTooLarge, R> {
      const limit = options?.maxBytes ?? Number.POSITIVE_INFINITY
      const chunks: Array<Uint8Array> = []
      let bytes = 0
      yield* Stream.runForEach(content, (chunk): Effect.Effect<void, ObjectTooLarge> => {
        bytes += chunk.length
        chunks.push(chunk)
        return bytes > limit ? Effect.fail(new ObjectTooLarge({ limit })) : Effect.void
      })
      const whole = Buffer.concat(chunks)
      stored.set(key, { content: whole, modifiedAt: yield* Clock.currentTimeMillis })
      return { key, bytes, sha256: createHash("sha256").update(whole).digest("hex") }
    }),
    size: (key) => Effect.map(found(key), (content) => content.length),
    get: (key, window) =>
      Stream.fromEffect(
        Effect.map(found(key), (content) =>
          window === undefined ? content : content.subarray(window.start, window.start + window.length)
        )
      ),
    remove: (key) =>
      Effect.sync(() => {
        stored.delete(key)
      }),
    list: (kind) =>
      Stream.suspend(() =>
        Stream.fromIterable(
          [...stored]
            .filter(([key]) => key.startsWith(`${kind}/`))
            .map(([key, { modifiedAt }]): ListedObject => ({ key, modifiedAt }))
        )
      ),
    check: Effect.void
  })
})

/** Objects in this process's memory, lost when it ends. For tests. */
export const layerMemory: Layer.Layer<ObjectStore> = Layer.effect(ObjectStore, makeMemory)

/**
 * Registers the object store in the context. Without it, requests that need no file are still
 * served.
 */
export const layerReadiness: Layer.Layer<never, never, ObjectStore | Readiness.Readiness> = Readiness.layerPart(
  Effect.map(ObjectStore, ({ check }) => ({ name: "object_store", check, isRequired: false }))
)
