import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as FileStore from "../../src/objects/FileStore.ts"
import { keyOf, ObjectStore } from "../../src/objects/ObjectStore.ts"
import * as ObjectSweep from "../../src/objects/ObjectSweep.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import * as VideoObjects from "../../src/video/VideoObjects.ts"
import { charge, layer as layerVideo, makeUpstream, payer, submit } from "../video/TestVideo.ts"

const owners = Effect.all([FileStore.objectOwner, VideoObjects.objectOwner])

const layerStores = Layer.provideMerge(FileStore.layerSql, layerVideo(makeUpstream().offers))

const layer = Layer.provideMerge(ObjectSweep.layerBackground(owners), layerStores)

const put = Effect.fnUntraced(function* (key: string) {
  yield* (yield* ObjectStore).put(key, Stream.make(new Uint8Array(3)))
  return key
})

const stored = Effect.gen(function* () {
  const objects = yield* ObjectStore
  const listed = yield* Effect.forEach(["files", "videos"], (kind) => Stream.runCollect(objects.list(kind)))
  return new Set(listed.flat().map(({ key }) => key))
})

/**
 * A recorded upload, a finished video and a video of a running job, which are kept; and objects of
 * both kinds without a record.
 */
const scene = Effect.gen(function* () {
  const files = yield* FileStore.FileStore
  const jobs = yield* VideoJobs
  const by = yield* payer()
  const fileId = yield* files.nextId
  const objectKey = yield* put(keyOf("files", fileId))
  yield* files.create({
    id: fileId,
    workspaceId: by.workspaceId,
    keyHash: by.keyHash,
    ephemeralHash: null,
    filename: "a",
    purpose: "p",
    contentType: "text/plain",
    bytes: 3,
    sha256: "00",
    objectKey
  })
  const running = (yield* jobs.start(yield* submit(by))) ?? (yield* Effect.die("not started"))
  const done = (yield* jobs.start(yield* submit(by))) ?? (yield* Effect.die("not started"))
  const doneKey = yield* put(keyOf("videos", `${done.id}-0`))
  yield* jobs.complete(done, [{ object_key: doneKey, bytes: 3, sha256: "00" }], charge)
  const failed = (yield* jobs.start(yield* submit(by))) ?? (yield* Effect.die("not started"))
  yield* jobs.fail(failed, "no")
  return {
    kept: new Set([objectKey, doneKey, yield* put(keyOf("videos", `${running.id}-0`))]),
    rubbish: [
      yield* put(keyOf("files", yield* files.nextId)),
      yield* put(keyOf("videos", `${failed.id}-0`)),
      yield* put(keyOf("videos", "video_unknown-11"))
    ]
  }
})

describe("ObjectSweep", () => {
  it.effect("removes old objects without a record, and nothing else", () =>
    Effect.gen(function* () {
      const sweep = yield* ObjectSweep.make(owners)
      const { kept, rubbish } = yield* scene
      expect(yield* sweep).toBe(0)
      expect(yield* stored).toEqual(new Set([...kept, ...rubbish]))
      yield* TestClock.setTime(Duration.toMillis(Duration.minutes(121)))
      yield* sweep
      expect(yield* stored).toEqual(kept)
      expect(yield* sweep).toBe(0)
    }).pipe(Effect.provide(layer))
  )

  it.effect("removes nothing if another database sweeps the store for the first time at the same time", () =>
    Effect.gen(function* () {
      const objects = yield* ObjectStore
      const sweep = yield* Effect.provideService(ObjectSweep.make(owners), ObjectStore, {
        ...objects,
        put: (...args) => Effect.andThen(objects.put("owner/org_another", Stream.empty), objects.put(...args))
      })
      const { kept, rubbish } = yield* scene
      yield* TestClock.setTime(Duration.toMillis(Duration.minutes(121)))
      expect((yield* Effect.flip(sweep)).message).toContain("another database")
      expect(yield* stored).toEqual(new Set([...kept, ...rubbish]))
    }).pipe(Effect.provide(layerStores))
  )

  it.effect("removes nothing from a store that another database has swept", () =>
    Effect.gen(function* () {
      const sweep = yield* ObjectSweep.make(owners)
      const { kept, rubbish } = yield* scene
      yield* put("owner/org_another")
      yield* TestClock.setTime(Duration.toMillis(Duration.minutes(121)))
      expect((yield* Effect.flip(sweep)).message).toBe(
        "The object store holds the objects of another database, so nothing is removed from it. " +
          "Each database needs a bucket, prefix or folder of its own."
      )
      expect(yield* stored).toEqual(new Set([...kept, ...rubbish]))
    }).pipe(Effect.provide(layer))
  )

  it.effect("removes nothing for a new database, which has no objects yet", () =>
    Effect.gen(function* () {
      const sweep = yield* ObjectSweep.make(owners)
      const key = yield* put("files/file_1")
      yield* TestClock.setTime(Duration.toMillis(Duration.minutes(121)))
      expect(yield* sweep).toBe(0)
      expect(yield* stored).toEqual(new Set([key]))
    }).pipe(Effect.provide(layer))
  )

  it.effect("sweeps in the background every hour", () =>
    Effect.gen(function* () {
      const { kept } = yield* scene
      yield* TestClock.adjust("1 hour")
      yield* TestClock.adjust("1 hour")
      yield* TestClock.adjust("1 hour")
      expect(yield* stored).toEqual(kept)
    }).pipe(Effect.provide(layer))
  )
})
