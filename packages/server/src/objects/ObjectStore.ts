/**
 * Stores bytes: uploaded files and finished videos. Each object is stored whole under its key or
 * not at all.
 *
 * Keys consist of the service's own identifiers (`files/file_…`, `videos/video_…-0`) and never
 * contain caller input. The database decides which objects are in use. An object without a row was
 * left behind by a crash; {@link ObjectStore}'s `list` finds it.
 *
 * `LocalObjectStore` keeps objects in a folder of this machine, `S3ObjectStore` in a bucket that
 * several machines share.
 */
import { Clock, Context, Data, Duration, Effect, Layer, Option, Stream } from "effect"
import { createHash } from "node:crypto"
import * as MonotonicTime from "../internal/MonotonicTime.ts"
import * as Readiness from "../observability/Readiness.ts"

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

/** A stored object. */
export interface ListedObject {
  readonly key: string
  /** The time since its put started or ended, by the store's clock. */
  readonly age: Duration.Duration
}

/** An object that was found. */
export interface FoundObject {
  readonly bytes: number
  /**
   * Its bytes, or a window of them. Fails if the object was removed or replaced since it was found,
   * so that bytes of two objects never mix.
   */
  readonly read: (window?: ByteWindow) => Stream.Stream<Uint8Array, ObjectNotFound | ObjectStoreError>
}

/**
 * The store failed (status 503). The reason is `full` if it has no space left; nothing of the
 * object was kept then. For everything else it is `unavailable`. `message` is for the operator, and
 * contains no path and no credentials.
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
     * atomically, once it is safely stored. A failure or an interruption leaves nothing behind.
     * Memory does not depend on the object's size.
     *
     * Fails as the content does, with {@link ObjectTooLarge} as soon as `maxBytes` is exceeded, or
     * with {@link ObjectStoreError}.
     */
    readonly put: <E, R>(
      key: string,
      content: Stream.Stream<Uint8Array, E, R>,
      options?: PutOptions
    ) => Effect.Effect<StoredObject, E | ObjectTooLarge | ObjectStoreError, R>
    /** Finds an object, to read it. */
    readonly open: (key: string) => Effect.Effect<FoundObject, ObjectNotFound | ObjectStoreError>
    /** Deletes the object. Also succeeds if there is none. */
    readonly remove: (key: string) => Effect.Effect<void, ObjectStoreError>
    /** Every object whose key starts with `<kind>/`. */
    readonly list: (kind: string) => Stream.Stream<ListedObject, ObjectStoreError>
    /**
     * Removes what is left of puts that started longer ago than `age`. Returns their number. An age
     * above {@link maxPutDuration} leaves the puts in progress alone.
     */
    readonly removeIncomplete: (age: Duration.Duration) => Effect.Effect<number, ObjectStoreError>
    /** Checks whether an object could be stored now. */
    readonly check: Effect.Effect<void, ObjectStoreError>
  }
>()("@model-gateway/server/objects/ObjectStore") {}

/**
 * A put that takes longer fails. An older object without a record therefore belongs to no put in
 * progress.
 */
export const maxPutDuration = Duration.minutes(90)

/** The kinds of objects. */
export const kinds = ["files", "videos"] as const

/** The key of an object: its kind and a name that the service made. */
export const keyOf = (kind: (typeof kinds)[number], name: string): string => `${kind}/${name}`

const keyForm = /^([a-z]{1,32})\/([\w-]{1,200})$/

/** The parts of a key. */
export interface Place {
  readonly kind: string
  readonly name: string
}

/** Nothing is stored under a malformed key, and no path is ever built from one. */
export const parse = (key: string): Option.Option<Place> => {
  const match = keyForm.exec(key)
  return match?.[1] === undefined || match[2] === undefined
    ? Option.none()
    : Option.some({ kind: match[1], name: match[2] })
}

/** Stores objects in this process's memory. For tests of code that uses the store. */
export const makeMemory = Effect.sync(() => {
  const stored = new Map<string, { readonly content: Uint8Array; readonly modifiedAt: number }>()

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
    open: (key) =>
      Effect.suspend(() => {
        const object = stored.get(key)
        if (object === undefined) return Effect.fail(new ObjectNotFound({ key }))
        const { content } = object
        return Effect.succeed({
          bytes: content.length,
          read: (window?: ByteWindow) =>
            Stream.succeed(
              window === undefined ? content : content.subarray(window.start, window.start + window.length)
            )
        })
      }),
    remove: (key) =>
      Effect.sync(() => {
        stored.delete(key)
      }),
    list: (kind) =>
      Stream.fromIterableEffect(
        Effect.map(Clock.currentTimeMillis, (now) =>
          [...stored]
            .filter(([key]) => key.startsWith(`${kind}/`))
            .map(([key, { modifiedAt }]): ListedObject => ({ key, age: Duration.millis(now - modifiedAt) }))
        )
      ),
    removeIncomplete: () => Effect.succeed(0),
    check: Effect.void
  })
})

/** Objects in this process's memory, lost when it ends. For tests. */
export const layerMemory: Layer.Layer<ObjectStore> = Layer.effect(ObjectStore, makeMemory)

/** No objects can be reached: every operation fails with this message. */
export const layerNone = (message: string): Layer.Layer<ObjectStore> => {
  const none = (operation: string) => new ObjectStoreError({ operation, reason: "unavailable", message })
  return Layer.succeed(ObjectStore, {
    put: () => Effect.fail(none("put")),
    open: () => Effect.fail(none("open")),
    remove: () => Effect.fail(none("remove")),
    list: () => Stream.fail(none("list")),
    removeIncomplete: () => Effect.fail(none("removeIncomplete")),
    check: Effect.fail(none("check"))
  })
}

/** For how long a put proves that the store works, and a failure that it does not. */
const remembered = Duration.toMillis(Duration.seconds(15))

/**
 * Remembers how the operations of a store end. Its check then writes nothing while puts succeed,
 * nor more often than every 15 seconds. And it fails for 15 seconds after an operation failed, even
 * if a probe would not: it says what callers see.
 */
export const remembering = (store: ObjectStore["Service"]): ObjectStore["Service"] => {
  let provenAt = Number.NEGATIVE_INFINITY
  let failure: { readonly at: number; readonly error: ObjectStoreError } | undefined

  const watched = <A, E, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapError(operation, (error) =>
      error instanceof ObjectStoreError
        ? Effect.map(MonotonicTime.millis, (at) => {
            failure = { at, error }
          })
        : Effect.void
    )

  const proven = Effect.map(MonotonicTime.millis, (now) => {
    provenAt = now
  })

  return ObjectStore.of({
    ...store,
    put: (key, content, options) => Effect.tap(watched(store.put(key, content, options)), () => proven),
    open: (key) => watched(store.open(key)),
    remove: (key) => watched(store.remove(key)),
    check: Effect.flatMap(MonotonicTime.millis, (now) => {
      if (failure !== undefined && now - failure.at < remembered) return Effect.fail(failure.error)
      return now - provenAt < remembered ? Effect.void : Effect.tap(store.check, () => proven)
    })
  })
}

/** The store of another layer, {@link remembering} how its operations end. */
export const layerRemembering = <E, R>(store: Layer.Layer<ObjectStore, E, R>): Layer.Layer<ObjectStore, E, R> =>
  Layer.effect(ObjectStore, Effect.map(ObjectStore, remembering)).pipe(Layer.provide(store))

/**
 * Registers the object store in the context. Without it, requests that need no file are still
 * served.
 */
export const layerReadiness: Layer.Layer<never, never, ObjectStore | Readiness.Readiness> = Readiness.layerPart(
  Effect.map(ObjectStore, ({ check }) => ({ name: "object_store", check, isRequired: false }))
)
