import { describe, expect, it, vi } from "@effect/vitest"
import { Gateway, RetryPolicy } from "@model-gateway/core"
import * as UploadMonitor from "@model-gateway/core/unstable/UploadMonitor"
import { type Duration, Effect, Fiber, Redacted, Schedule, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Stub from "./stub.ts"

const gateway = Gateway.Gateway

const policy = (options: RetryPolicy.Options) =>
  Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 0, ...options }))

const file = { file: new Uint8Array(3), purpose: "p" }

const upload = Effect.flatMap(gateway, (client) => client.uploadFile(file))

const transcribe = Effect.flatMap(gateway, (client) => client.transcribe({ model: "m", file: new Uint8Array(3) }))

const stored = () =>
  Stub.json({
    _shape: "native",
    id: "file_1",
    type: "file",
    filename: "file",
    mime_type: "text/plain",
    size_bytes: 3,
    created_at: "2026-11-20T22:00:00Z",
    downloadable: true
  })

/** The result of a call, and the milliseconds that it took. */
const timed = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const now = Effect.clockWith((clock) => clock.currentTimeMillis)
    const startedAt = yield* now
    const ended = Effect.flatMap(Effect.result(call), (result) =>
      Effect.map(now, (endedAt) => ({ result, took: endedAt - startedAt }))
    )
    const fiber = yield* Effect.forkChild(ended)
    yield* TestClock.adjust("2 hours")
    return yield* Fiber.join(fiber)
  })

/** Reports as an `HttpClient` does that sends a part of a form every `pause`. */
const sends = Effect.fnUntraced(function* (parts: number, pause: Duration.Input, total: number | undefined = parts) {
  const report = yield* UploadMonitor.UploadMonitor
  for (let sent = 0; sent <= parts; sent++) {
    report?.({ sent, total })
    if (sent < parts) yield* Effect.sleep(pause)
  }
})

describe("the time limit of an attempt", () => {
  it.effect("is 90 seconds, and for a transcription longer than the service takes", () =>
    Effect.gen(function* () {
      const calls = {
        rerank: (client: Gateway.Gateway["Service"]) => client.rerank({ model: "m", query: "q", documents: ["d"] }),
        currentKey: (client: Gateway.Gateway["Service"]) => client.currentKey,
        uploadFile: (client: Gateway.Gateway["Service"]) => client.uploadFile(file),
        transcribe: (client: Gateway.Gateway["Service"]) =>
          client.transcribe({ model: "m", input_audio: { data: "AAAA", format: "wav" } })
      }
      for (const [name, call] of Object.entries(calls)) {
        const stub = Stub.make(() => Effect.never)
        const { result, took } = yield* timed(
          Effect.flip(Effect.flatMap(gateway, (client): Effect.Effect<unknown, unknown> => call(client)))
        ).pipe(stub.run(), policy({ deadline: "1 hour" }))
        const milliseconds = name === "transcribe" ? 330_000 : 90_000
        expect([name, took]).toEqual([name, milliseconds])
        expect(result).toMatchObject({ success: { _tag: "TimeoutError", limit: "attempt", milliseconds } })
      }
    })
  )

  it.effect("ends a JSON body that arrives a byte at a time", () => {
    const trickle = Stream.fromSchedule(Schedule.spaced("1 second")).pipe(
      Stream.map(() => new TextEncoder().encode(" ")),
      Stream.toReadableStreamEffect()
    )
    const stub = Stub.make(() => Effect.map(trickle, (body) => new Response(body)))
    return Effect.gen(function* () {
      const { result, took } = yield* timed(Effect.flip((yield* gateway).currentKey))
      expect(result).toMatchObject({ success: { _tag: "TimeoutError", limit: "attempt", milliseconds: 20_000 } })
      expect(took).toBe(20_000)
    }).pipe(stub.run(), policy({ attemptTimeout: "20 seconds" }))
  })

  it.effect("covers the credential: the error says that nothing was sent", () => {
    const stub = Stub.make(() => Stub.json({}))
    return Effect.gen(function* () {
      const { result } = yield* timed(Effect.flip((yield* gateway).currentKey))
      expect(result).toMatchObject({
        success: {
          _tag: "TimeoutError",
          limit: "attempt",
          attempts: 0,
          message:
            "currentKey: no credential within 90000 ms, after 0 attempts. Try again, or raise the time limits of the retry policy."
        }
      })
      expect(stub.sent).toEqual([])
    }).pipe(stub.run({ credential: Effect.never }), policy({}))
  })

  it.effect("covers a credential Effect that hangs after a 401: the call fails with the 401", () => {
    const stub = Stub.make(() => Stub.failure(401))
    let asked = 0
    const credential = Effect.suspend(() => (asked++ === 0 ? Effect.succeed(Redacted.make("t")) : Effect.never))
    return Effect.gen(function* () {
      const { result, took } = yield* timed(Effect.flip((yield* gateway).currentKey))
      expect(result).toMatchObject({ success: { _tag: "Unauthorized", attempts: 1 } })
      expect(took).toBe(10_000)
    }).pipe(stub.run({ credential }), policy({ deadline: "10 seconds" }))
  })

  it.live("applies on the clock of the machine, and leaves no timer behind", () => {
    const started = vi.spyOn(globalThis, "setTimeout")
    const stopped = vi.spyOn(globalThis, "clearTimeout")
    const limited = policy({ attemptTimeout: "12345 millis" })
    /** Of each timer of this limit, whether it was stopped. Test files share other timers. */
    const timers = () =>
      started.mock.calls.flatMap(([, delay = 0], at) =>
        delay > 11_000 && delay <= 12_345
          ? [stopped.mock.calls.some(([timer]) => timer === started.mock.results[at]?.value)]
          : []
      )
    return Effect.gen(function* () {
      yield* Effect.addFinalizer(() => Effect.sync(() => [started, stopped].forEach((spy) => spy.mockRestore())))
      const silent = Stub.make(() => Effect.never)
      const startedAt = performance.now()
      const error = yield* Effect.flip(Effect.flatMap(gateway, (client) => client.currentKey)).pipe(
        silent.run(),
        policy({ attemptTimeout: "50 millis" })
      )
      expect(error).toMatchObject({ _tag: "TimeoutError", limit: "attempt", milliseconds: 50 })
      expect(performance.now() - startedAt).toBeGreaterThan(49)
      expect(silent.sent.map(({ signal }) => signal.aborted)).toEqual([true])
      const quick = Stub.make(() =>
        Effect.andThen(
          Effect.sleep(1),
          Effect.sync(() => Stub.json(Stub.ranking))
        )
      )
      const rerank = Effect.flatMap(gateway, (client) => client.rerank({ model: "m", query: "q", documents: ["d"] }))
      yield* rerank.pipe(quick.run(), limited)
      expect(timers()).toEqual([true])
      const interrupted = yield* Effect.forkChild(
        Effect.flatMap(gateway, (client) => client.currentKey).pipe(silent.run(), limited)
      )
      while (timers().length < 2) yield* Effect.yieldNow
      expect(timers()).toEqual([true, false])
      yield* Fiber.interrupt(interrupted)
      expect(timers()).toEqual([true, true])
    })
  })
})

describe("an upload", () => {
  it.effect("is not ended while it makes progress, and its response has the attempt's whole limit", () => {
    const stub = Stub.make(() =>
      sends(100, "30 seconds").pipe(Effect.andThen(Effect.sleep("89 seconds")), Effect.map(stored))
    )
    return Effect.gen(function* () {
      const { result, took } = yield* timed(upload)
      expect(result).toMatchObject({ _tag: "Success" })
      expect(took).toBe(3_089_000)
    }).pipe(stub.run(), policy({}))
  })

  it.effect("is not ended while it makes progress, also if its size is not known before its end", () => {
    const parts = Effect.gen(function* () {
      const report = yield* UploadMonitor.UploadMonitor
      yield* sends(20, "30 seconds", Number.NaN)
      report?.({ sent: 20, total: 20 })
    })
    const stub = Stub.make(() => Effect.map(parts, stored))
    return Effect.gen(function* () {
      expect(yield* timed(upload)).toMatchObject({ result: { _tag: "Success" }, took: 600_000 })
    }).pipe(stub.run(), policy({}))
  })

  it.effect("fails after 60 seconds without progress, or the policy's stallTimeout", () =>
    Effect.gen(function* () {
      for (const [options, milliseconds] of [
        [{}, 60_000],
        [{ stallTimeout: "7 seconds" }, 7000]
      ] as const) {
        const stub = Stub.make(() => Effect.andThen(sends(10, "5 seconds", 11), Effect.never))
        const { result, took } = yield* timed(Effect.flip(upload)).pipe(stub.run(), policy(options))
        expect(result).toMatchObject({
          success: { _tag: "TimeoutError", limit: "stall", milliseconds, attempts: 1, isRetryable: true }
        })
        expect(took).toBe(50_000 + milliseconds)
        expect(stub.sent.map(({ signal }) => signal.aborted)).toEqual([true])
      }
    })
  )

  it.effect("fails after the attempt's limit without a response, counted from its end", () => {
    const stub = Stub.make(() => Effect.andThen(sends(100, "5 seconds"), Effect.never))
    return Effect.gen(function* () {
      const { result, took } = yield* timed(Effect.flip(upload))
      expect(result).toMatchObject({ success: { _tag: "TimeoutError", limit: "attempt", milliseconds: 20_000 } })
      expect(took).toBe(520_000)
    }).pipe(stub.run(), policy({ attemptTimeout: "20 seconds" }))
  })

  it.effect("that never begins to move fails after the attempt's limit or the stall's, whichever is shorter", () =>
    Effect.gen(function* () {
      for (const [attemptTimeout, limit, milliseconds] of [
        ["20 seconds", "attempt", 20_000],
        ["90 seconds", "stall", 60_000]
      ] as const) {
        const stub = Stub.make(() => Effect.andThen(sends(0, 0, 1), Effect.never))
        const { result, took } = yield* timed(Effect.flip(upload)).pipe(stub.run(), policy({ attemptTimeout }))
        expect(result).toMatchObject({ success: { _tag: "TimeoutError", limit, milliseconds } })
        expect(took).toBe(milliseconds)
      }
    })
  )

  it.effect("that an HttpClient does not report is limited from its start", () => {
    const stub = Stub.make(() => Effect.never)
    return Effect.gen(function* () {
      const { result, took } = yield* timed(Effect.flip(upload))
      expect(result).toMatchObject({ success: { _tag: "TimeoutError", limit: "attempt", milliseconds: 90_000 } })
      expect(took).toBe(90_000)
    }).pipe(stub.run(), policy({}))
  })

  it.effect("leaves the rest of the deadline to its retries, and the error names the whole deadline", () => {
    // Each upload takes 100 seconds, and its response is awaited for 40.
    const stub = Stub.make(() => Effect.andThen(sends(10, "10 seconds"), Effect.never))
    return Effect.gen(function* () {
      const { result, took } = yield* timed(Effect.flip(transcribe))
      expect(result).toMatchObject({
        success: { _tag: "TimeoutError", limit: "deadline", milliseconds: 100_000, attempts: 3 }
      })
      expect(took).toBe(3 * 100_000 + 100_000)
    }).pipe(
      stub.run(),
      policy({
        deadline: "100 seconds",
        attemptTimeout: "40 seconds",
        maxRetries: 9,
        schedule: () => Schedule.spaced("0 millis")
      })
    )
  })

  it.effect("that is interrupted is aborted at once", () => {
    const stub = Stub.make(() => Effect.map(sends(100, "5 seconds"), stored))
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(upload)
      yield* TestClock.adjust("1 minute")
      yield* Fiber.interrupt(fiber)
      expect(stub.sent.map(({ signal }) => signal.aborted)).toEqual([true])
      yield* TestClock.adjust("1 hour")
      expect(stub.sent).toHaveLength(1)
    }).pipe(stub.run())
  })
})
