import { describe, expect, it } from "@effect/vitest"
import { Overloaded, ProviderError, RateLimited, Timeout, Unauthorized } from "@model-gateway/offers/ProviderError"
import { Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { entries } from "../../src/accounting/Ledger.ts"
import * as TestOutbox from "../events/TestOutbox.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as VideoAttempts from "../../src/video/VideoAttempts.ts"
import { VideoJobs } from "../../src/video/VideoJobs.ts"
import type { VideoQueue } from "../../src/video/VideoQueue.ts"
import { layer as layerWorker, type VideoWorker } from "../../src/video/VideoWorker.ts"
import { layer, makeUpstream, model, payer, submit, type Upstream } from "./TestVideo.ts"
import { next, read, work } from "./TestWorker.ts"

const failing = (reason: ProviderError["reason"], status?: number) =>
  Effect.fail(new ProviderError(status === undefined ? { reason } : { reason, status }))

const fallbacks = [{ provider: "second", upstream_model: "test/film", credential: "gateway", cost_micro: 50_000 }]

/**
 * Two providers, `test` and then `second`, each asked once. A circuit opens for a minute after 2
 * failures.
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
      layerWorker().pipe(
        Layer.provideMerge(layer(first.offers, second.offers)),
        Layer.provide(GatewayServerConfig.layer({ circuits: { failures: 2, openFor: Duration.minutes(1) } }))
      )
    )
  })

/** A payer whose workspace broadcasts. */
const broadcaster = Effect.tap(payer(), ({ workspaceId }) => TestOutbox.setDestination(workspaceId))

/**
 * Expects these attempts in the event and in the request log's entry of the only job, and that
 * those two agree.
 */
const expectReported = Effect.fnUntraced(function* (status: string, attempts: ReadonlyArray<object>) {
  const [written] = yield* TestOutbox.all
  const [row] = yield* (yield* SqlClient)`SELECT * FROM usage_ledger`
  if (written === undefined || row === undefined) return expect.unreachable("the job has not ended")
  const entry = entries.read(row)
  expect([written.type, entry.status]).toEqual([`video.${status}`, status])
  expect(written.attempts).toEqual(attempts)
  expect(entry.attempts).toEqual(attempts)
})

describe("the attempts of a video job", () => {
  it.effect(
    "are its submissions in order, with their start, kept while it is open and reported when it completes",
    () =>
      testing((first) =>
        Effect.gen(function* () {
          const { submit: take } = first
          first.submit = () => failing(new RateLimited({}), 429)
          const refused = { provider: "test", outcome: "RateLimited", status: 429, seconds: 0, billed: "no" }
          const job = yield* submit(yield* broadcaster)
          yield* next
          yield* next
          expect((yield* read(job.id)).attempts).toEqual([{ ...refused, started_at: 0 }])
          first.submit = (submission) => Effect.delay(take(submission), "1 second")
          const { poll } = first
          first.poll = () => Effect.succeed({ status: "in_progress" })
          yield* work("5 seconds")
          const accepted = { provider: "test", outcome: "Success", seconds: 1 }
          const [, second] = (yield* read(job.id)).attempts
          expect(second).toMatchObject({ ...accepted, billed: "unknown" })
          expect(second?.started_at).toBeGreaterThanOrEqual(1000)
          first.poll = poll
          yield* work("5 seconds")
          yield* expectReported("completed", [
            { ...refused, started_at: 0 },
            { ...accepted, billed: "yes", started_at: second?.started_at }
          ])
        })
      )
  )

  it.effect("go on at the next provider, and name one whose circuit was open", () =>
    testing((first) =>
      Effect.gen(function* () {
        first.submit = () => failing(new Overloaded({}), 503)
        const by = yield* broadcaster
        const jobs = [
          yield* submit(by, { fallbacks }),
          yield* submit(by, { fallbacks }),
          yield* submit(by, { fallbacks })
        ]
        yield* work("3 seconds")
        const outcomes = yield* Effect.forEach(jobs, ({ id }) =>
          Effect.map(read(id), ({ attempts }) => attempts.map(({ outcome, provider }) => `${provider} ${outcome}`))
        )
        const skipped = outcomes.filter(([one]) => one === "test CircuitOpen")
        expect([outcomes.length, skipped.length > 0, first.submissions.length + skipped.length]).toEqual([3, true, 3])
        for (const [, second, ...others] of outcomes) expect([second, others]).toEqual(["second Success", []])
      })
    )
  )

  it.effect("are reported when every provider refuses the job", () =>
    testing((first, second) =>
      Effect.gen(function* () {
        first.submit = () => failing(new Unauthorized(), 401)
        second.submit = () => failing(new Unauthorized(), 403)
        yield* submit(yield* broadcaster, { fallbacks })
        yield* work("3 seconds")
        const refused = { outcome: "Unauthorized", seconds: 0, billed: "no", started_at: 0 }
        yield* expectReported("failed", [
          { ...refused, provider: "test", status: 401 },
          { ...refused, provider: "second", status: 403 }
        ])
      })
    )
  )

  it.effect("leave open who bills one whose answer was lost", () =>
    testing((first) =>
      Effect.gen(function* () {
        first.submit = () => failing(new Timeout())
        yield* submit(yield* broadcaster, { fallbacks })
        yield* work("3 seconds")
        yield* expectReported("failed", [
          { provider: "test", outcome: "Timeout", seconds: 0, billed: "unknown", started_at: 0 }
        ])
      })
    )
  )

  it.effect("leave open who bills one that was accepted if the job fails after that", () =>
    testing((first) =>
      Effect.gen(function* () {
        first.poll = () => Effect.succeed({ status: "failed", message: "no harbors today" })
        yield* submit(yield* broadcaster)
        yield* work("3 seconds")
        yield* expectReported("failed", [
          { provider: "test", outcome: "Success", seconds: 0, billed: "unknown", started_at: 0 }
        ])
      })
    )
  )

  const interrupted = { provider: "test", outcome: "Interrupted", seconds: 0, billed: "unknown", started_at: 0 }

  it.effect("have one that was interrupted if the process died during it", () =>
    testing(() =>
      Effect.gen(function* () {
        const job = yield* submit(yield* broadcaster)
        yield* next
        // What a process that died during the call has left behind.
        expect(yield* (yield* VideoJobs).asking({ id: job.id, step: 1 })).toBe(true)
        yield* work("3 seconds")
        yield* expectReported("failed", [interrupted])
      })
    )
  )

  it.effect("have one that was interrupted if the job was cancelled during it", () =>
    testing((first) =>
      Effect.gen(function* () {
        const jobs = yield* VideoJobs
        const by = yield* broadcaster
        const job = yield* submit(by)
        const { submit: take } = first
        first.submit = (submission) =>
          Effect.andThen(Effect.orDie(jobs.cancel(by.workspaceId, job.id)), take(submission))
        yield* work("3 seconds")
        yield* expectReported("cancelled", [interrupted])
      })
    )
  )

  it.effect("are none if the job was cancelled before it was submitted", () =>
    testing(() =>
      Effect.gen(function* () {
        const by = yield* broadcaster
        const job = yield* submit(by)
        yield* (yield* VideoJobs).cancel(by.workspaceId, job.id)
        yield* expectReported("cancelled", [])
      })
    )
  )

  it("are the first 5 and the latest 20 if there are more", () => {
    const attempt = (seconds: number) => ({ provider: "p", outcome: "RateLimited", seconds, billed: "no" }) as const
    const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
    const after = (count: number) =>
      numbers(0, count)
        .reduce<ReturnType<typeof VideoAttempts.add>>((before, n) => VideoAttempts.add(before, [attempt(n)]), [])
        .map(({ seconds }) => seconds)
    expect(after(25)).toEqual(numbers(0, 25))
    expect(after(60)).toEqual([...numbers(0, 5), ...numbers(40, 60)])
  })
})
