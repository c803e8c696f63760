import { describe, expect, it } from "@effect/vitest"
import {
  BadResponse,
  ProviderError,
  RateLimited,
  Unauthorized,
  Unavailable,
  UnknownModel
} from "@model-gateway/offers/ProviderError"
import { Clock, Duration, Effect, Layer, Stream } from "effect"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import type { VideoQueue } from "../../src/video/VideoQueue.ts"
import { pollDelay } from "../../src/video/VideoPolling.ts"
import { layer as layerWorker, type Options, type VideoWorker } from "../../src/video/VideoWorker.ts"
import { layer, makeUpstream, model, payer, submit, type Upstream } from "./TestVideo.ts"
import { charged, money, read, untouched, work } from "./TestWorker.ts"

const failing = (reason: ProviderError["reason"]) => Effect.fail(new ProviderError({ reason }))

const testing = <A, E>(
  test: (upstream: Upstream) => Effect.Effect<A, E, VideoWorker | VideoQueue | Layer.Success<ReturnType<typeof layer>>>,
  { pollInterval, ...options }: Options & { readonly pollInterval?: Duration.Duration } = {}
) =>
  Effect.suspend(() => {
    const upstream = makeUpstream([{ ...model, ...(pollInterval === undefined ? {} : { pollInterval }) }])
    return Effect.provide(test(upstream), layerWorker(options).pipe(Layer.provideMerge(layer(upstream.offers))))
  })

/** Answers polls as told, and returns the times of the polls in seconds. */
const recording = (upstream: Upstream, poll: Upstream["poll"]) => {
  const times: Array<number> = []
  upstream.poll = (handle) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      times.push(now / 1000)
      return poll(handle)
    })
  return times
}

const gaps = (times: ReadonlyArray<number>) => times.slice(1).map((time, index) => time - (times[index] ?? 0))

describe("polling a video job", () => {
  it.effect("asks no more often than the offer allows, whether the upstream answers or not", () =>
    testing(
      (upstream) =>
        Effect.gen(function* () {
          let polls = 0
          const times = recording(upstream, () =>
            ++polls % 3 === 0 ? failing(new Unavailable({})) : Effect.succeed({ status: "in_progress" })
          )
          yield* submit(yield* payer())
          yield* work("2 minutes")
          expect(times.length).toBeGreaterThan(15)
          expect(Math.min(...gaps(times))).toBeGreaterThanOrEqual(5)
        }),
      { pollInterval: Duration.seconds(5) }
    )
  )

  it.effect("waits as long as the upstream says", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const times = recording(upstream, () =>
          Effect.succeed({ status: "in_progress", retryAfter: Duration.seconds(20) })
        )
        yield* submit(yield* payer())
        yield* work("2 minutes")
        expect(times.length).toBeGreaterThan(3)
        expect(Math.min(...gaps(times))).toBeGreaterThanOrEqual(20)
      })
    )
  )

  it.effect("varies the time between polls of jobs that were submitted together", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const times = recording(upstream, () => Effect.succeed({ status: "in_progress" }))
        yield* submit(yield* payer())
        yield* work("10 minutes")
        const late = gaps(times.filter((time) => time > 300))
        expect(new Set(late.map((gap) => Math.round(gap * 1000))).size).toBeGreaterThan(2)
        expect(Math.min(...late)).toBeGreaterThanOrEqual(5)
      })
    )
  )

  it.effect("waits while the upstream limits the rate of polls, and does not give up the job", () =>
    testing(
      (upstream) =>
        Effect.gen(function* () {
          const times = recording(upstream, () => failing(new RateLimited({ retryAfter: Duration.seconds(90) })))
          const by = yield* payer()
          const job = yield* submit(by)
          yield* work("10 minutes")
          expect(times.length).toBeGreaterThan(4)
          expect(Math.min(...gaps(times))).toBeGreaterThanOrEqual(90)
          expect((yield* read(job.id)).status).toBe("in_progress")
          upstream.poll = () => Effect.succeed({ status: "completed", outputs: 1 })
          yield* work("2 minutes")
          expect(yield* money(by.workspaceId)).toEqual(charged)
        }),
      { failures: 3 }
    )
  )

  it.effect("ends a job that the upstream lost, at once", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.poll = () => failing(new UnknownModel({ model: "test/film" }))
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("1 second")
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error: "the provider no longer has the job" })
        expect([upstream.polls, upstream.submissions.length]).toEqual([1, 1])
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect.each([
    ["the image at https://cdn.example.com/a.png is too small", "the image at <redacted> is too small"],
    ["Your API key sk-ab12cd34 has no credit", "the provider could not make the video"]
  ] as const)("tells the caller of a failed job only what speaks of the input", ([message, error]) =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.poll = () => Effect.succeed({ status: "failed", message })
        const job = yield* submit(yield* payer())
        yield* work("1 second")
        expect(yield* read(job.id)).toMatchObject({ status: "failed", error })
      })
    )
  )

  it.effect("ends a job that is complete without a video, at once", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        upstream.poll = () => Effect.succeed({ status: "completed", outputs: 0 })
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("1 second")
        expect(yield* read(job.id)).toMatchObject({
          status: "failed",
          error: "the provider finished the job without a video"
        })
        expect(upstream.polls).toBe(1)
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it.effect.each([
    new ProviderError({ reason: new Unauthorized() }),
    new ProviderError({ reason: new UnknownModel({ model: "test/film" }) }),
    new ProviderError({ reason: new BadResponse({ description: "status 410" }), status: 410 })
  ])("polls again and fetches again when the link to the video has expired", (error) =>
    testing((upstream) =>
      Effect.gen(function* () {
        let polled = 0
        const { content } = upstream
        upstream.content = (index) => {
          if (polled === 0) polled = upstream.polls
          return upstream.polls === polled ? Stream.fail(error) : content(index)
        }
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("10 seconds")
        expect(yield* read(job.id)).toMatchObject({ status: "completed", outputs: [{ bytes: 7 }] })
        expect(upstream.polls).toBe(2)
        expect(yield* money(by.workspaceId)).toEqual(charged)
      })
    )
  )

  it.effect("fails a job whose links are all expired, after a few polls", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        upstream.content = () => Stream.fromEffect(failing(new Unauthorized()))
        const by = yield* payer()
        const job = yield* submit(by)
        yield* work("2 minutes")
        expect(yield* jobs.find(job.id)).toMatchObject({
          status: "failed",
          error: "the finished video could not be fetched from the provider"
        })
        expect(upstream.polls).toBe(5)
        expect(yield* money(by.workspaceId)).toEqual(untouched)
      })
    )
  )

  it("takes the longest of the job's age, the offer's interval and the upstream's word", () => {
    const seconds = (...delays: Parameters<typeof pollDelay>) => Duration.toSeconds(pollDelay(...delays))
    expect(seconds(Duration.seconds(60))).toBe(1.5)
    expect(seconds(Duration.seconds(60), Duration.seconds(5))).toBe(5)
    expect(seconds(Duration.seconds(60), Duration.seconds(5), Duration.seconds(9))).toBe(9)
    expect(seconds(Duration.zero, undefined, Duration.hours(3))).toBe(600)
  })
})
