import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Data, Effect, FileSystem, Stream } from "effect"
import { VideoStore } from "../../src/Program.ts"
import * as FileVideoStore from "../../src/terminal/FileVideoStore.ts"

class Broken extends Data.TaggedError("Broken") {}

const save = <E>(path: string, bytes: Stream.Stream<Uint8Array, E>) =>
  Effect.gen(function* () {
    const store = yield* VideoStore
    return yield* store.save(bytes)
  }).pipe(Effect.provide(FileVideoStore.layer(path)))

describe("the video's file", () => {
  it.effect("contains the downloaded bytes", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const path = `${folder}/video.mp4`
      const saved = yield* save(path, Stream.make(new Uint8Array([1, 2]), new Uint8Array([3])))
      assert.deepStrictEqual(saved, { location: path, bytes: 3 })
      assert.deepStrictEqual(Array.from(yield* fs.readFile(path)), [1, 2, 3])
      assert.deepStrictEqual(yield* fs.readDirectory(folder), ["video.mp4"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("stays unchanged if the download fails", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const path = `${folder}/video.mp4`
      yield* fs.writeFileString(path, "the last one")
      const torn = Stream.concat(Stream.make(new Uint8Array([1])), Stream.fail(new Broken()))
      const error = yield* Effect.flip(save(path, torn))
      assert.strictEqual(error._tag, "Broken")
      assert.strictEqual(yield* fs.readFileString(path), "the last one")
      assert.deepStrictEqual(yield* fs.readDirectory(folder), ["video.mp4"])
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("fails with its path if it cannot be written", () =>
    Effect.gen(function* () {
      const path = "/nowhere/at/all/video.mp4"
      const error = yield* Effect.flip(save(path, Stream.make(new Uint8Array([1]))))
      assert.strictEqual(error._tag, "VideoNotSaved")
      assert.strictEqual(error.location, path)
    }).pipe(Effect.provide(NodeServices.layer))
  )
})
