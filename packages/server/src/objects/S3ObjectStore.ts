/**
 * Objects in a bucket that speaks the S3 API, which several machines share.
 *
 * A put writes the content to files of this machine, one part at a time, and sends each part when
 * it is complete. So memory does not grow with the number of slow callers, a part can be sent
 * again, and a small object is one request. An object of several parts becomes visible when its
 * upload is completed. An upload that fails or is interrupted is aborted. The sweep aborts the
 * uploads of dead processes.
 */
import { Duration, Effect, Exit, FileSystem, Layer, Option, Pull, Result, type Scope, Semaphore, Stream } from "effect"
import { createHash } from "node:crypto"
import * as ObjectStoreUrl from "../storage/s3/ObjectStoreUrl.ts"
import * as S3Client from "../storage/s3/S3Client.ts"
import { S3Error } from "../storage/s3/S3Error.ts"
import * as DiskFailure from "./DiskFailure.ts"
import * as FreeSpace from "./FreeSpace.ts"
import {
  type ByteWindow,
  maxPutDuration,
  ObjectNotFound,
  ObjectStore,
  ObjectStoreError,
  ObjectTooLarge,
  parse,
  type PutOptions,
  type StoredObject
} from "./ObjectStore.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** Options of the store. */
export interface Options extends S3Client.Options {
  /**
   * Size of a part in bytes. An object that is not larger is stored by a single request. S3 allows
   * 10,000 parts of at least 5 MiB. Default: 8 MiB.
   */
  readonly partSize?: number | undefined
  /**
   * The maximum number of bytes of parts that this process sends at the same time, which it keeps
   * in memory. At least `partSize`. Default: 64 MiB.
   */
  readonly memory?: number | undefined
}

/** How often one read continues after its connection was lost. */
const maxContinuations = 10

const failed =
  (operation: string) =>
  ({ message, reason }: S3Error): ObjectStoreError =>
    new ObjectStoreError({ operation, reason: reason === "full" ? "full" : "unavailable", message })

const disk = "The disk for uploads in progress"

const diskFailed = DiskFailure.toStoreError("put", disk)

const slow = new S3Error({ reason: "unavailable", message: "The object store did not answer in time." })

/** A part of the content, in a file. */
interface PartFile {
  /** From 1. */
  readonly number: number
  readonly path: string
  readonly bytes: number
  readonly isLast: boolean
}

/** Makes the store over a bucket. */
export const make = Effect.fnUntraced(function* (
  location: ObjectStoreUrl.S3Location,
  options?: Options
): Effect.fn.Return<
  { readonly objects: ObjectStore["Service"]; readonly bucket: S3Client.Bucket },
  never,
  FileSystem.FileSystem | Scope.Scope
> {
  const bucket = yield* S3Client.make(location, options)
  const fs = yield* FileSystem.FileSystem
  const partSize = options?.partSize ?? 8 * 1024 * 1024
  const checkSpace = yield* FreeSpace.make(disk)
  const memory = yield* Semaphore.make(options?.memory ?? 64 * 1024 * 1024)

  /** Makes an effect that writes the next part of the content to a file of `folder`. */
  const nextPart = Effect.fnUntraced(function* <E, R>(folder: string, content: Stream.Stream<Uint8Array, E, R>) {
    const pull = yield* Stream.toPull(content)
    let unread: ReadonlyArray<Uint8Array> = []
    let number = 0

    /** Undefined at the end of the content. */
    const nextChunk = Effect.gen(function* () {
      if (unread.length === 0) unread = yield* Pull.catchDone(pull, () => Effect.succeed([]))
      const [chunk, ...others] = unread
      unread = others
      return chunk
    })

    return Effect.gen(function* () {
      number++
      const path = `${folder}/${number}`
      yield* checkSpace("put", folder)
      const file = yield* Effect.mapError(fs.open(path, { flag: "wx" }), diskFailed)
      let room = partSize
      while (room > 0) {
        const chunk = yield* nextChunk
        if (chunk === undefined) return { number, path, bytes: partSize - room, isLast: true }
        if (chunk.length > room) unread = [chunk.subarray(room), ...unread]
        const taken = chunk.subarray(0, room)
        room -= taken.length
        yield* Effect.mapError(file.writeAll(taken), diskFailed)
      }
      return { number, path, bytes: partSize, isLast: false }
    }).pipe(Effect.scoped)
  })

  /** Sends a part's bytes, and removes its file. */
  const send = <A>({ bytes, path }: PartFile, request: (body: Uint8Array) => Effect.Effect<A, S3Error>) =>
    memory.withPermits(bytes)(
      fs.readFile(path).pipe(
        Effect.mapError(diskFailed),
        Effect.flatMap((body) => Effect.mapError(request(body), failed("put"))),
        Effect.ensuring(Effect.ignore(fs.remove(path, { force: true })))
      )
    )

  /** Stores the content. An upload that is not completed is aborted. */
  const store = Effect.fnUntraced(function* <E, R>(key: string, content: Stream.Stream<Uint8Array, E, R>) {
    const folder = yield* Effect.mapError(fs.makeTempDirectoryScoped({ prefix: "put-" }), diskFailed)
    const next = yield* nextPart(folder, content)
    const first: PartFile = yield* next
    if (first.isLast) return yield* send(first, (body) => bucket.put(key, body))

    const all = Stream.concat(
      Stream.make(first),
      Stream.paginate(undefined, () =>
        Effect.map(next, (part: PartFile) => [[part], part.isLast ? Option.none() : Option.some(undefined)] as const)
      )
    )
    yield* Effect.acquireUseRelease(
      Effect.mapError(bucket.beginUpload(key), failed("put")),
      (id) =>
        all.pipe(
          // The content may end with a part.
          Stream.filter(({ bytes }) => bytes > 0),
          // While one part is sent, the next one arrives.
          Stream.mapEffect((part) => send(part, (body) => bucket.putPart(key, id, part.number, body)), {
            concurrency: 2
          }),
          Stream.runCollect,
          Effect.flatMap((parts) => Effect.mapError(bucket.completeUpload(key, id, parts), failed("put")))
        ),
      (id, exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.ignore(bucket.abortUpload(key, id)))
    )
  }, Effect.scoped)

  const put = Effect.fn("ObjectStore.put")(function* <E, R>(
    key: string,
    content: Stream.Stream<Uint8Array, E, R>,
    { maxBytes = Number.POSITIVE_INFINITY }: PutOptions = {}
  ): Effect.fn.Return<StoredObject, E | ObjectTooLarge | ObjectStoreError, R> {
    if (Option.isNone(parse(key))) return yield* Effect.die(new RangeError("The object key is malformed"))
    const hash = createHash("sha256")
    let bytes = 0
    const counted = Stream.tap(content, (chunk) => {
      bytes += chunk.length
      if (bytes > maxBytes) return Effect.fail(new ObjectTooLarge({ limit: maxBytes }))
      hash.update(chunk)
      return Effect.void
    })
    yield* store(key, counted).pipe(
      Effect.timeoutOrElse({
        duration: maxPutDuration,
        orElse: () =>
          Effect.fail(
            new ObjectStoreError({ operation: "put", reason: "unavailable", message: "The upload took too long." })
          )
      })
    )
    return { key, bytes, sha256: hash.digest("hex") }
  })

  const orMissing = (operation: string, key: string) => (error: S3Error) =>
    error.reason === "missing" ? new ObjectNotFound({ key }) : failed(operation)(error)

  /**
   * Reads from `start`, and continues at the next byte if the connection is lost. A replaced object
   * has another tag, which the store then rejects.
   */
  const readFrom = (
    key: string,
    etag: string,
    { end, start }: { readonly start: number; readonly end: number },
    continuations = 0
  ): Stream.Stream<Uint8Array, S3Error> =>
    Stream.suspend(() => {
      if (start >= end) return Stream.empty
      let offset = start
      return bucket.read(key, { start, end, etag }).pipe(
        Stream.tap((chunk) =>
          Effect.sync(() => {
            offset += chunk.length
          })
        ),
        Stream.catchTag("S3Error", (error) =>
          error.reason === "unavailable" && offset > start && continuations < maxContinuations
            ? readFrom(key, etag, { start: offset, end }, continuations + 1)
            : Stream.fail(error)
        )
      )
    })

  const open = Effect.fn("ObjectStore.open")(function* (key: string) {
    if (Option.isNone(parse(key))) return yield* new ObjectNotFound({ key })
    const { bytes, etag } = yield* Effect.mapError(bucket.head(key), orMissing("open", key))
    return {
      bytes,
      read: ({ length, start }: ByteWindow = { start: 0, length: bytes }) =>
        readFrom(key, etag, { start, end: Math.min(start + length, bytes) }).pipe(
          Stream.mapError(orMissing("read", key))
        )
    }
  })

  const remove = Effect.fn("ObjectStore.remove")(function* (key: string) {
    if (Option.isNone(parse(key))) return
    yield* Effect.mapError(bucket.remove(key), failed("remove"))
  })

  const list = (kind: string) =>
    bucket.listObjects(`${kind}/`).pipe(
      Stream.filter(({ key }) => Option.isSome(parse(key))),
      Stream.mapError(failed("list"))
    )

  const removeIncomplete = Effect.fn("ObjectStore.removeIncomplete")(
    function* (age: Duration.Duration) {
      let removed = 0
      yield* bucket.listUploads.pipe(
        Stream.filter((upload) => Option.isSome(parse(upload.key)) && Duration.isGreaterThanOrEqualTo(upload.age, age)),
        Stream.runForEach(({ key, uploadId }) => {
          removed++
          return bucket.abortUpload(key, uploadId)
        })
      )
      return removed
    },
    Effect.mapError((error) => failed("removeIncomplete")(error))
  )

  const check = Effect.mapError(bucket.check, failed("check"))

  return { objects: ObjectStore.of({ put, open, remove, list, removeIncomplete, check }), bucket }
})

/**
 * Objects in a bucket. Parts in progress are temporary files of the file system in the context.
 *
 * Fails if the bucket rejects the service: it does not exist, the credentials are wrong, or they
 * may not list it. Only warns if it cannot be reached now, because much of the service works
 * without it.
 */
export const layer = (
  location: ObjectStoreUrl.S3Location,
  options?: Options
): Layer.Layer<ObjectStore, ObjectStoreError, FileSystem.FileSystem> =>
  Layer.effect(
    ObjectStore,
    Effect.gen(function* () {
      const { bucket, objects } = yield* make(location, options)
      yield* bucket.check.pipe(
        Effect.timeoutOrElse({ duration: "10 seconds", orElse: () => Effect.fail(slow) }),
        Effect.catch(({ message, reason }) =>
          reason === "refused"
            ? Effect.fail(
                new ObjectStoreError({
                  operation: "open",
                  reason: "unavailable",
                  message: `${message.slice(0, -1)} (s3://${location.bucket}/${location.prefix}).`
                })
              )
            : LogEvent.log(
                "object_store_unavailable",
                `The object store does not work now. Files and videos wait for it: ${message}`
              )
        )
      )
      return objects
    })
  )

/** Like {@link layer}, for a URL. Throws a `RangeError` on one that is not allowed. */
export const layerUrl = (url: string): Layer.Layer<ObjectStore, ObjectStoreError, FileSystem.FileSystem> =>
  layer(
    Result.getOrThrowWith(
      ObjectStoreUrl.parse(url),
      (problem) => new RangeError(`objectStoreUrl is not ${ObjectStoreUrl.allowed}. ${problem}.`)
    )
  )
