import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import { layer as layerWorker, VideoWorker } from "../../src/video/VideoWorker.ts"
import type { VideoJob } from "../../src/video/VideoJob.ts"
import { charge, layer, makeUpstream, payer, submit } from "./TestVideo.ts"
import { read } from "./TestWorker.ts"

/** A job under way, and how many requests the database holds. */
const started = Effect.gen(function* () {
  const jobs = yield* VideoJobs
  const job = yield* submit(yield* payer())
  const moved = yield* jobs.start(job)
  return { jobs, job: moved ?? job }
})

const kept = Effect.gen(function* () {
  const sql = yield* SqlClient
  return (yield* sql`SELECT job_id FROM video_requests`).length
})

describe("what a video job was asked for", () => {
  const ends: Readonly<Record<string, (jobs: VideoJobs["Service"], job: VideoJob) => Effect.Effect<unknown, unknown>>> =
    {
      completed: (jobs, job) => jobs.complete(job, [], charge),
      failed: (jobs, job) => jobs.fail(job, "why"),
      expired: (jobs, job) => jobs.expire(job),
      cancelled: (jobs, job) => jobs.cancel(job.workspaceId, job.id)
    }
  for (const [status, end] of Object.entries(ends)) {
    it.effect(`is gone once the job is ${status}, and was there until then`, () =>
      Effect.gen(function* () {
        const { job, jobs } = yield* started
        const other = yield* submit(yield* payer())
        expect(yield* jobs.requestOf(job.id)).toMatchObject({ prompt: "a harbour" })
        yield* end(jobs, job)
        expect((yield* read(job.id)).status).toBe(status)
        expect((yield* Effect.flip(jobs.requestOf(job.id)))._tag).toBe("VideoJobNotFound")
        expect(yield* jobs.requestOf(other.id)).toMatchObject({ prompt: "a harbour" })
        expect(yield* kept).toBe(1)
      }).pipe(Effect.provide(layer(makeUpstream().offers)))
    )
  }

  it.effect("may go while a worker is about to read it: then nothing is asked of the upstream", () =>
    Effect.suspend(() => {
      const upstream = makeUpstream()
      return Effect.gen(function* () {
        const { job, jobs } = yield* started
        const racing = VideoJobs.of({
          ...jobs,
          requestOf: (id) => Effect.andThen(Effect.orDie(jobs.cancel(job.workspaceId, id)), jobs.requestOf(id))
        })
        const worker = yield* VideoWorker.pipe(
          Effect.provide(Layer.fresh(layerWorker())),
          Effect.provideService(VideoJobs, racing)
        )
        yield* worker.handle({ job_id: job.id, step: job.step, failures: 0 }, 1)
        expect(yield* read(job.id)).toMatchObject({ status: "cancelled", error: null })
        expect(upstream.submitted).toEqual([])
      }).pipe(Effect.provide(layer(upstream.offers)))
    })
  )
})
