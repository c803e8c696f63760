import { describe, expect, it } from "@effect/vitest"
import {
  BadResponse,
  ConnectionLost,
  Overloaded,
  ProviderError,
  Timeout,
  Unavailable
} from "@model-gateway/offers/ProviderError"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { StorageError } from "../../src/storage/sql/StorageError.ts"
import { toWire } from "../../src/video/VideoJob.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import type { VideoQueue } from "../../src/video/VideoQueue.ts"
import { layer as layerWorker, type VideoWorker } from "../../src/video/VideoWorker.ts"
import { layer, makeUpstream, model, payer, submit as submitJob, type Upstream } from "./TestVideo.ts"
import { charged, reserved, money, next, read, untouched, work } from "./TestWorker.ts"

const failing = (reason: ProviderError["reason"]) => Effect.fail(new ProviderError({ reason }))

const lost =
  "the response of the provider test was lost. It may have taken the job, so the job was not submitted again. It costs nothing."

const fallbacks = [{ provider: "second", upstream_model: "test/film", credential: "gateway", cost_micro: 50_000 }]

/**
 * Two providers of one model, `test` and then `second`, neither of which has an idempotency key.
 */
const testing = <A, E>(
  test: (
    first: Upstream,
    second: Upstream
  ) => Effect.Effect<A, E, VideoWorker | VideoQueue | Layer.Success<ReturnType<typeof layer>>>
) =>
  Effect.suspend(() => {
    const first = makeUpstream([{ ...model, isIdempotent: false }])
    const second = makeUpstream([{ ...model, isIdempotent: false }], "second")
    return Effect.provide(
      test(first, second),
      layerWorker().pipe(Layer.provideMerge(layer(first.offers, second.offers)))
    )
  })

/**
 * The job failed because of the lost answer, nothing is charged, and the upstreams were asked this
 * often.
 */
const expectLost = Effect.fnUntraced(function* (
  by: { readonly workspaceId: string },
  id: string,
  asked: { readonly first: readonly [Upstream, number]; readonly second: Upstream }
) {
  expect(toWire(yield* read(id))).toMatchObject({ status: "failed", error: lost })
  expect(yield* money(by.workspaceId)).toEqual(untouched)
  expect([asked.first[0].submissions.length, asked.second.submissions.length]).toEqual([asked.first[1], 0])
})

describe("a video job at an upstream without an idempotency key", () => {
  it.effect.each([
    ["no answer in time", new Timeout()],
    ["a connection that breaks", new ConnectionLost()],
    ["an invalid response", new BadResponse({ description: "not JSON" })]
  ] as const)("fails on %s, costs nothing and goes to no other provider", ([, reason]) =>
    testing((first, second) =>
      Effect.gen(function* () {
        first.submit = () => failing(reason)
        const by = yield* payer()
        const job = yield* submitJob(by, { fallbacks })
        yield* work("3 minutes")
        yield* expectLost(by, job.id, { first: [first, 1], second })
      })
    )
  )

  it.effect("fails when the upstream is silent", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        first.submit = () => Effect.never
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* work("3 minutes")
        yield* expectLost(by, job.id, { first: [first, 1], second })
      })
    )
  )

  it.effect.each([
    ["several providers", fallbacks],
    ["one provider", []]
  ] as const)("with %s fails when a process died while it was being submitted", ([, others]) =>
    testing((first, second) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        const by = yield* payer()
        const job = yield* submitJob(by, { fallbacks: others })
        yield* next
        // What a process that died during the call has left behind.
        expect(yield* jobs.asking({ id: job.id, step: 1 })).toBe(true)
        expect(yield* read(job.id)).toMatchObject({ status: "in_progress", handle: null, askedAt: 0 })
        expect(yield* money(by.workspaceId)).toEqual(reserved)
        yield* work("1 minute")
        yield* expectLost(by, job.id, { first: [first, 0], second })
      })
    )
  )

  it.effect("is recorded as asked before the upstream is called, even if no other provider offers the model", () =>
    testing((first) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        let seen: number | null | undefined
        const { submit: take } = first
        const by = yield* payer()
        const job = yield* submitJob(by)
        first.submit = (submission) =>
          jobs.find(job.id).pipe(
            Effect.orDie,
            Effect.tap((row) =>
              Effect.sync(() => {
                seen = row?.askedAt
              })
            ),
            Effect.andThen(take(submission))
          )
        yield* work("1 second")
        expect(seen).toBe(0)
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("fails when what the upstream accepted could not be recorded", () =>
    Effect.gen(function* () {
      const upstream = makeUpstream([{ ...model, isIdempotent: false }])
      const forgetful = Layer.effect(
        VideoJobs,
        Effect.map(VideoJobs, (jobs) => ({
          ...jobs,
          accepted: () =>
            Effect.fail(new StorageError({ operation: "test", message: "the disk is away", retryable: true }))
        }))
      )
      yield* Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* next
        expect((yield* Effect.flip(next))._tag).toBe("StorageError")
        yield* work("1 minute")
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error: lost })
        expect(upstream.submissions.length).toBe(1)
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      }).pipe(Effect.provide(layerWorker().pipe(Layer.provide(forgetful), Layer.provideMerge(layer(upstream.offers)))))
    })
  )

  it.effect("goes to the next provider on a definite rejection, and back to the first", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        const { submit: take } = first
        first.submit = (submission) =>
          first.submissions.length === 1 ? failing(new Unavailable({})) : take(submission)
        second.submit = () => failing(new Overloaded({}))
        const by = yield* payer()
        const job = yield* submitJob(by, { fallbacks })
        yield* work("1 minute")
        expect(yield* read(job.id)).toMatchObject({ status: "completed", provider: "test" })
        expect([first.submissions.length, second.submissions.length]).toEqual([2, 1])
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("is submitted again to the only provider after a definite rejection", () =>
    testing((first) =>
      Effect.gen(function* () {
        const { submit: take } = first
        first.submit = (submission) => (first.submissions.length < 3 ? failing(new Overloaded({})) : take(submission))
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* work("1 minute")
        expect(yield* read(job.id)).toMatchObject({ status: "completed" })
        expect(first.submissions.length).toBe(3)
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("waits for the only provider while its circuit is open", () =>
    testing((first) =>
      Effect.gen(function* () {
        const { submit: take } = first
        first.submit = () => failing(new Unavailable({}))
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* work("40 seconds")
        expect((yield* read(job.id)).status).toBe("in_progress")
        first.submit = take
        yield* work("10 minutes")
        expect((yield* read(job.id)).status).toBe("completed")
        expect(first.jobs.size).toBe(1)
      })
    )
  )

  it.effect("is recorded when its worker is stopped shortly before the upstream answers", () =>
    testing((first) =>
      Effect.gen(function* () {
        const asked = yield* Deferred.make<void>()
        const answer = yield* Deferred.make<void>()
        const { submit: take } = first
        first.submit = (submission) =>
          Deferred.succeed(asked, undefined).pipe(
            Effect.andThen(Deferred.await(answer)),
            Effect.andThen(take(submission))
          )
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* next
        const worker = yield* Effect.forkChild(next)
        yield* Deferred.await(asked)
        const stopping = yield* Effect.forkChild(Fiber.interrupt(worker))
        yield* TestClock.adjust("4 seconds")
        yield* Deferred.succeed(answer, undefined)
        yield* Fiber.join(stopping)
        expect(yield* read(job.id)).toMatchObject({ status: "in_progress", handle: "up-1" })
        yield* work("1 minute")
        expect(yield* read(job.id)).toMatchObject({ status: "completed" })
        expect(first.submissions.length).toBe(1)
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("fails when its worker is stopped and the upstream does not answer in the next seconds", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        const asked = yield* Deferred.make<void>()
        first.submit = () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* next
        const worker = yield* Effect.forkChild(next)
        yield* Deferred.await(asked)
        const stopping = yield* Effect.forkChild(Fiber.interrupt(worker))
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(stopping)
        yield* work("1 minute")
        yield* expectLost(by, job.id, { first: [first, 1], second })
      })
    )
  )
})

describe("a video job at an upstream that has to be asked whether it has an idempotency key", () => {
  /** One provider, which says of itself what the effect returns. */
  const asking = <A, E>(
    isIdempotent: Effect.Effect<boolean>,
    test: (
      upstream: Upstream
    ) => Effect.Effect<A, E, VideoWorker | VideoQueue | Layer.Success<ReturnType<typeof layer>>>
  ) =>
    Effect.suspend(() => {
      const upstream = makeUpstream([{ ...model, isIdempotent }])
      return Effect.provide(test(upstream), layerWorker().pipe(Layer.provideMerge(layer(upstream.offers))))
    })

  /** The answer to the first submission is lost. */
  const loseFirst = (upstream: Upstream) => {
    const { submit: take } = upstream
    upstream.submit = (submission) =>
      upstream.submissions.length === 1
        ? Effect.andThen(take(submission), failing(new ConnectionLost()))
        : take(submission)
  }

  it.effect("is submitted again with the same token if it has one, and is one job", () => {
    const asked = { count: 0 }
    const isIdempotent = Effect.sync(() => {
      asked.count++
      return true
    })
    return asking(isIdempotent, (upstream) =>
      Effect.gen(function* () {
        loseFirst(upstream)
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* work("1 minute")
        expect((yield* read(job.id)).status).toBe("completed")
        expect([upstream.submissions.length, new Set(upstream.submissions.map(({ token }) => token)).size]).toEqual([
          2, 1
        ])
        expect([upstream.jobs.size, asked.count]).toEqual([1, 2])
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  })

  it.effect("fails if it has none, or does not say", () =>
    asking(Effect.succeed(false), (upstream) =>
      Effect.gen(function* () {
        loseFirst(upstream)
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* work("1 minute")
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error: lost })
        expect(upstream.submissions.length).toBe(1)
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect("fails when all processes were down for so long that the upstream may have forgotten the key", () =>
    asking(Effect.succeed(true), (upstream) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        const by = yield* payer()
        const job = yield* submitJob(by)
        yield* next
        expect(yield* jobs.asking({ id: job.id, step: 1 })).toBe(true)
        yield* TestClock.adjust("23 hours")
        yield* TestClock.adjust("1 minute")
        yield* work("1 minute")
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error: lost })
        expect(upstream.submissions.length).toBe(0)
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )
})
