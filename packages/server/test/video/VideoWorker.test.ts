import { describe, expect, it } from "@effect/vitest"
import type { VideoStatus } from "@model-gateway/offers/Video"
import {
  BadResponse,
  invalidRequest,
  Overloaded,
  ProviderError,
  RateLimited,
  Unauthorized,
  Unavailable
} from "@model-gateway/offers/ProviderError"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Deferred, Duration, Effect, Fiber, Layer, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as TestLedger from "../accounting/TestLedger.ts"
import * as HostNames from "../../src/outbound/HostNames.ts"
import { ObjectStore, ObjectStoreError } from "../../src/objects/ObjectStore.ts"
import { StorageError } from "../../src/storage/sql/StorageError.ts"
import { toWire } from "../../src/video/VideoJob.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import type { VideoQueue } from "../../src/video/VideoQueue.ts"
import { backoff } from "../../src/video/RetryDecision.ts"
import { pollDelay } from "../../src/video/VideoPolling.ts"
import { layer as layerWorker, type Options, VideoWorker } from "../../src/video/VideoWorker.ts"
import { layer, makeUpstream, payer, submit, type Upstream } from "./TestVideo.ts"
import { charged, logged, reserved, money, next, read, untouched, work } from "./TestWorker.ts"

const failing = (reason: ProviderError["reason"]) => Effect.fail(new ProviderError({ reason }))

const testing = <A, E>(
  test: (upstream: Upstream) => Effect.Effect<A, E, VideoWorker | VideoQueue | Layer.Success<ReturnType<typeof layer>>>,
  options?: Options
) =>
  Effect.suspend(() => {
    const upstream = makeUpstream()
    return Effect.provide(test(upstream), layerWorker(options).pipe(Layer.provideMerge(layer(upstream.offers))))
  })

describe("VideoWorker", () => {
  it.effect("fetches links with the look-ups of the job's workspace", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const owners: Array<string> = []
        upstream.content = () =>
          Stream.fromEffect(
            Effect.map(HostNames.Owner, (owner) => {
              owners.push(owner)
              return new TextEncoder().encode("video")
            })
          )
        yield* submit(by)
        for (const _ of ["start", "submit", "fetch"]) yield* next
        expect(owners).toEqual([by.workspaceId])
      })
    )
  )

  it.effect("takes a job up, submits it, follows it, and keeps what came out", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by, { request: { trace: { span_name: "film" } } })
        yield* next
        expect(yield* read(job.id)).toMatchObject({ status: "in_progress", generationId: null })
        yield* next
        expect(yield* read(job.id)).toMatchObject({
          status: "in_progress",
          generationId: job.reservationId,
          handle: "up-1"
        })
        expect(yield* money(by.workspaceId)).toEqual(reserved)
        yield* next
        const done = yield* read(job.id)
        expect(done).toMatchObject({ status: "completed", outputs: [{ bytes: 7 }] })
        expect(yield* money(by.workspaceId)).toEqual(charged)
        expect(yield* logged(by.workspaceId)).toMatchObject({ errorMessage: null, trace: { span_name: "film" } })
        const objects = yield* ObjectStore
        const content = (yield* objects.open(done.outputs[0]?.object_key ?? "")).read()
        expect(yield* Stream.mkString(Stream.decodeText(content))).toBe("video 0")
        expect(upstream.submitted.length).toBe(1)
      })
    )
  )

  it.effect("sends the provider what it needs and nothing else", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        yield* submit(yield* payer(), {
          request: {
            resolution: "720p",
            user: "someone",
            trace: { trace_id: "t" },
            callback_url: "https://example.com/hook",
            provider: { only: ["test"], options: { test: { style: "noir" }, other: { secret: "x" } } }
          }
        })
        yield* next
        yield* next
        expect(upstream.submitted).toEqual([
          { prompt: "a harbor", duration: 5, resolution: "720p", options: { style: "noir" } }
        ])
      })
    )
  )

  it.effect("calls the offer with the credential that the job was submitted with, and the upstream's own handle", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const handle = { region: "eu", ids: ["a", 7] }
        const polled: Array<unknown> = []
        upstream.submit = () => Effect.succeed(handle)
        upstream.poll = (asked) => {
          polled.push(asked)
          return Effect.succeed({ status: "completed", outputs: 1 })
        }
        const job = yield* submit(yield* payer())
        yield* work("1 second")
        expect(yield* read(job.id)).toMatchObject({ status: "completed", credential: "gateway", handle })
        expect(polled).toEqual([handle])
        expect([...new Set(upstream.credentials)]).toEqual(["gateway"])
      })
    )
  )

  it.effect("fails a job whose credential was deleted, without a call", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by, { credential: "revoked" })
        yield* work("1 second")
        expect(yield* read(job.id)).toMatchObject({
          status: "failed",
          error: "the provider test no longer has the model, or the gateway no longer has its credential"
        })
        expect(upstream.submitted).toEqual([])
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect("charges what the upstream reports, not what it was expected to", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const charge = { cost: MicroCredits.make(41_000), usage: { seconds: 4.1, videos: 1 } }
        upstream.poll = () => Effect.succeed({ status: "completed", outputs: 1, charge })
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("1 second")
        expect(toWire(yield* read(job.id)).usage).toEqual({ cost: 0.041, is_byok: false })
        expect(yield* money(by.workspaceId)).toEqual({ balance: 959_000, reserved: 0, rows: 1 })
        const usage = yield* TestLedger.usageOf({ workspaceId: by.workspaceId })
        expect(usage).toMatchObject([{ cost: 41_000, usage: { seconds: 4.1, videos: 1 } }])
      })
    )
  )

  it.effect("keeps several videos of one job", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.poll = () => Effect.succeed({ status: "completed", outputs: 3 })
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("1 second")
        expect((yield* read(job.id)).outputs.length).toBe(3)
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect.each([
    [invalidRequest("the prompt is not allowed"), "the prompt is not allowed", "the provider refused the request"],
    [
      new ProviderError({ reason: new Unauthorized() }),
      "the provider rejected the gateway's credentials",
      "the provider rejected the gateway's credentials"
    ]
  ] as const)("fails a job that the upstream refuses for good, and gives the money back", ([error, why, kept]) =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.submit = () => Effect.fail(error)
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("1 second")
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error: why, generationId: null })
        expect(yield* logged(by.workspaceId)).toMatchObject({ errorMessage: kept })
        expect(yield* money(by.workspaceId)).toEqual(untouched)
        expect(upstream.submitted.length).toBe(1)
      })
    )
  )

  it.effect("submits again while the upstream has no room, and fails the job when that goes on", () =>
    testing(
      (upstream) =>
        Effect.gen(function* () {
          upstream.submit = () => failing(new Overloaded({}))
          const by = yield* payer()
          const job = yield* submit(by)
          yield* work("2 minutes")
          expect(upstream.submitted.length).toBe(4)
          expect(yield* read(job.id)).toMatchObject({ status: "failed", error: "the provider is overloaded" })
          expect(yield* money(by.workspaceId)).toEqual(untouched)
        }),
      { failures: 4 }
    )
  )

  it.effect("submits again, as the same job, when the upstream took it and gave no answer in time", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const { submit: take } = upstream
        upstream.submit = (submission) =>
          Effect.flatMap(take(submission), (taken) =>
            upstream.submissions.length === 1 ? Effect.never : Effect.succeed(taken)
          )
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("2 minutes")
        expect(upstream.submissions.length).toBe(2)
        expect(upstream.jobs.size).toBe(1)
        expect(yield* read(job.id)).toMatchObject({ status: "completed", handle: "up-1" })
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("submits again, as the same job, when it was stopped while the upstream was answering", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const taken = yield* Deferred.make<void>()
        const { submit: take } = upstream
        upstream.submit = (submission) =>
          take(submission).pipe(Effect.andThen(Deferred.succeed(taken, undefined)), Effect.andThen(Effect.never))
        const by = yield* payer()
        const job = yield* submit(by)
        yield* next
        const worker = yield* Effect.forkChild(next)
        yield* Deferred.await(taken)
        yield* Fiber.interrupt(worker)
        expect(yield* read(job.id)).toMatchObject({ status: "in_progress", handle: null })
        upstream.submit = take
        yield* work("1 minute")
        expect(upstream.submissions.length).toBe(2)
        expect(upstream.jobs.size).toBe(1)
        expect(yield* read(job.id)).toMatchObject({ status: "completed", handle: "up-1" })
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("submits again, as the same job, when what the upstream accepted could not be recorded", () =>
    Effect.gen(function* () {
      const upstream = makeUpstream()
      let lost = 0
      const forgetful = Layer.effect(
        VideoJobs,
        Effect.map(VideoJobs, (jobs) => ({
          ...jobs,
          accepted: (...args: Parameters<typeof jobs.accepted>) =>
            Effect.suspend(() =>
              lost++ === 0
                ? Effect.fail(new StorageError({ operation: "test", message: "the disk is away", retryable: true }))
                : jobs.accepted(...args)
            )
        }))
      )
      yield* Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by)
        yield* next
        expect((yield* Effect.flip(next))._tag).toBe("StorageError")
        yield* work("1 minute")
        expect(lost).toBe(2)
        expect(upstream.jobs.size).toBe(1)
        expect(yield* read(job.id)).toMatchObject({ status: "completed", handle: "up-1" })
        expect(yield* money(by.workspaceId)).toEqual(charged)
      }).pipe(Effect.provide(layerWorker().pipe(Layer.provide(forgetful), Layer.provideMerge(layer(upstream.offers)))))
    })
  )

  it.effect("gives every job a token of its own, which fits in a header and tells nothing secret", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const jobs = [yield* submit(by), yield* submit(by)]
        yield* work("1 minute")
        const tokens = upstream.submissions.map(({ token }) => token)
        expect(new Set(tokens).size).toBe(2)
        expect(tokens.map((token) => token.slice(0, 38)).toSorted()).toEqual(jobs.map(({ id }) => id).toSorted())
        for (const token of tokens) {
          expect(token).toMatch(/^[\w-]{1,64}$/)
          expect(token).not.toContain(by.keyHash.slice(0, 16))
        }
      })
    )
  )

  it.effect("bears with an upstream that fails for a while half-way", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const answers: Array<Effect.Effect<VideoStatus, ProviderError>> = [
          failing(new Unavailable({})),
          Effect.succeed({ status: "in_progress", progress: 0.5 }),
          failing(new BadResponse({ description: "nonsense" })),
          failing(new RateLimited({ retryAfter: Duration.seconds(20) }))
        ]
        upstream.poll = () => answers.shift() ?? Effect.succeed({ status: "completed", outputs: 1 })
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("10 seconds")
        expect(yield* read(job.id)).toMatchObject({ status: "in_progress", progress: 0.5 })
        yield* work("30 seconds")
        expect(yield* read(job.id)).toMatchObject({ status: "completed" })
        expect(yield* money(by.workspaceId)).toEqual(charged)
        expect(upstream.submitted.length).toBe(1)
      })
    )
  )

  it.effect("fails a job that failed upstream, with the upstream's reason", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.poll = () => Effect.succeed({ status: "failed", message: "no such harbor" })
        const by = yield* payer()
        const job = yield* submit(by, { request: { trace: { trace_id: "harbor-7", tenant: "acme" } } })
        yield* work("1 second")
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error: "no such harbor" })
        expect(yield* logged(by.workspaceId)).toMatchObject({
          errorMessage: "the provider could not make the video",
          trace: { trace_id: "harbor-7" }
        })
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect("hands a long render back to the queue and asks more seldom", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.poll = () => Effect.succeed({ status: "in_progress" })
        const job = yield* submit(yield* payer())
        yield* work("30 seconds")
        const early = upstream.polls
        expect(early).toBeGreaterThan(30)
        const step = (yield* read(job.id)).step
        yield* work("10 minutes")
        const late = upstream.polls - early
        expect(late).toBeGreaterThan(50)
        expect(late).toBeLessThan(300)
        expect((yield* read(job.id)).step).toBeGreaterThan(step)
        upstream.poll = () => Effect.succeed({ status: "completed", outputs: 1 })
        yield* work("15 seconds")
        expect((yield* read(job.id)).status).toBe("completed")
      })
    )
  )

  it.effect("does nothing for a message that comes a second time", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const worker = yield* VideoWorker
        upstream.poll = () => Effect.succeed({ status: "in_progress" })
        const job = yield* submit(yield* payer())
        yield* next
        yield* next
        expect(upstream.submitted.length).toBe(1)
        const before = yield* read(job.id)
        for (const step of [0, 1]) yield* worker.handle({ job_id: job.id, step, failures: 0 }, 2)
        expect(upstream.submitted.length).toBe(1)
        expect(upstream.polls).toBe(0)
        expect(yield* read(job.id)).toEqual(before)
      })
    )
  )

  it.effect("cancels a running job at once, upstream too, and gives the money back", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        upstream.poll = () => Effect.succeed({ status: "in_progress", progress: 0.1 })
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("5 seconds")
        expect((yield* jobs.cancel(by.workspaceId, job.id)).status).toBe("cancelled")
        expect(yield* money(by.workspaceId)).toEqual(untouched)
        yield* work("1 second")
        expect(upstream.cancelled).toEqual(["up-1"])
        expect((yield* jobs.cancel(by.workspaceId, job.id)).status).toBe("cancelled")
        upstream.poll = () => Effect.succeed({ status: "completed", outputs: 1 })
        yield* work("1 minute")
        expect((yield* read(job.id)).status).toBe("cancelled")
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect("cancels upstream a job that was cancelled while it was being submitted", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        const asked = yield* Deferred.make<void>()
        const answer = yield* Deferred.make<void>()
        upstream.submit = () =>
          Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(answer)), Effect.as("up-late"))
        const by = yield* payer()
        const job = yield* submit(by)
        yield* next
        const fiber = yield* Effect.forkChild(next)
        yield* Deferred.await(asked)
        yield* jobs.cancel(by.workspaceId, job.id)
        yield* Deferred.succeed(answer, undefined)
        yield* Fiber.join(fiber)
        expect(upstream.cancelled).toEqual(["up-late"])
        expect((yield* read(job.id)).status).toBe("cancelled")
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect("keeps nothing of a video whose job was cancelled while it was fetched", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        const fetching = yield* Deferred.make<void>()
        const rest = yield* Deferred.make<void>()
        upstream.content = () =>
          Stream.concat(
            Stream.make(new Uint8Array(10)),
            Stream.fromEffect(
              Deferred.succeed(fetching, undefined).pipe(
                Effect.andThen(Deferred.await(rest)),
                Effect.as(new Uint8Array(10))
              )
            )
          )
        const by = yield* payer()
        const job = yield* submit(by)
        yield* next
        yield* next
        const fiber = yield* Effect.forkChild(next)
        yield* Deferred.await(fetching)
        yield* jobs.cancel(by.workspaceId, job.id)
        yield* Deferred.succeed(rest, undefined)
        yield* Fiber.join(fiber)
        expect((yield* read(job.id)).status).toBe("cancelled")
        const objects = yield* ObjectStore
        expect(yield* Stream.runCollect(objects.list("videos"))).toEqual([])
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect("expires a job whose time is over, cancels it upstream and gives the money back", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const worker = yield* VideoWorker
        upstream.poll = () => Effect.succeed({ status: "in_progress" })
        const by = yield* payer()
        const job = yield* submit(by, { lifetime: Duration.hours(24) })
        const waiting = yield* submit(by, { lifetime: Duration.hours(25) })
        yield* work("10 seconds")
        yield* TestClock.adjust("23 hours")
        yield* worker.expireOverdue
        expect((yield* read(job.id)).status).toBe("in_progress")
        yield* TestClock.adjust("1 hour")
        yield* worker.expireOverdue
        expect((yield* read(job.id)).status).toBe("expired")
        expect((yield* read(waiting.id)).status).toBe("in_progress")
        expect(yield* money(by.workspaceId)).toEqual(reserved)
        yield* work("1 second")
        expect(upstream.cancelled).toEqual([(yield* read(job.id)).handle])
      })
    )
  )

  it.effect("expires a job by itself when its turn comes after its deadline", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by, { lifetime: Duration.seconds(1) })
        yield* TestClock.adjust("2 seconds")
        yield* next
        expect((yield* read(job.id)).status).toBe("expired")
        expect(upstream.submitted).toEqual([])
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect("fetches again what broke off", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        let tries = 0
        upstream.content = () => {
          tries++
          return tries === 1
            ? Stream.concat(Stream.make(new Uint8Array(3)), Stream.fromEffect(failing(new Unavailable({}))))
            : Stream.make(new Uint8Array(9))
        }
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("10 seconds")
        expect(yield* read(job.id)).toMatchObject({ status: "completed", outputs: [{ bytes: 9 }] })
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("fails a job whose video cannot be stored, after some time", () =>
    Effect.gen(function* () {
      const upstream = makeUpstream()
      const full = Layer.effect(
        ObjectStore,
        Effect.map(ObjectStore, (objects) => ({
          ...objects,
          put: () => Effect.fail(new ObjectStoreError({ operation: "put", reason: "full", message: "full" }))
        }))
      )
      yield* Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("1 hour")
        expect(yield* read(job.id)).toMatchObject({
          status: "failed",
          error: "the finished video could not be stored: the gateway has no room left"
        })
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      }).pipe(Effect.provide(layerWorker().pipe(Layer.provide(full), Layer.provideMerge(layer(upstream.offers)))))
    })
  )

  it.effect("gives up a job whose message was delivered too often", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const worker = yield* VideoWorker
        const by = yield* payer()
        const job = yield* submit(by)
        yield* next
        yield* worker.handle({ job_id: job.id, step: 1, failures: 0 }, 11)
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error: "the job was given up after 10 attempts" })
        expect(upstream.submitted).toEqual([])
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it("waits longer the older a job is, and the oftener its upstream failed", () => {
    const seconds = [0, 10, 60, 10_000].map((age) => Duration.toSeconds(pollDelay(Duration.seconds(age))))
    expect(seconds).toEqual([0.25, 0.25, 1.5, 5])
    expect([1, 2, 3, 7, 40].map((failures) => Duration.toSeconds(backoff(failures)))).toEqual([1, 2, 4, 60, 60])
    expect(Duration.toSeconds(backoff(1, Duration.seconds(30)))).toBe(30)
    expect(Duration.toSeconds(backoff(1, Duration.hours(30)))).toBe(600)
  })
})
