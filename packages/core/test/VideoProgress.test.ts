import { describe, expect, it } from "@effect/vitest"
import { VideoProgress } from "@model-gateway/core"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Stub from "./stub.ts"

const pending = Stub.job
const started = { ...Stub.job, status: "in_progress", progress: 0 }
const half = { ...started, progress: 0.5 }
const completed = { ...Stub.job, status: "completed", usage: { cost: 1, is_byok: false } }

/**
 * A service that holds a request until the job's status changes, at most for `wait`. `states` lists
 * the job's states with the millisecond at which each begins.
 */
const service = (
  states: ReadonlyArray<readonly [from: number, job: object & { readonly status: string }]>,
  options = { waits: true }
) => {
  const at = (time: number) => states.findLast(([from]) => from <= time)?.[1] ?? pending
  return Stub.make(({ at: now, url }) => {
    const until = now + (options.waits ? Number(url.searchParams.get("wait") ?? 0) * 1000 : 0)
    const change = states.find(([from, job]) => from > now && from <= until && job.status !== at(now).status)?.[0]
    const answerAt = change ?? until
    return Effect.delay(
      Effect.sync(() => Stub.json(at(answerAt))),
      answerAt - now
    )
  })
}

const watch = (stub: ReturnType<typeof service>, options?: VideoProgress.Options) =>
  Effect.gen(function* () {
    const seen: Array<readonly [time: number, status: string, progress: number | undefined]> = []
    const fiber = yield* VideoProgress.watch("v_1", options).pipe(
      Stream.runForEach((job) =>
        Effect.clockWith((clock) => clock.currentTimeMillis).pipe(
          Effect.map((time) => {
            seen.push([time, job.status, job.progress])
          })
        )
      ),
      Effect.forkChild
    )
    yield* TestClock.adjust("1 hour")
    yield* Fiber.join(fiber)
    return seen
  }).pipe(stub.run())

describe("watch", () => {
  it.effect("emits the current state, each change, and the final state", () => {
    const stub = service([
      [0, pending],
      [2500, started],
      [3200, half],
      [6700, completed]
    ])
    return Effect.gen(function* () {
      expect(yield* watch(stub)).toEqual([
        [0, "pending", undefined],
        // A new status arrives at once, because the service holds the request until then.
        [2500, "in_progress", 0],
        // New progress arrives when the request ends.
        [3500, "in_progress", 0.5],
        [6700, "completed", undefined]
      ])
      expect(stub.sent[0]?.url.search).toBe("")
      expect(new Set(stub.sent.slice(1).map(({ url }) => url.search))).toEqual(new Set(["?wait=1"]))
      expect(stub.sent).toHaveLength(9)
    })
  })

  it.effect("keeps the interval with a service that ignores `wait`", () => {
    const stub = service(
      [
        [0, pending],
        [4500, completed]
      ],
      { waits: false }
    )
    return Effect.gen(function* () {
      expect(yield* watch(stub, { interval: "2 seconds" })).toEqual([
        [0, "pending", undefined],
        [6000, "completed", undefined]
      ])
      expect(stub.times()).toEqual([0, 0, 2000, 4000, 6000])
      expect(stub.sent[1]?.url.search).toBe("?wait=2")
    })
  })

  it.effect("never requests a `wait` of more than one minute", () => {
    const stub = service([
      [0, pending],
      [150_000, completed]
    ])
    return Effect.gen(function* () {
      yield* watch(stub, { interval: "1 hour" })
      expect(stub.times()).toEqual([0, 0, 60_000, 120_000])
      expect(stub.sent[1]?.url.search).toBe("?wait=60")
    })
  })

  for (const status of ["completed", "failed", "cancelled", "expired"]) {
    it.effect(`ends with ${status}, even if that is the first state`, () => {
      const stub = service([[0, { ...Stub.job, status }]])
      return Effect.gen(function* () {
        expect(yield* watch(stub)).toEqual([[0, status, undefined]])
        expect(stub.sent).toHaveLength(1)
      })
    })
  }

  it.effect("retries a retryable failure", () => {
    const jobs = [Stub.json(pending), Stub.failure(503), Stub.json(completed)]
    const stub = Stub.make((_, number) => jobs[number - 1] ?? Stub.failure(500))
    return Effect.gen(function* () {
      const seen = yield* watch(stub)
      expect(seen.map(([, status]) => status)).toEqual(["pending", "completed"])
    })
  })

  it.effect("fails with any other failure", () => {
    const jobs = [Stub.json(pending), Stub.failure(404)]
    const stub = Stub.make((_, number) => jobs[number - 1] ?? Stub.failure(500))
    return Effect.gen(function* () {
      expect(yield* Effect.flip(Stream.runDrain(VideoProgress.watch("v_1")))).toMatchObject({ _tag: "NotFound" })
    }).pipe(stub.run())
  })

  it.effect("stops requesting when the stream is closed", () => {
    const stub = service([[0, pending]])
    return Effect.gen(function* () {
      yield* VideoProgress.watch("v_1").pipe(Stream.take(1), Stream.runDrain)
      yield* TestClock.adjust("1 hour")
      expect(stub.sent).toHaveLength(1)
    }).pipe(stub.run())
  })
})

describe("awaitFinal", () => {
  it.effect("returns the job in any final state", () => {
    const failed = { ...Stub.job, status: "failed", error: "no" }
    const stub = service([
      [0, pending],
      [1000, started],
      [2000, failed]
    ])
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(VideoProgress.awaitFinal("v_1"))
      yield* TestClock.adjust("1999 millis")
      expect(fiber.pollUnsafe()).toBe(undefined)
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(fiber)).toEqual(failed)
    }).pipe(stub.run())
  })
})
