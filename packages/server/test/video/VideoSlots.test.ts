import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as ObjectStore from "../../src/objects/ObjectStore.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import * as VideoQueue from "../../src/video/VideoQueue.ts"
import * as VideoSlots from "../../src/video/VideoSlots.ts"
import { layerBackground } from "../../src/video/VideoWorker.ts"
import * as TestStorage from "../TestStorage.ts"
import { layerAt, makeUpstream, model, payer, submit, type Upstream } from "./TestVideo.ts"
import { money, read } from "./TestWorker.ts"

const ours = { provider: "test", workspaceId: "ours" }
const theirs = { provider: "test", workspaceId: "theirs" }

describe("the slots of video jobs", () => {
  it.effect("are half for one workspace, and others for each provider and for jobs that have ended", () =>
    Effect.gen(function* () {
      const slots = VideoSlots.make(4)
      const now = (owner: VideoSlots.Owner) =>
        Effect.map(Effect.timeoutOption(slots.open(owner), 0), ({ _tag }) => _tag)
      expect([yield* now(ours), yield* now(ours), yield* now(ours)]).toEqual(["Some", "Some", "None"])
      expect([yield* now(theirs), yield* now(theirs), yield* now(theirs)]).toEqual(["Some", "Some", "None"])
      expect(yield* now({ ...ours, provider: "another" })).toBe("Some")
      expect(Exit.isSuccess(yield* Effect.exit(slots.endedNow(ours)))).toBe(true)
      expect(Exit.isSuccess(yield* Effect.exit(slots.endedNow(ours)))).toBe(false)
    })
  )

  it.effect("go to workspaces in turn, and a job that waits too long, or behind too many, gets none", () =>
    Effect.gen(function* () {
      const slots = VideoSlots.make(2)
      const scope = yield* Scope.make()
      yield* Scope.provide(slots.open(ours), scope)
      const waiting = yield* Effect.forkChild(Effect.exit(Effect.scoped(slots.open(ours))))
      yield* Effect.yieldNow
      // One job of a workspace waits for so few slots. The next one need not.
      expect(yield* Effect.flip(slots.open(ours))).toMatchObject({ _tag: "NoSlot", provider: "test" })
      expect((yield* slots.open(theirs)).hasWaited).toBe(false)
      yield* TestClock.adjust(VideoSlots.maxWait)
      expect(Exit.isFailure(yield* Fiber.join(waiting))).toBe(true)
      const next = yield* Effect.forkChild(Effect.scoped(slots.open(ours)))
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      expect((yield* Fiber.join(next)).hasWaited).toBe(true)
    })
  )
})

/** A process without a worker. Each use is another one. */
const processAt = (location: string, ...upstreams: ReadonlyArray<Upstream>) =>
  layerAt(
    location,
    upstreams.map(({ offers }) => offers),
    VideoQueue.layerMemory,
    ObjectStore.layerMemory
  )

/** The worker runs beside the test, with this many slots for each of two providers. */
const running = <A, E>(
  concurrency: number,
  test: (
    first: Upstream,
    second: Upstream,
    process: ReturnType<typeof processAt>
  ) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof processAt>>>,
  isIdempotent = true
) =>
  Effect.gen(function* () {
    const [first, second] = [
      makeUpstream([{ ...model, isIdempotent }]),
      makeUpstream([{ ...model, isIdempotent }], "second")
    ]
    const process = processAt(yield* TestStorage.create, first, second)
    return yield* Effect.provide(
      test(first, second, process),
      layerBackground().pipe(
        Layer.provideMerge(process),
        Layer.provide(GatewayServerConfig.layer({ videos: { concurrency } }))
      )
    )
  }).pipe(Effect.scoped)

/** Lets the workers go on without any time passing on the test's clock. */
const settle = Effect.repeat(
  Effect.andThen(
    Effect.repeat(Effect.yieldNow, { times: 100 }),
    Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  ),
  { times: 20 }
)

/** Lets time pass until something is so, but at most three minutes. */
const passUntil = Effect.fnUntraced(function* <E, R>(isSo: Effect.Effect<boolean, E, R>) {
  for (let second = 0; second < 180 && !(yield* isSo); second++) {
    yield* TestClock.adjust("1 second")
    yield* settle
  }
})

const many = (count: number) =>
  Effect.gen(function* () {
    const by = yield* payer(10_000_000)
    const jobs = yield* Effect.replicateEffect(submit(by), count)
    yield* settle
    return { by, jobs }
  })

describe("video jobs at a provider that does not answer", () => {
  it.effect.each([
    ["submissions", (upstream: Upstream): void => void (upstream.submit = () => Effect.never)],
    ["polls", (upstream: Upstream): void => void (upstream.poll = () => Effect.never)],
    ["downloads", (upstream: Upstream): void => void (upstream.content = () => Stream.never)]
  ] as const)("delay no job of another provider: %s", ([, hang]) =>
    running(4, (first) =>
      Effect.gen(function* () {
        hang(first)
        const { by } = yield* many(40)
        const job = yield* submit(by, { provider: "second" })
        yield* settle
        expect((yield* read(job.id)).status).toBe("completed")
      })
    )
  )

  it.effect("take their turn while others wait, so that more of them are submitted than there are slots", () =>
    running(4, (first) =>
      Effect.gen(function* () {
        first.poll = () => Effect.succeed({ status: "in_progress" })
        yield* many(20)
        yield* passUntil(Effect.sync(() => first.submissions.length === 20))
        expect(first.submissions.length).toBe(20)
      })
    )
  )

  it.effect.each([
    ["polls", (upstream: Upstream): void => void (upstream.poll = () => Effect.never)],
    [
      "downloads",
      (upstream: Upstream): void =>
        void (upstream.content = () => Stream.concat(Stream.make(new Uint8Array(9)), Stream.never))
    ]
  ] as const)("free their slots when they are cancelled, and leave nothing behind: %s", ([, hang]) =>
    running(2, (first) =>
      Effect.gen(function* () {
        const { content, poll } = first
        hang(first)
        const { by, jobs } = yield* many(1)
        const waiting = yield* submit(by)
        yield* settle
        expect(first.submissions.length).toBe(1)
        Object.assign(first, { content, poll })
        for (const { id } of jobs) yield* (yield* VideoJobs).cancel(by.workspaceId, id)
        yield* settle
        expect((yield* read(waiting.id)).status).toBe("completed")
        expect(first.cancelled).toEqual(["up-1"])
        const stored = yield* Stream.runCollect((yield* ObjectStore.ObjectStore).list("videos"))
        expect(stored.map(({ key }) => key)).toEqual([`videos/${waiting.id}-0`])
        expect(yield* money(by.workspaceId)).toMatchObject({ reserved: 0, rows: 1 })
      })
    )
  )

  it.effect("free their slots when another process cancels them", () =>
    running(2, (first, _, process) =>
      Effect.gen(function* () {
        const { poll } = first
        first.poll = () => Effect.never
        const { by, jobs } = yield* many(1)
        const waiting = yield* submit(by)
        yield* settle
        first.poll = poll
        yield* Effect.forEach(jobs, ({ id }) =>
          Effect.flatMap(VideoJobs, ({ cancel }) => cancel(by.workspaceId, id))
        ).pipe(Effect.provide(process))
        yield* settle
        yield* TestClock.adjust("2 seconds")
        yield* settle
        expect((yield* read(waiting.id)).status).toBe("completed")
      })
    )
  )

  it.effect("are cancelled upstream when the answer to their submission comes after the job was cancelled", () =>
    running(
      2,
      (first) =>
        Effect.gen(function* () {
          const { submit: take } = first
          first.submit = (submission) => Effect.delay(take(submission), "30 seconds")
          const { by, jobs } = yield* many(1)
          const waiting = yield* submit(by)
          yield* settle
          first.submit = take
          for (const { id } of jobs) yield* (yield* VideoJobs).cancel(by.workspaceId, id)
          yield* settle
          expect((yield* read(waiting.id)).status).toBe("completed")
          expect(first.cancelled).toEqual([])
          yield* TestClock.adjust("30 seconds")
          yield* settle
          expect(first.cancelled).toEqual(["up-2"])
          expect((yield* read(jobs[0]?.id ?? "")).error).toBe(null)
        }),
      false
    )
  )

  it.effect("say that their answer is lost when too many cancelled ones wait for it", () =>
    running(
      4,
      (first) =>
        Effect.gen(function* () {
          first.submit = () => Effect.never
          const { by, jobs } = yield* many(2)
          for (const { id } of jobs) yield* (yield* VideoJobs).cancel(by.workspaceId, id)
          yield* settle
          // One of them waits in the one slot for such jobs, the other one is not waited for.
          const errors = Effect.forEach(jobs, ({ id }) => Effect.map(read(id), ({ error }) => error ?? ""))
          yield* passUntil(Effect.map(errors, (all) => all.every((error) => error !== "")))
          for (const error of yield* errors) expect(error).toMatch(/It may still make the video/)
        }),
      false
    )
  )
})
