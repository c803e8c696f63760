import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import { keyOf, ObjectStore } from "../../src/objects/ObjectStore.ts"
import * as ObjectSweep from "../../src/objects/ObjectSweep.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import * as VideoObjects from "../../src/video/VideoObjects.ts"
import * as VideoRetention from "../../src/video/VideoRetention.ts"
import { charge, layer as layerVideo, makeUpstream, payer, submit } from "./TestVideo.ts"

const layer = (options?: GatewayServerConfig.Options) =>
  Layer.merge(layerVideo(makeUpstream().offers), GatewayServerConfig.layer(options))

const { purge } = VideoRetention

const nothing = { jobs: 0, requests: 0 }

/** A job that has come to its end, with a video of three bytes. */
const finished = Effect.gen(function* () {
  const jobs = yield* VideoJobs
  const { id, step } = yield* submit(yield* payer(100_000_000))
  yield* jobs.start({ id, step })
  const object_key = keyOf("videos", `${id}-0`)
  yield* (yield* ObjectStore).put(object_key, Stream.make(new Uint8Array(3)))
  yield* jobs.complete({ id, step: step + 1 }, [{ object_key, bytes: 3, sha256: "" }], charge)
  return { id, object_key }
})

const open = Effect.gen(function* () {
  const { id, step } = yield* submit(yield* payer(100_000_000))
  yield* (yield* VideoJobs).start({ id, step })
  return id
})

const isThere = (id: string) => Effect.flatMap(VideoJobs, (jobs) => Effect.map(jobs.find(id), (job) => job !== null))

describe("video jobs", () => {
  it.effect("are deleted with their videos after the retention, and no others are", () =>
    Effect.gen(function* () {
      const objects = yield* ObjectStore
      const first = yield* finished
      const running = yield* open
      yield* TestClock.adjust("12 hours")
      const second = yield* finished
      yield* TestClock.adjust("43199999 millis")
      expect(yield* purge).toEqual(nothing)
      yield* TestClock.adjust("1 millis")
      expect(yield* purge).toEqual({ ...nothing, jobs: 1 })
      expect(yield* Effect.forEach([first.id, second.id, running], isThere)).toEqual([false, true, true])
      yield* TestClock.adjust("90 minutes")
      yield* yield* ObjectSweep.make(Effect.all([VideoObjects.objectOwner]))
      expect((yield* Effect.flip(objects.open(first.object_key)))._tag).toBe("ObjectNotFound")
      expect((yield* objects.open(second.object_key)).bytes).toBe(3)
      // What is under way stays, however old, and can still be read by its worker.
      yield* TestClock.adjust("365 days")
      expect(yield* purge).toEqual({ ...nothing, jobs: 1 })
      expect((yield* (yield* VideoJobs).requestOf(running)).prompt).toBe("a harbor")
    }).pipe(Effect.provide(layer({ videos: { retention: GatewayServerConfig.defaults.videos.lifetime } })))
  )

  it.effect("are deleted in any number, each by its end time", () =>
    Effect.gen(function* () {
      const jobs = yield* VideoJobs
      const slow = yield* open
      const many = yield* Effect.forEach(Array.from({ length: 250 }), () => Effect.flatMap(open, jobs.find))
      for (const job of many) if (job !== null) yield* jobs.fail(job, "why")
      yield* TestClock.adjust("23 hours")
      const job = yield* jobs.find(slow)
      if (job !== null) yield* jobs.fail(job, "why")
      yield* TestClock.adjust("1 hour")
      expect(yield* purge).toEqual({ ...nothing, jobs: 250 })
      expect(yield* isThere(slow)).toBe(true)
      yield* TestClock.adjust("23 hours")
      expect(yield* purge).toEqual({ ...nothing, jobs: 1 })
    }).pipe(Effect.provide(layer({ videos: { retention: GatewayServerConfig.defaults.videos.lifetime } })))
  )

  it.effect("are kept if no retention is set", () =>
    Effect.gen(function* () {
      const { id } = yield* finished
      yield* TestClock.adjust("3650 days")
      expect(yield* purge).toEqual(nothing)
      expect(yield* isThere(id)).toBe(true)
    }).pipe(Effect.provide(layer()))
  )
})

it.effect("requests of jobs that have ended are deleted, those of open jobs are kept", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const running = yield* open
    const ended = yield* Effect.forEach(Array.from({ length: 250 }), () => finished)
    for (const { id } of ended) yield* sql`INSERT INTO video_requests (job_id, request) VALUES (${id}, '{}')`
    expect(yield* purge).toEqual({ ...nothing, requests: 250 })
    expect(yield* sql`SELECT job_id FROM video_requests`).toMatchObject([{ job_id: running }])
    expect(yield* purge).toEqual(nothing)
  }).pipe(Effect.provide(layer()))
)

it.effect("old jobs are deleted in the background, at the start and then every ten minutes", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { id } = yield* finished
    const add = sql`INSERT INTO video_requests (job_id, request) VALUES (${id}, '{}')`
    const settle = Effect.repeat(Effect.yieldNow, { times: 100 })
    const kept = Effect.andThen(
      settle,
      Effect.map(sql`SELECT job_id FROM video_requests`, (rows) => rows.length)
    )
    yield* add
    yield* Effect.gen(function* () {
      expect(yield* kept).toBe(0)
      yield* add
      yield* TestClock.adjust("9 minutes")
      expect(yield* kept).toBe(1)
      yield* TestClock.adjust("1 minute")
      expect(yield* kept).toBe(0)
    }).pipe(Effect.provide(VideoRetention.layerBackground()))
  }).pipe(Effect.provide(layer()))
)

describe("MODEL_GATEWAY_VIDEO_RETENTION", () => {
  const read = (text: string) =>
    Effect.map(
      GatewayServerConfig.config.parse(ConfigProvider.fromUnknown({ MODEL_GATEWAY_VIDEO_RETENTION: text })),
      ({ videos }) => videos.retention
    )

  it.effect("is a duration, or never", () =>
    Effect.gen(function* () {
      expect(yield* read("30 days")).toEqual(Duration.days(30))
      expect(yield* read("never")).toBeUndefined()
      for (const text of ["0 seconds", "-1 days", "soon"])
        expect((yield* Effect.flip(read(text)))._tag).toBe("ConfigError")
    })
  )
})
