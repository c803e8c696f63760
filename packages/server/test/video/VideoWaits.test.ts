import { expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, type Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { TestClock } from "effect/testing"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import type { VideoJob } from "../../src/video/VideoJob.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import * as VideoWaits from "../../src/video/VideoWaits.ts"
import { layer, makeUpstream, payer, submit } from "./TestVideo.ts"

interface Reads {
  jobs: number
  states: number
  /** Reads of jobs that the database has not answered. */
  open: number
}

/** The polls, and how often they have read jobs. */
const counted = Effect.gen(function* () {
  const jobs = yield* VideoJobs
  const reads: Reads = { jobs: 0, states: 0, open: 0 }
  const counting = VideoJobs.of({
    ...jobs,
    find: (id) =>
      Effect.suspend(() => {
        reads.jobs++
        reads.open++
        return Effect.ensuring(
          jobs.find(id),
          Effect.sync(() => reads.open--)
        )
      }),
    states: (ids) => Effect.tap(jobs.states(ids), () => Effect.sync(() => reads.states++))
  })
  const waits = yield* Effect.provideService(VideoWaits.make, VideoJobs, counting)
  return { jobs, reads, waits }
})

/** Lets other fibers run. The database answers in real time. */
const turn = Effect.promise(() => new Promise(setImmediate))

/** Lets this many seconds pass. The jobs are read in each of them, and the reads end in it. */
const pass = Effect.fnUntraced(function* (reads: Readonly<Reads>, seconds: number) {
  for (let second = 0; second < seconds; second++) {
    const before = reads.states
    yield* TestClock.adjust("1 second")
    while (reads.states === before) yield* turn
    // The jobs that have changed are read next, and then the wait for the next second begins.
    yield* turn
    while (reads.open > 0) yield* turn
    yield* turn
  }
})

/** Starts to wait for the job, until it changes. */
const poll = (waits: VideoWaits.VideoWaits["Service"], job: VideoJob, end: Effect.Effect<unknown> = Effect.never) =>
  Effect.forkChild(waits.changed(job, end), { startImmediately: true })

const test = <A, E>(effect: Effect.Effect<A, E, Layer.Success<ReturnType<typeof layer>> | Scope.Scope>) =>
  effect.pipe(Effect.scoped, Effect.provide(layer(makeUpstream().offers)))

it.effect("reads the jobs of all polls once a second, and a change once for all polls", () =>
  test(
    Effect.gen(function* () {
      const { jobs, reads, waits } = yield* counted
      const by = yield* payer()
      const [job, other] = [yield* submit(by), yield* submit(by)]
      const polls = yield* Effect.forEach(Array.from({ length: 300 }), () => poll(waits, job))
      const others = yield* Effect.forEach(Array.from({ length: 300 }), () => poll(waits, other))
      yield* pass(reads, 10)
      expect(reads).toEqual({ states: 10, jobs: 0, open: 0 })
      yield* jobs.cancel(by.workspaceId, job.id)
      const answers = yield* Effect.forEach(polls, (fiber) => Fiber.join(fiber))
      expect(new Set(answers.map((answer) => answer?.status))).toEqual(new Set(["cancelled"]))
      expect(reads).toEqual({ states: 11, jobs: 1, open: 0 })
      expect(others.every((fiber) => fiber.pollUnsafe() === undefined)).toBe(true)
    })
  )
)

it.effect("reads nothing while nobody waits", () =>
  test(
    Effect.gen(function* () {
      const { jobs, reads, waits } = yield* counted
      const by = yield* payer()
      const job = yield* submit(by)
      yield* Fiber.interrupt(yield* poll(waits, job))
      yield* TestClock.adjust("10 seconds")
      yield* jobs.cancel(by.workspaceId, job.id)
      expect(reads).toEqual({ states: 0, jobs: 0, open: 0 })
    })
  )
)

it.effect("sees within a second what another process changes, and that a job is gone", () =>
  test(
    Effect.gen(function* () {
      const { reads, waits } = yield* counted
      const by = yield* payer()
      const [expired, deleted] = [yield* submit(by), yield* submit(by)]
      const polls = [yield* poll(waits, expired), yield* poll(waits, deleted)]
      const sql = yield* SqlClient
      yield* sql`UPDATE video_jobs SET status = 'expired', step = step + 1 WHERE id = ${expired.id}`
      yield* sql`DELETE FROM video_requests WHERE job_id = ${deleted.id}`
      yield* sql`DELETE FROM video_jobs WHERE id = ${deleted.id}`
      yield* pass(reads, 1)
      const answers = yield* Effect.forEach(polls, (fiber) => Fiber.join(fiber))
      expect(answers.map((answer) => answer?.status)).toEqual(["expired", undefined])
    })
  )
)

it.effect("has the newest progress when the time is over, and misses no change that came before it", () =>
  test(
    Effect.gen(function* () {
      const { jobs, reads, waits } = yield* counted
      const submitted = yield* submit(yield* payer())
      const job = yield* Effect.fromNullishOr(yield* jobs.start(submitted))
      const ending = yield* poll(waits, job, Effect.sleep("3 seconds"))
      yield* poll(waits, job)
      yield* jobs.progress(job, 0.5)
      yield* pass(reads, 3)
      expect(yield* Fiber.join(ending)).toMatchObject({ status: "in_progress", progress: 0.5 })
      // This poll has read the job before it started, and began to wait after the other one knew.
      expect(yield* waits.changed(submitted, Effect.never)).toMatchObject({ status: "in_progress", progress: 0.5 })
    })
  )
)

it.effect("fails only the polls of a job whose row cannot be read", () =>
  test(
    Effect.gen(function* () {
      const { jobs, reads, waits } = yield* counted
      const by = yield* payer()
      const [broken, job] = [yield* submit(by), yield* submit(by)]
      const ofBroken = yield* poll(waits, broken)
      const ofJob = yield* poll(waits, job)
      const sql = yield* SqlClient
      yield* sql`UPDATE video_jobs SET outputs = '?', step = step + 1 WHERE id = ${broken.id}`
      yield* pass(reads, 1)
      expect(Exit.isFailure(yield* Fiber.await(ofBroken))).toBe(true)
      yield* jobs.cancel(by.workspaceId, job.id)
      expect(yield* Fiber.join(ofJob)).toMatchObject({ status: "cancelled" })
    })
  )
)

it.effect("has places for a number of polls of each key, and of all keys", () =>
  test(
    Effect.gen(function* () {
      const { waits } = yield* counted
      const enter = (key: string) => waits.enter(key)
      const first = yield* Effect.scoped(Effect.forEach(["a", "a", "a", "b", "b"], (key) => enter(key)))
      expect(first).toEqual([true, true, false, true, false])
      expect(yield* Effect.scoped(enter("b"))).toBe(true)
    }).pipe(Effect.provide(GatewayServerConfig.layer({ videos: { waits: 3, waitsPerKey: 2 } })))
  )
)
