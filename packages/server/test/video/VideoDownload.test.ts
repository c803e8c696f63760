import { describe, expect, it } from "@effect/vitest"
import { ProviderError, Unavailable } from "@model-gateway/offers/ProviderError"
import { Effect, Layer, Schedule, Stream } from "effect"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { ObjectStore } from "../../src/objects/ObjectStore.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import type { VideoQueue } from "../../src/video/VideoQueue.ts"
import { layer as layerWorker, type VideoWorker } from "../../src/video/VideoWorker.ts"
import { layer, makeUpstream, payer, submit, type Upstream } from "./TestVideo.ts"
import { charged, reserved, money, read, untouched, work, workUntilOver } from "./TestWorker.ts"

const testing = <A, E>(
  test: (upstream: Upstream) => Effect.Effect<A, E, VideoWorker | VideoQueue | Layer.Success<ReturnType<typeof layer>>>,
  videos?: NonNullable<GatewayServerConfig.Options["videos"]>
) =>
  Effect.suspend(() => {
    const upstream = makeUpstream()
    return Effect.provide(
      test(upstream),
      layerWorker().pipe(
        Layer.provideMerge(layer(upstream.offers)),
        Layer.provide(GatewayServerConfig.layer(videos === undefined ? {} : { videos }))
      )
    )
  })

const stored = Effect.gen(function* () {
  const listed = yield* Stream.runCollect((yield* ObjectStore).list("videos"))
  return listed.map(({ key }) => key)
})

const bytes = (size: number) => Stream.make(new Uint8Array(size))

/** As many bytes each second, without an end. */
const drip = (each: number) => Stream.schedule(Stream.forever(bytes(each)), Schedule.spaced("1 second"))

/** What came of a job at such an upstream. */
const ofJob = (upstream: Upstream, change: Partial<Upstream>) =>
  Effect.gen(function* () {
    Object.assign(upstream, change)
    const by = yield* payer()
    const { id } = yield* submit(by)
    yield* workUntilOver(id)
    return { by, id, job: yield* read(id), money: yield* money(by.workspaceId) }
  })

const outputs = (count: number) => () => Effect.succeed({ status: "completed", outputs: count } as const)

describe("the videos of a finished job", () => {
  it.effect("are at most 16: with more, the job fails at once, and nothing is downloaded", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        let downloads = 0
        const content = () => Stream.suspend(() => ((downloads += 1), bytes(1)))
        const sixteen = yield* ofJob(upstream, { content, poll: outputs(16) })
        expect([sixteen.job.status, sixteen.job.outputs.length, downloads]).toEqual(["completed", 16, 16])
        const more = yield* ofJob(upstream, { poll: outputs(17) })
        expect(more.job).toMatchObject({
          status: "failed",
          error: "the provider finished the job with 17 videos. The gateway stores at most 16"
        })
        expect([downloads, more.money.reserved]).toEqual([16, 0])
      })
    )
  )

  it.effect.each([
    ["one", 1, "a finished video has more than 1 KiB, which is the most that the gateway stores"],
    ["all", 4, "the finished videos of the job have more than 2 KiB, which is the most that the gateway stores"]
  ] as const)("have a maximum size, of %s: larger ones fail the job, and are deleted", ([, count, error]) =>
    testing(
      (upstream) =>
        Effect.gen(function* () {
          let sent = 0
          const content = () =>
            count === 1 ? Stream.tap(Stream.forever(bytes(100)), () => Effect.sync(() => (sent += 100))) : bytes(700)
          const ended = yield* ofJob(upstream, { content, poll: outputs(count) })
          expect(ended.job).toMatchObject({ status: "failed", error })
          expect(ended.money).toEqual(untouched)
          expect(yield* stored).toEqual([])
          expect([upstream.polls, sent]).toEqual([1, count === 1 ? 1100 : 0])
        }),
      { maxSize: 1024, maxJobSize: 2048 }
    )
  )

  it.effect("fail the job if they arrive too slowly, three times", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const ended = yield* ofJob(upstream, { content: () => drip(1000) })
        expect(ended.job).toMatchObject({
          status: "failed",
          error: "the provider sent the finished video more slowly than 16 KiB per second"
        })
        expect(ended.money).toEqual(untouched)
        expect([yield* stored, upstream.polls]).toEqual([[], 3])
        expect(ended.job.updatedAt).toBeLessThan(180_000)
      })
    )
  )

  it.effect("may pause for half a minute, and may take long before they start", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const later = (delay: number, size: number) =>
          Stream.fromEffect(Effect.delay(Effect.succeed(new Uint8Array(size)), delay))
        const content = () =>
          Stream.concat(later(55_000, 10), Stream.concat(later(29_000, 1_000_000), later(29_000, 1)))
        const ended = yield* ofJob(upstream, { content })
        expect(ended.job).toMatchObject({ status: "completed", outputs: [{ bytes: 1_000_011 }] })
        expect([upstream.polls, ended.money]).toEqual([1, charged])
      })
    )
  )

  it.effect("are deleted if a later one cannot be downloaded and the job fails, is cancelled or expires", () =>
    testing((upstream) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        const broken = Stream.fail(new ProviderError({ reason: new Unavailable({}) }))
        upstream.poll = outputs(3)
        upstream.content = (index) => (index === 2 ? broken : bytes(9))
        const by = yield* payer()
        const { id } = yield* submit(by)
        yield* work("10 seconds")
        // They stay for the next attempt, which replaces them.
        expect(yield* stored).toEqual([`videos/${id}-0`, `videos/${id}-1`])
        expect(yield* money(by.workspaceId)).toEqual(reserved)
        yield* jobs.cancel(by.workspaceId, id)
        yield* work("1 second")
        expect(yield* stored).toEqual([])
        const second = yield* submit(by)
        yield* work("1 hour")
        expect((yield* read(second.id)).status).toBe("failed")
        expect(yield* stored).toEqual([])
      })
    )
  )
})
