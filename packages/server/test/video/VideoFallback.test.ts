import { describe, expect, it } from "@effect/vitest"
import {
  invalidRequest,
  Overloaded,
  ProviderError,
  Timeout,
  Unauthorized,
  Unavailable
} from "@model-gateway/offers/ProviderError"
import { Deferred, Duration, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import type { VideoQueue } from "../../src/video/VideoQueue.ts"
import { nextCandidate } from "../../src/video/VideoCandidate.ts"
import { layer as layerWorker, type Options, type VideoWorker } from "../../src/video/VideoWorker.ts"
import { layer, makeUpstream, model, payer, reserving, submit as submitJob, type Upstream } from "./TestVideo.ts"
import { charged, money, next, read, untouched, work } from "./TestWorker.ts"
import * as TestLedger from "../accounting/TestLedger.ts"

const failing = (reason: ProviderError["reason"]) => Effect.fail(new ProviderError({ reason }))
const down = () => failing(new Unavailable({}))

/** The same price at the second. */
const fallbacks = [{ provider: "second", upstream_model: "test/film", credential: "gateway", cost_micro: 50_000 }]

const submit = (...[by, more]: Parameters<typeof submitJob>) => submitJob(by, { fallbacks, ...more })

/**
 * Two providers of one model, `test` and then `second`. A circuit opens for a minute after 3
 * consecutive failures.
 */
const testing = <A, E>(
  test: (
    first: Upstream,
    second: Upstream
  ) => Effect.Effect<A, E, VideoWorker | VideoQueue | Layer.Success<ReturnType<typeof layer>>>,
  options?: Options & { readonly secondPrice?: number }
) =>
  Effect.suspend(() => {
    const first = makeUpstream()
    const second = makeUpstream(
      [{ ...model, pricing: { unit: "second", microCredits: options?.secondPrice ?? 10_000 } }],
      "second"
    )
    return Effect.provide(
      test(first, second),
      layerWorker(options).pipe(
        Layer.provideMerge(layer(first.offers, second.offers)),
        Layer.provide(GatewayServerConfig.layer({ circuits: { failures: 3, openFor: Duration.minutes(1) } }))
      )
    )
  })

describe("a video job with several providers", () => {
  it.effect("goes to the next while the first is down, under another token and at that one's price", () =>
    testing(
      (first, second) =>
        Effect.gen(function* () {
          first.submit = down
          const by = yield* payer()
          const job = yield* submit(by, { fallbacks: fallbacks.map((one) => ({ ...one, cost_micro: 80_000 })) })
          expect(yield* money(by.workspaceId)).toEqual({ ...untouched, reserved: 80_000 })
          yield* work("2 seconds")
          expect(yield* read(job.id)).toMatchObject({ status: "completed", provider: "second", handle: "second-1" })
          expect(yield* money(by.workspaceId)).toEqual({ balance: 920_000, reserved: 0, rows: 1 })
          const usage = yield* TestLedger.usageOf({ workspaceId: by.workspaceId })
          expect(usage).toMatchObject([{ provider: "second", cost: 80_000 }])
          expect([first.submissions.length, second.submissions.length]).toEqual([1, 1])
          expect(second.submissions[0]?.token).not.toBe(first.submissions[0]?.token)
        }),
      { secondPrice: 16_000 }
    )
  )

  it.effect("costs the price of the first provider if that one accepts it, however expensive the others are", () =>
    testing((_, second) =>
      Effect.gen(function* () {
        const by = yield* payer()
        yield* submit(by, { fallbacks: fallbacks.map((one) => ({ ...one, cost_micro: 80_000 })) })
        yield* work("2 seconds")
        expect(yield* money(by.workspaceId)).toEqual(charged)
        expect(second.submissions).toEqual([])
      })
    )
  )

  it.effect("does not even ask one that has failed several times in a row, until a while later", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        const { submit: take } = first
        first.submit = down
        const by = yield* payer()
        for (let n = 0; n < 5; n++) {
          yield* submit(by)
          yield* work("2 seconds")
        }
        expect([first.submissions.length, second.jobs.size]).toEqual([3, 5])
        first.submit = take
        yield* TestClock.adjust("1 minute")
        const job = yield* submit(by)
        yield* work("2 seconds")
        expect(yield* read(job.id)).toMatchObject({ status: "completed", provider: "test" })
      })
    )
  )

  it.effect("waits for the only one when that one's circuit is open", () =>
    testing((first) =>
      Effect.gen(function* () {
        const { submit: take } = first
        first.submit = down
        const by = yield* payer()
        const jobs = [yield* submit(by, { fallbacks: [] }), yield* submit(by, { fallbacks: [] })]
        yield* work("20 seconds")
        expect(first.submissions.length).toBe(3)
        first.submit = take
        yield* work("2 minutes")
        for (const { id } of jobs) expect((yield* read(id)).status).toBe("completed")
        expect(first.jobs.size).toBe(2)
      })
    )
  )

  it.effect("asks them in turn, later and later, and fails when that goes on", () =>
    testing(
      (first, second) =>
        Effect.gen(function* () {
          first.submit = down
          second.submit = () => failing(new Overloaded({}))
          const by = yield* payer()
          const job = yield* submit(by)
          yield* work("500 millis")
          expect([first.submissions.length, second.submissions.length]).toEqual([1, 1])
          yield* work("1 minute")
          expect([first.submissions.length, second.submissions.length]).toEqual([2, 2])
          expect(yield* read(job.id)).toMatchObject({ status: "failed", error: "the provider is overloaded" })
          expect(yield* money(by.workspaceId)).toEqual(untouched)
        }),
      { failures: 2 }
    )
  )

  it.effect("asks one that has refused it for good no more", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        const { submit: take } = second
        first.submit = () => failing(new Unauthorized())
        second.submit = (submission) => (second.submissions.length < 3 ? down() : take(submission))
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("1 minute")
        expect([first.submissions.length, second.submissions.length]).toEqual([1, 3])
        expect(yield* read(job.id)).toMatchObject({ status: "completed", provider: "second" })
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("goes to no other provider if the input is invalid", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        first.submit = () => Effect.fail(invalidRequest("no harbors today"))
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("1 minute")
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error: "no harbors today" })
        expect(second.submissions).toEqual([])
      })
    )
  )

  it.effect("goes to the next when the first is no longer there", () =>
    testing((_, second) =>
      Effect.gen(function* () {
        const by = yield* payer()
        const job = yield* (yield* VideoJobs).submit(
          {
            owner: by,
            request: { model: "test/film", prompt: "a harbor", duration: 5 },
            candidates: [{ provider: "gone", upstream_model: "test/film", cost_micro: 50_000 }, ...fallbacks],
            callbackUrl: null,
            lifetime: Duration.hours(1)
          },
          reserving(by, 50_000)
        )
        yield* work("2 seconds")
        expect(yield* read(job.id)).toMatchObject({ status: "completed", provider: "second" })
        expect(second.jobs.size).toBe(1)
      })
    )
  )

  it.effect("stays with a provider that may have accepted it: no other is asked", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        const { submit: take } = first
        const answers = [new Timeout(), new Unavailable({}), new Overloaded({})]
        first.submit = (submission) =>
          Effect.flatMap(take(submission), (taken) => {
            const reason = answers.shift()
            return reason === undefined ? Effect.succeed(taken) : failing(reason)
          })
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("3 minutes")
        expect(yield* read(job.id)).toMatchObject({ status: "completed", provider: "test", handle: "up-1" })
        expect([first.submissions.length, first.jobs.size, second.submissions.length]).toEqual([4, 1, 0])
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("stays with the provider that was being asked when the worker died, even if it is down after that", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        const taken = yield* Deferred.make<void>()
        const { submit: take } = first
        first.submit = (submission) =>
          take(submission).pipe(Effect.andThen(Deferred.succeed(taken, undefined)), Effect.andThen(Effect.never))
        const by = yield* payer()
        const job = yield* submit(by)
        yield* next
        const worker = yield* Effect.forkChild(next)
        yield* Deferred.await(taken)
        yield* Fiber.interrupt(worker)
        first.submit = (submission) => (first.submissions.length < 3 ? down() : take(submission))
        yield* work("1 minute")
        expect(yield* read(job.id)).toMatchObject({ status: "completed", provider: "test", handle: "up-1" })
        expect([first.jobs.size, second.submissions.length]).toEqual([1, 0])
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("stays where it was accepted while its polls fail, and other jobs still go there", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        const { poll } = first
        first.poll = down
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("30 seconds")
        expect(first.polls).toBeGreaterThan(3)
        const another = yield* submit(by)
        yield* work("1 second")
        expect(yield* read(another.id)).toMatchObject({ provider: "test", handle: "up-2" })
        first.poll = poll
        yield* work("2 minutes")
        for (const { id } of [job, another]) expect((yield* read(id)).status).toBe("completed")
        expect([second.submissions.length, second.polls]).toEqual([0, 0])
      })
    )
  )
})

describe("whose turn it is", () => {
  const candidates = ["a", "b", "c"].map((provider) => ({ provider, upstream_model: "m", cost_micro: 1 }))
  const turn = (provider: string, isRefused: boolean) => {
    const found = nextCandidate({ provider, upstreamModel: "m", credential: null, candidates }, isRefused)
    return [found?.candidate.provider, found?.startsOver, found?.candidates.map((one) => one.provider).join("")]
  }

  it("goes on to the next, begins again after the last, and leaves out who has refused", () => {
    expect(turn("a", false)).toEqual(["b", false, "abc"])
    expect(turn("c", false)).toEqual(["a", true, "abc"])
    expect(turn("a", true)).toEqual(["b", false, "bc"])
    expect(turn("c", true)).toEqual(["a", true, "ab"])
    expect(
      nextCandidate({ provider: "a", upstreamModel: "m", credential: null, candidates: candidates.slice(0, 1) }, true)
    ).toBeUndefined()
  })
})
