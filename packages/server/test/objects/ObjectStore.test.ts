import { NodeServices } from "@effect/platform-node"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, type Scope, Stream } from "effect"
import type { PlatformError } from "effect/PlatformError"
import { layerWebCrypto } from "effect/crypto/SecureRandom"
import { createHash } from "node:crypto"
import { hasS3 } from "@model-gateway/test-services/S3"
import * as LocalObjectStore from "../../src/objects/LocalObjectStore.ts"
import { ObjectStore, type ObjectStoreError, keyOf } from "../../src/objects/ObjectStore.ts"
import { temporaryFolder } from "../TestStorage.ts"
import { filesIn, read, readText } from "./TestObjects.ts"
import * as TestS3 from "./TestS3.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

/** An empty store, and what it keeps: objects, and what belongs to incomplete ones. */
interface Backend {
  readonly layer: Layer.Layer<ObjectStore, ObjectStoreError>
  readonly kept: Effect.Effect<ReadonlyArray<string>>
}

let s3: TestS3.TestS3

const local: Effect.Effect<Backend, PlatformError, Scope.Scope> = Effect.map(temporaryFolder, (folder) => ({
  layer: LocalObjectStore.layer(folder).pipe(Layer.provide([NodeServices.layer, layerWebCrypto]), Layer.fresh),
  kept: Effect.orDie(filesIn(folder))
}))

const shared: Effect.Effect<Backend, PlatformError, Scope.Scope> = Effect.map(temporaryFolder, (folder) => {
  const url = s3.server.url({ prefix: TestS3.ownPrefix() })
  return {
    layer: Layer.orDie(TestS3.storeAt(url, folder)),
    kept: Effect.all([TestS3.keptAt(url), filesIn(folder)]).pipe(
      Effect.map((kept) => kept.flat()),
      Effect.orDie
    )
  }
})

const backends = [
  { name: "local", isHere: true, make: local },
  { name: "S3", isHere: hasS3(), make: shared }
]

beforeAll(async () => {
  if (hasS3()) s3 = await TestS3.start()
})

afterAll(() => s3?.stop())

describe.each(backends)("ObjectStore: $name", ({ isHere, make }) => {
  const withStore = <A, E, R>(test: (backend: Backend) => Effect.Effect<A, E, R | ObjectStore>) =>
    Effect.scoped(Effect.flatMap(make, (backend) => Effect.provide(test(backend), backend.layer)))

  it.live.runIf(isHere)("returns a stored object, with its size and hash", () =>
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
        expect((yield* objects.open(key)).bytes).toBe(12)
        expect(yield* readText(key)).toBe("hello, world")
        expect(yield* readText(key, { start: 7, length: 3 })).toBe("wor")
      })
    )
  )

  it.live.runIf(isHere)("replaces an existing object", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* objects.put("videos/a-0", Stream.make(bytes("a longer first one")))
        yield* objects.put("videos/a-0", Stream.make(bytes("second")))
        expect(yield* readText("videos/a-0")).toBe("second")
      })
    )
  )

  it.live.runIf(isHere)("reports a removed object as missing, and allows removing it again", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* objects.put("files/a", Stream.make(bytes("x")))
        yield* objects.remove("files/a")
        yield* objects.remove("files/a")
        expect((yield* Effect.flip(objects.open("files/a")))._tag).toBe("ObjectNotFound")
      })
    )
  )

  it.live.runIf(isHere)("stops at the size limit and leaves nothing behind", () =>
    withStore(({ kept }) =>
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
        expect(yield* kept).toEqual([])
      })
    )
  )

  it.live.runIf(isHere)("accepts content of exactly the size limit", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        const stored = yield* objects.put("files/a", Stream.make(new Uint8Array(10)), { maxBytes: 10 })
        expect(stored.bytes).toBe(10)
      })
    )
  )

  it.live.runIf(isHere)("leaves nothing behind when the content fails halfway, and keeps the existing object", () =>
    withStore(({ kept }) =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* objects.put("files/a", Stream.make(bytes("old")))
        const broken = Stream.concat(Stream.make(bytes("half")), Stream.fail("cut"))
        expect(yield* Effect.flip(objects.put("files/a", broken))).toBe("cut")
        expect(yield* readText("files/a")).toBe("old")
        expect((yield* kept).length).toBe(1)
      })
    )
  )

  it.live.runIf(isHere)("leaves nothing behind when it is interrupted halfway", () =>
    withStore(({ kept }) =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        const writing = yield* Deferred.make<void>()
        const stuck = Stream.concat(
          Stream.make(bytes("half")),
          Stream.fromEffect(Effect.andThen(Deferred.succeed(writing, undefined), Effect.never))
        )
        const fiber = yield* Effect.forkChild(objects.put("files/a", stuck))
        yield* Deferred.await(writing)
        expect((yield* kept).length).toBe(1)
        yield* Fiber.interrupt(fiber)
        expect(yield* kept).toEqual([])
      })
    )
  )

  it.live.runIf(isHere)("returns a large object and any window of it", () =>
    withStore(({ kept }) =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        // Three parts on S3. Its chunks end at no boundary of a part.
        const content = TestS3.pattern(2 * TestS3.partSize + 1000)
        const sha256 = createHash("sha256").update(content).digest("hex")
        const stored = yield* objects.put("videos/a-0", TestS3.chunked(content, 700_001))
        expect(stored).toEqual({ key: "videos/a-0", bytes: content.length, sha256 })
        expect(yield* kept).toHaveLength(1)
        const whole = Buffer.concat(yield* Stream.runCollect(read("videos/a-0")))
        expect(createHash("sha256").update(whole).digest("hex")).toBe(sha256)
        for (const start of [0, TestS3.partSize - 5, 2 * TestS3.partSize - 1, content.length - 10]) {
          const window = Buffer.concat(yield* Stream.runCollect(read("videos/a-0", { start, length: 10 })))
          expect(window).toEqual(Buffer.from(content.subarray(start, start + 10)))
        }
      })
    )
  )

  it.live.runIf(isHere)("leaves nothing behind of a large object that fails or is interrupted", () =>
    withStore(({ kept }) =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        const most = TestS3.chunked(TestS3.pattern(2 * TestS3.partSize + 1000))
        expect(yield* Effect.flip(objects.put("files/a", Stream.concat(most, Stream.fail("cut"))))).toBe("cut")
        expect(yield* kept).toEqual([])
        const writing = yield* Deferred.make<void>()
        const stuck = Stream.fromEffect(Effect.andThen(Deferred.succeed(writing, undefined), Effect.never))
        const fiber = yield* Effect.forkChild(objects.put("files/a", Stream.concat(most, stuck)))
        yield* Deferred.await(writing)
        expect(yield* kept).not.toEqual([])
        yield* Fiber.interrupt(fiber)
        expect(yield* kept).toEqual([])
        const limited = objects.put("files/a", most, { maxBytes: TestS3.partSize + 1 })
        expect((yield* Effect.flip(limited))._tag).toBe("ObjectTooLarge")
        expect(yield* kept).toEqual([])
      })
    )
  )

  it.live.runIf(isHere)("never mixes an object with the one that replaced it", () =>
    withStore(() =>
      Effect.gen(function* () {
        const objects = yield* ObjectStore
        yield* objects.put("files/a", Stream.make(bytes("first")))
        const found = yield* objects.open("files/a")
        yield* objects.put("files/a", Stream.make(bytes("other")))
        const error = yield* Effect.flip(Stream.runDrain(found.read()))
        expect(error.message).toBe("The object was replaced while it was read.")
        yield* objects.remove("files/a")
        expect((yield* Effect.flip(Stream.runDrain(found.read())))._tag).toBe("ObjectNotFound")
      })
    )
  )

  it.live.runIf(isHere)("lists the objects of a kind, but none that is still being written", () =>
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
