import { NodeServices } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, PlatformError, Stream } from "effect"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as FreeSpace from "../../src/objects/FreeSpace.ts"
import * as LocalObjectStore from "../../src/objects/LocalObjectStore.ts"
import { ObjectStore } from "../../src/objects/ObjectStore.ts"
import { temporaryFolder } from "../TestStorage.ts"
import { filesIn } from "./TestObjects.ts"

const storeIn = (folder: string, fileSystem: Layer.Layer<FileSystem.FileSystem> = NodeServices.layer) =>
  LocalObjectStore.layer(folder).pipe(
    Layer.provide(fileSystem),
    Layer.provide([NodeServices.layer, layerWebCrypto]),
    Layer.fresh
  )

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

describe("LocalObjectStore", () => {
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
          expect((yield* Effect.flip(objects.open(key)))._tag).toBe("ObjectNotFound")
          yield* objects.remove(key)
        }
        expect(yield* fs.readFileString(`${folder}/secret`)).toBe("secret")
      }).pipe(Effect.provide(NodeServices.layer))
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

  it.effect("stops before the disk is full, also while it writes, and leaves nothing behind", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      let free = 11_000_000
      let asked = 0
      const disk = Layer.succeed(FreeSpace.FreeBytes, () =>
        Effect.sync(() => {
          asked++
          return free
        })
      )
      const store = storeIn(folder).pipe(Layer.provide([disk, GatewayServerConfig.layer({ diskReserve: 10_000_000 })]))
      const put = (size: number) =>
        Effect.flatMap(ObjectStore, (objects) =>
          objects.put(
            "files/a",
            Stream.fromIterable(Array.from({ length: size }, () => new Uint8Array(100_000))).pipe(
              Stream.tap(() => Effect.sync(() => (free -= 10_000)))
            )
          )
        )
      yield* Effect.gen(function* () {
        expect((yield* put(90)).bytes).toBe(9_000_000)
        // Once at the start, then after every 4 MiB.
        expect(asked).toBe(3)
        yield* (yield* ObjectStore).remove("files/a")
        const error = yield* Effect.flip(put(1000))
        expect(error).toMatchObject({ _tag: "ObjectStoreError", reason: "full" })
        expect(error.message).toBe(
          "The disk that holds the files has less than 10000000 bytes left, which are reserved."
        )
        expect(asked).toBe(5)
        expect((yield* Effect.flip(put(1)))._tag).toBe("ObjectStoreError")
        expect(yield* Effect.flip((yield* ObjectStore).check)).toMatchObject({ reason: "full" })
        expect(yield* filesIn(folder)).toEqual([])
      }).pipe(Effect.provide(store))
    })
  )
})
