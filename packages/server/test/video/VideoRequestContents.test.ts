import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Latch, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import { layer as layerWorker, VideoWorker } from "../../src/video/VideoWorker.ts"
import type { VideoJob } from "../../src/video/VideoJob.ts"
import { charge, layer, makeUpstream, payer, submit } from "./TestVideo.ts"
import { read } from "./TestWorker.ts"

/** A job under way, and how many requests the database contains. */
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
    it.effect(`is deleted once the job is ${status}, and kept until then`, () =>
      Effect.gen(function* () {
        const { job, jobs } = yield* started
        const other = yield* submit(yield* payer())
        expect(yield* jobs.requestOf(job.id)).toMatchObject({ prompt: "a harbor" })
        yield* end(jobs, job)
        expect((yield* read(job.id)).status).toBe(status)
        expect((yield* Effect.flip(jobs.requestOf(job.id)))._tag).toBe("VideoJobNotFound")
        expect(yield* jobs.requestOf(other.id)).toMatchObject({ prompt: "a harbor" })
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

  it.effect("loses the content of its images once the upstream has accepted the job, and keeps the rest", () =>
    Effect.gen(function* () {
      const content = `data:image/png;base64,${"A".repeat(100_000)}`
      const link = { url: "https://example.com/a.png" }
      const none = { url: "data:," }
      const request = (media: { readonly url: string }) => ({
        seed: 7,
        frame_images: [
          { type: "image_url", image_url: media, frame_type: "first_frame" },
          { type: "image_url", image_url: link, frame_type: "last_frame" }
        ] as const,
        input_references: [
          { type: "image_url", image_url: media },
          { type: "audio_url", audio_url: media },
          { type: "video_url", video_url: media }
        ] as const,
        user: "someone"
      })
      const jobs = yield* VideoJobs
      const by = yield* payer()
      const job = yield* submit(by, { request: request({ url: content }) })
      const small = yield* submit(by)
      expect(yield* jobs.requestBytes(job.id)).toBeGreaterThan(400_000)
      expect(yield* jobs.openRequestBytes(by.workspaceId)).toBe(
        (yield* jobs.requestBytes(job.id)) + (yield* jobs.requestBytes(small.id))
      )
      const moved = (yield* jobs.start(job)) ?? job
      expect(yield* jobs.requestOf(job.id)).toMatchObject(request({ url: content }))
      const accepted = (yield* jobs.accepted(moved, "up-1", Duration.zero)) ?? moved
      expect(yield* jobs.requestOf(job.id)).toEqual({
        model: "test/film",
        prompt: "a harbor",
        duration: 5,
        ...request(none)
      })
      expect(yield* jobs.requestBytes(job.id)).toBeLessThan(1000)
      yield* jobs.complete(accepted, [], charge)
      expect(yield* jobs.openRequestBytes(by.workspaceId)).toBe(yield* jobs.requestBytes(small.id))
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )

  it.effect("can be read although it is beyond a bound that was added after the job was submitted", () =>
    Effect.gen(function* () {
      const { job, jobs } = yield* started
      const trace = { ["n".repeat(1000)]: "a".repeat(100_000) }
      const text = JSON.stringify({ ...(yield* jobs.requestOf(job.id)), trace })
      yield* (yield* SqlClient)`UPDATE video_requests SET request = ${text}`
      expect(yield* jobs.requestOf(job.id)).toMatchObject({ trace })
      yield* jobs.fail(job, "why")
      expect((yield* read(job.id)).status).toBe("failed")
    }).pipe(Effect.provide(layer(makeUpstream().offers)))
  )

  it.effect("takes its share of the memory for submissions, and large ones of a workspace take turns", () =>
    Effect.suspend(() => {
      const upstream = makeUpstream()
      return Effect.gen(function* () {
        const answer = yield* Latch.make()
        const { submit: accept } = upstream
        upstream.submit = (submission) => Effect.andThen(answer.await, accept(submission))
        const jobs = yield* VideoJobs
        const by = yield* payer()
        const request = { prompt: "a".repeat(4000) }
        const all = yield* Effect.replicateEffect(submit(by, { request }), 3)
        const moved = yield* Effect.forEach(all, (job) => Effect.map(jobs.start(job), (next) => next ?? job))
        const worker = yield* VideoWorker.pipe(Effect.provide(Layer.fresh(layerWorker({ submissionBytes: 10_000 }))))
        const working = yield* Effect.forkChild(
          Effect.forEach(moved, (job) => worker.handle({ job_id: job.id, step: job.step, failures: 0 }, 1), {
            concurrency: "unbounded"
          })
        )
        yield* Effect.repeat(Effect.yieldNow, { times: 200 })
        expect(upstream.submitted).toHaveLength(1)
        yield* answer.open
        yield* Fiber.join(working)
        expect(upstream.submitted).toHaveLength(3)
      }).pipe(Effect.provide(layer(upstream.offers)))
    })
  )
})
