/**
 * A job that is cancelled or expires while its submission has no answer, because its worker died.
 */
import { describe, expect, it } from "@effect/vitest"
import { ProviderError, Timeout, Unavailable } from "@model-gateway/offers/ProviderError"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as ObjectStore from "../../src/objects/ObjectStore.ts"
import { tokenOf as tokenOfJob, toWire } from "../../src/video/VideoJob.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import * as VideoQueue from "../../src/video/VideoQueue.ts"
import * as VideoRetention from "../../src/video/VideoRetention.ts"
import { layer as layerWorker, VideoWorker } from "../../src/video/VideoWorker.ts"
import { databases } from "../TestDatabases.ts"
import { layerAt, makeUpstream, model, payer, submit, type Upstream } from "./TestVideo.ts"
import { money, next, read, untouched } from "./TestWorker.ts"

const failing = (reason: ProviderError["reason"]) => Effect.fail(new ProviderError({ reason }))

const lost =
  "the response of the provider test was lost before the job ended. It may still make the video. It costs nothing."

/**
 * A job whose worker died after the upstream had accepted it, and that was cancelled after that.
 */
const cancelledWhileAsked = Effect.fnUntraced(function* (upstream: Upstream) {
  const jobs = yield* VideoJobs
  const by = yield* payer()
  const job = yield* submit(by)
  yield* next
  expect(yield* jobs.asking({ id: job.id, step: 1 })).toBe(true)
  upstream.jobs.set(yield* tokenOf(job.id), "up-1")
  expect((yield* jobs.cancel(by.workspaceId, job.id)).status).toBe("cancelled")
  return { by, id: job.id, jobs }
})

const tokenOf = (id: string) => Effect.map(read(id), (job) => tokenOfJob(job))

/** Delivers the message of the dead worker again. */
const redelivered = Effect.fnUntraced(function* (id: string, attempts: number = 2) {
  yield* (yield* VideoWorker).handle({ job_id: id, step: 1, failures: 0 }, attempts)
})

const requestIsThere = (id: string) =>
  Effect.flatMap(VideoJobs, (jobs) =>
    jobs.requestOf(id).pipe(
      Effect.as(true),
      Effect.catchTag("VideoJobNotFound", () => Effect.succeed(false))
    )
  )

describe.each(databases)("a video job that ends while it is submitted, on $name", ({ create }) => {
  /** One upstream, with or without an idempotency key. */
  const testing = <A, E>(
    isIdempotent: boolean,
    test: (
      upstream: Upstream
    ) => Effect.Effect<A, E, VideoWorker | VideoQueue.VideoQueue | Layer.Success<ReturnType<typeof layerAt>>>
  ) =>
    Effect.gen(function* () {
      const upstream = makeUpstream([{ ...model, isIdempotent }])
      const layer = layerAt(yield* create, [upstream.offers], VideoQueue.layerMemory, ObjectStore.layerMemory)
      return yield* Effect.provide(test(upstream), layerWorker().pipe(Layer.provideMerge(layer)))
    }).pipe(Effect.scoped)

  it.effect("is cancelled upstream by the next worker, which asks again with the same token", () =>
    testing(true, (upstream) =>
      Effect.gen(function* () {
        const { by, id } = yield* cancelledWhileAsked(upstream)
        // Its request is needed for that.
        expect(yield* VideoRetention.purge).toEqual({ jobs: 0, requests: 0 })
        yield* redelivered(id)
        expect(upstream.cancelled).toEqual(["up-1"])
        expect(upstream.jobs.size).toBe(1)
        expect(toWire(yield* read(id))).toMatchObject({ status: "cancelled" })
        expect(yield* read(id)).toMatchObject({ askedAt: null, error: null })
        expect(yield* requestIsThere(id)).toBe(false)
        expect(yield* money(by.workspaceId)).toEqual(untouched)
        yield* redelivered(id)
        expect(upstream.submissions.length).toBe(1)
      })
    )
  )

  it.effect("is cancelled upstream also when it expired, or when the upstream answers only later", () =>
    testing(true, (upstream) =>
      Effect.gen(function* () {
        const { submit: take } = upstream
        const { id } = yield* cancelledWhileAsked(upstream)
        for (const reason of [new Unavailable(), new Timeout()]) {
          upstream.submit = () => failing(reason)
          expect((yield* Effect.flip(redelivered(id)))._tag).toBe("NotResolved")
          expect(yield* requestIsThere(id)).toBe(true)
        }
        upstream.submit = take
        yield* redelivered(id, 4)
        expect(upstream.cancelled).toEqual(["up-1"])

        const jobs = yield* VideoJobs
        const second = yield* submit(yield* payer())
        yield* jobs.start(second)
        yield* jobs.asking({ id: second.id, step: 1 })
        yield* jobs.expire({ id: second.id, step: 1 })
        yield* redelivered(second.id)
        expect(upstream.cancelled).toEqual(["up-1", "up-2"])
      })
    )
  )

  it.effect("says that its answer is lost when the upstream has no idempotency key, or says nothing ten times", () =>
    Effect.gen(function* () {
      yield* testing(false, (upstream) =>
        Effect.gen(function* () {
          const { by, id } = yield* cancelledWhileAsked(upstream)
          yield* redelivered(id)
          expect([upstream.submissions, upstream.cancelled]).toEqual([[], []])
          expect(toWire(yield* read(id))).toMatchObject({ status: "cancelled", error: lost })
          expect(yield* requestIsThere(id)).toBe(false)
          expect(yield* money(by.workspaceId)).toEqual(untouched)
        })
      )
      yield* testing(true, (upstream) =>
        Effect.gen(function* () {
          const { id } = yield* cancelledWhileAsked(upstream)
          yield* redelivered(id, 11)
          expect(toWire(yield* read(id))).toMatchObject({ status: "cancelled", error: lost })
        })
      )
    })
  )

  it.effect("is asked for again when the answer to a live worker was lost", () =>
    testing(true, (upstream) =>
      Effect.gen(function* () {
        const { submit: take } = upstream
        const jobs = yield* VideoJobs
        const asked = yield* Deferred.make<void>()
        const answer = yield* Deferred.make<void>()
        upstream.submit = (submission) =>
          Effect.andThen(take(submission), Deferred.succeed(asked, undefined)).pipe(
            Effect.andThen(Deferred.await(answer)),
            Effect.andThen(failing(new Timeout()))
          )
        const by = yield* payer()
        const job = yield* submit(by)
        yield* next
        const worker = yield* Effect.forkChild(Effect.flip(redelivered(job.id, 1)))
        yield* Deferred.await(asked)
        yield* jobs.cancel(by.workspaceId, job.id)
        yield* Deferred.succeed(answer, undefined)
        expect((yield* Fiber.join(worker))._tag).toBe("NotResolved")
        upstream.submit = take
        yield* redelivered(job.id)
        expect(upstream.cancelled).toEqual(["up-1"])
      })
    )
  )

  it.effect("loses its request after an hour at the latest", () =>
    testing(true, (upstream) =>
      Effect.gen(function* () {
        const { id } = yield* cancelledWhileAsked(upstream)
        yield* TestClock.adjust(Duration.hours(1))
        expect(yield* VideoRetention.purge).toEqual({ jobs: 0, requests: 1 })
        yield* redelivered(id)
        expect(toWire(yield* read(id))).toMatchObject({ error: lost })
      })
    )
  )
})
