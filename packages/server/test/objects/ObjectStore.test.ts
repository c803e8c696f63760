import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, FileSystem, Layer, PlatformError, Stream } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { createHash } from "node:crypto"
import { ObjectStore, keyOf, layerLocal } from "../../src/objects/ObjectStore.ts"
import * as ProcessFolder from "../../src/objects/ProcessFolder.ts"
import { temporaryFolder } from "../TestStorage.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const textOf = <E, R>(stream: Stream.Stream<Uint8Array, E, R>) => Stream.mkString(Stream.decodeText(stream))

/** All files in the folder and its subfolders, except locks. */
const filesIn = (folder: string) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const found: Array<string> = []
    for (const entry of yield* fs.readDirectory(folder, { recursive: true })) {
      if (entry.endsWith(`/${ProcessFolder.lockName}`)) continue
      if ((yield* fs.stat(`${folder}/${entry}`)).type === "File") found.push(entry)
    }
    return found
  }).pipe(Effect.provide(NodeServices.layer))

const storeIn = (folder: string, fileSystem: Layer.Layer<FileSystem.FileSystem> = NodeServices.layer) =>
  layerLocal(folder).pipe(Layer.provide(fileSystem), Layer.provide([NodeServices.layer, layerWebCrypto]), Layer.fresh)

const withStore = <A, E, R>(test: (folder: string) => Effect.Effect<A, E, R | ObjectStore>) =>
  Effect.flatMap(temporaryFolder, (folder) => Effect.provide(test(folder), storeIn(folder)))

/** The real file system, on a disk with room for this many bytes. */
const fullAfter = (room: number) =>
  Layer.effect(
    FileSystem.FileSystem,
    Effect.map(FileSystem.FileSystem, (fs) => {
      let left = room
      return FileSystem.make({
        ...fs,
        open: (path, options) =>
          Effect.map(
            fs.open(path, options),
            (file) =>
              new Proxy(file, {
                get: (target, property) => {
                  const found: unknown = Reflect.get(target, property, target)
                  if (property !== "writeAll") return found
                  return (chunk: Uint8Array) => {
                    left -= chunk.length
                    return left >= 0
                      ? target.writeAll(chunk)
                      : Effect.fail(
                          PlatformError.systemError({
                            _tag: "Unknown",
                            module: "FileSystem",
                            method: "writeAll",
                            cause: Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" })
                          })
                        )
                  }
                }
              })
          )
      })
    })
  ).pipe(Layer.provide(NodeServices.layer))

describe("ObjectStore", () => {
  it.effect("returns a stored object, with its size and hash", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        const key = keyOf("files", "file_1")
        const stored = yield* objects.put(key, Stream.make(bytes("hello, "), bytes("world")))
        expect(stored).toEqual({
          key,
          bytes: 12,
          sha256: createHash("sha256").update("hello, world").digest("hex")
        })
        expect(yield* objects.size(key)).toBe(12)
        expect(yield* textOf(objects.get(key))).toBe("hello, world")
        expect(yield* textOf(objects.get(key, { start: 7, length: 3 }))).toBe("wor")
      })
    )
  )

  it.effect("replaces an existing object", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* objects.put("videos/a-0", Stream.make(bytes("a longer first one")))
        yield* objects.put("videos/a-0", Stream.make(bytes("second")))
        expect(yield* textOf(objects.get("videos/a-0"))).toBe("second")
      })
    )
  )

  it.effect("reports a removed object as missing, and allows removing it again", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* objects.put("files/a", Stream.make(bytes("x")))
        yield* objects.remove("files/a")
        yield* objects.remove("files/a")
        expect((yield* Effect.flip(objects.size("files/a")))._tag).toBe("ObjectNotFound")
        expect((yield* Effect.flip(Stream.runDrain(objects.get("files/a"))))._tag).toBe("ObjectNotFound")
      })
    )
  )

  it.effect("never builds a path from a malformed key", () =>
    withStore((folder) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        yield* fs.writeFileString(`${folder}/secret`, "secret")
        const objects = yield* ObjectStore
        for (const key of [
          "../secret",
          "files/../../secret",
          "files/..",
          "secret",
          "files/a/../../secret",
          "",
          "files/"
        ]) {
          expect((yield* Effect.flip(objects.size(key)))._tag).toBe("ObjectNotFound")
          yield* objects.remove(key)
        }
        expect(yield* fs.readFileString(`${folder}/secret`)).toBe("secret")
      }).pipe(Effect.provide(NodeServices.layer))
    )
  )

  it.effect("stops at the size limit and leaves nothing behind", () =>
    withStore((folder) =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        let pulled = 0
        const endless = Stream.forever(
          Stream.fromEffect(
            Effect.sync(() => {
              pulled++
              return new Uint8Array(1000)
            })
          )
        )
        const error = yield* Effect.flip(objects.put("files/a", endless, { maxBytes: 10_000 }))
        expect(error).toMatchObject({ _tag: "ObjectTooLarge", limit: 10_000 })
        expect(pulled).toBe(11)
        expect(yield* filesIn(folder)).toEqual([])
      })
    )
  )

  it.effect("accepts content of exactly the size limit", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        const stored = yield* objects.put("files/a", Stream.make(new Uint8Array(10)), { maxBytes: 10 })
        expect(stored.bytes).toBe(10)
      })
    )
  )

  it.effect("leaves nothing behind when the content fails halfway, and keeps the existing object", () =>
    withStore((folder) =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* objects.put("files/a", Stream.make(bytes("old")))
        const broken = Stream.concat(Stream.make(bytes("half")), Stream.fail("cut"))
        expect(yield* Effect.flip(objects.put("files/a", broken))).toBe("cut")
        expect(yield* textOf(objects.get("files/a"))).toBe("old")
        expect((yield* filesIn(folder)).length).toBe(1)
      })
    )
  )

  it.effect("leaves nothing behind when it is interrupted halfway", () =>
    withStore((folder) =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        const writing = yield* Deferred.make<void>()
        const stuck = Stream.concat(
          Stream.make(bytes("half")),
          Stream.fromEffect(Effect.andThen(Deferred.succeed(writing, undefined), Effect.never))
        )
        const fiber = yield* Effect.forkChild(objects.put("files/a", stuck))
        yield* Deferred.await(writing)
        expect((yield* filesIn(folder)).length).toBe(1)
        yield* Fiber.interrupt(fiber)
        expect(yield* filesIn(folder)).toEqual([])
      })
    )
  )

  it.effect("reports a full disk and leaves nothing behind", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const put = Effect.flatMap(ObjectStore, (objects) =>
        objects.put("files/a", Stream.fromIterable(Array.from({ length: 100 }, () => new Uint8Array(1000))))
      )
      const error = yield* Effect.flip(Effect.provide(put, storeIn(folder, fullAfter(50_000))))
      expect(error).toMatchObject({ _tag: "ObjectStoreError", reason: "full" })
      expect(error.message).not.toContain(folder)
      expect(yield* filesIn(folder)).toEqual([])
    })
  )

  it.effect("lists the objects of a kind, but none that is still being written", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* objects.put("files/a1", Stream.make(bytes("x")))
        yield* objects.put("files/b2", Stream.make(bytes("x")))
        yield* objects.put("videos/c3-0", Stream.make(bytes("x")))
        const writing = yield* Deferred.make<void>()
        yield* Effect.forkChild(
          objects.put("files/d4", Stream.fromEffect(Effect.andThen(Deferred.succeed(writing, undefined), Effect.never)))
        )
        yield* Deferred.await(writing)
        const keys = (yield* Stream.runCollect(objects.list("files"))).map(({ key }) => key)
        expect(keys.toSorted()).toEqual(["files/a1", "files/b2"])
        expect(yield* Stream.runCollect(objects.list("others"))).toEqual([])
      })
    )
  )
})
