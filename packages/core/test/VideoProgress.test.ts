import { describe, expect, it } from "@effect/vitest"
import { Gateway, RetryPolicy, VideoProgress } from "@model-gateway/core"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { inspect } from "node:util"
import * as Stub from "./stub.ts"

const pending = Stub.job
const started = { ...Stub.job, status: "in_progress", progress: 0 }
const half = { ...started, progress: 0.5 }
const completed = { ...Stub.job, status: "completed", usage: { cost: 1, is_byok: false } }

/**
 * A service that waits with its answer until the job's status changes, at most for `wait`. `states` lists
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
        // A new status arrives at once, because the service waits with its answer until then.
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

/** A service that restarts: it answers by `failing` until `until`, and then by `answer`. */
const restart = (until: number, failing: (number: number) => Stub.Answer, answer: () => Stub.Answer) =>
  Stub.make(({ at }, number) => (at < until ? failing(number) : answer()))

const page = () => new Response("<html>", { status: 502, headers: { "content-type": "text/html" } })

const outages: ReadonlyArray<readonly [name: string, failing: (number: number) => Stub.Answer]> = [
  ["closed connections", () => "cut"],
  ["status 502 of a proxy", page],
  ["status 503", () => Stub.failure(503)],
  ["one after the other", (number) => (["cut", page(), Stub.failure(503)] as const)[number % 3] ?? "cut"]
]

describe("an outage", () => {
  for (const [name, failing] of outages) {
    it.effect(`of two minutes with ${name} does not end a watch, and is not met with many requests`, () => {
      const stub = restart(120_000, failing, () => Stub.json(completed))
      return Effect.gen(function* () {
        expect((yield* watch(stub)).map(([, status]) => status)).toEqual(["completed"])
        expect(stub.sent.length).toBeLessThan(32)
        const lastMinute = stub.times().filter((at) => at >= 60_000 && at < 120_000)
        expect(lastMinute.length).toBeLessThanOrEqual(name === "one after the other" ? 15 : 8)
      })
    })
  }

  it.effect("does not end any of 200 watches, and takes nothing from the retries of other calls", () => {
    const stub = Stub.make(({ at, url }) =>
      at >= 60_000
        ? Stub.json(completed)
        : url.pathname.endsWith("/key")
          ? at === 30_000
            ? Stub.failure(503)
            : Stub.json({ data: Stub.keyRecord })
          : "cut"
    )
    return Effect.gen(function* () {
      const watches = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 200 }), () => VideoProgress.awaitFinal("v_1"), {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust("30 seconds")
      const call = yield* Effect.forkChild((yield* Gateway.Gateway).currentKey)
      yield* TestClock.adjust("2 minutes")
      expect(yield* Fiber.join(watches)).toHaveLength(200)
      yield* Fiber.join(call)
    }).pipe(stub.run())
  })

  it.effect("does not end a long poll", () => {
    const stub = restart(
      90_000,
      () => "cut",
      () => Stub.json(started)
    )
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild((yield* Gateway.Gateway).getVideo("v_1", { wait: "30 seconds" }))
      yield* TestClock.adjust("2 minutes")
      expect(yield* Fiber.join(fiber)).toEqual(started)
    }).pipe(stub.run())
  })

  it.effect("ends a watch within the deadline, with the last error", () => {
    const stub = Stub.make((_, number) => (number === 1 ? Stub.json(pending) : "cut"))
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.flip(Stream.runDrain(VideoProgress.watch("v_1"))))
      yield* TestClock.adjust("3 minutes")
      expect(fiber.pollUnsafe()).toBe(undefined)
      yield* TestClock.adjust("2 minutes")
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "TransportError", operation: "getVideo" })
    }).pipe(stub.run())
  })

  it.effect("ends a watch at once if the policy has no retries, or after a long `Retry-After`", () => {
    const once = Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none)
    const answers: ReadonlyArray<Stub.Answer> = ["cut", Stub.failure(503, { headers: { "retry-after": "61" } })]
    const stub = Stub.make((_, number) => answers[number - 1] ?? Stub.json(completed))
    return Effect.gen(function* () {
      const drain = Effect.flip(Stream.runDrain(VideoProgress.watch("v_1")))
      expect(yield* once(drain)).toMatchObject({ _tag: "TransportError", attempts: 1 })
      expect(yield* drain).toMatchObject({ _tag: "ServiceUnavailable", attempts: 1, retryAfter: 61 })
    }).pipe(stub.run())
  })
})

describe("a long poll", () => {
  const seen: Array<RetryPolicy.Attempt | undefined> = []
  const stub = Stub.make(() =>
    Effect.gen(function* () {
      seen.push(yield* RetryPolicy.CurrentAttempt)
      return yield* Effect.never
    })
  )

  it.effect("has the usual time limit in addition to its `wait`, and is marked as one", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      const once = Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none)
      const fiber = yield* Effect.forkChild(Effect.flip(once(gateway.getVideo("v_1", { wait: "1 minute" }))))
      yield* TestClock.adjust("149 seconds")
      expect(fiber.pollUnsafe()).toBe(undefined)
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "TimeoutError", limit: "attempt", milliseconds: 150_000 })
      yield* Effect.forkChild(gateway.getVideo("v_1"))
      yield* TestClock.adjust("1 second")
      expect(seen.map((attempt) => attempt?.isLongPoll)).toEqual([true, false])
    }).pipe(stub.run())
  )
})

describe("awaitFinal", () => {
  it.effect("returns the completed job", () => {
    const stub = service([
      [0, pending],
      [1000, started],
      [2000, completed]
    ])
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(VideoProgress.awaitFinal("v_1"))
      yield* TestClock.adjust("1999 millis")
      expect(fiber.pollUnsafe()).toBe(undefined)
      yield* TestClock.adjust("1 millis")
      expect(yield* Fiber.join(fiber)).toEqual(completed)
    }).pipe(stub.run())
  })

  for (const [job, message] of [
    [{ status: "failed", error: "no\nsuch image" }, "getVideo: video job v_1 ended as failed: no such image"],
    [{ status: "cancelled" }, "getVideo: video job v_1 ended as cancelled"],
    [{ status: "expired" }, "getVideo: video job v_1 ended as expired"]
  ] as const) {
    it.effect(`fails with a job that ended as ${job.status}`, () => {
      const stub = service([[0, { ...Stub.job, ...job }]])
      return Effect.gen(function* () {
        const error = yield* Effect.flip(VideoProgress.awaitFinal("v_1"))
        expect(error).toBeInstanceOf(VideoProgress.NotCompleted)
        expect(error).toMatchObject({
          _tag: "VideoNotCompleted",
          operation: "getVideo",
          isRetryable: false,
          job: { id: "v_1", ...job },
          message
        })
        expect(inspect(error)).toBe(`VideoNotCompleted: ${message}`)
      }).pipe(stub.run())
    })
  }
})
