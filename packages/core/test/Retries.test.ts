import { describe, expect, it } from "@effect/vitest"
import {
  Byok,
  ClientError,
  Gateway,
  type GatewayClient,
  GatewayError,
  ProviderFiles,
  RetryPolicy
} from "@model-gateway/core"
import { Effect, Fiber, Layer, Random, Redacted, Schedule } from "effect"
import { TestClock } from "effect/testing"
import * as Stub from "./stub.ts"

const gateway = Gateway.Gateway

const request = { model: "m", query: "q", documents: ["d"] } as const

const trust =
  "This machine does not trust the authority of the certificate. If you trust it, set NODE_EXTRA_CA_CERTS=/path/to/ca.pem in the environment of the program."

const audio = { model: "m", input_audio: { data: "AAAA", format: "wav" } } as const

/** Waits of a fixed length, so that times can be told. */
const every = (wait: "1 second" | "0 millis", options: RetryPolicy.Options = {}) =>
  Effect.provideService(
    RetryPolicy.RetryPolicy,
    RetryPolicy.make({ schedule: () => Schedule.spaced(wait), ...options })
  )

/** What comes of a call by the time its deadline is over. */
const outcome = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.result(call))
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

/** The error of a call by the time its deadline is over. */
const failureOf = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  outcome(Effect.flip(call)).pipe(Effect.flatMap(Effect.fromResult))

describe("retries", () => {
  for (const status of GatewayError.retryableStatuses) {
    it.effect(`status ${status}: retries three times, then fails with the error`, () => {
      const stub = Stub.make(() => Stub.failure(status, { headers: { "x-request-id": "req_9" } }))
      return Effect.gen(function* () {
        const error = yield* failureOf((yield* gateway).transcribe(audio))
        // No operation lists 408.
        expect(error).toBeInstanceOf(status === 408 ? ClientError.InvalidResponse : GatewayError.EnvelopeError)
        expect(error).toMatchObject({ status, attempts: 4, requestId: "req_9", isRetryable: true })
        expect(stub.sent).toHaveLength(4)
      }).pipe(stub.run())
    })
  }

  for (const status of [400, 401, 402, 403, 404, 413, 500]) {
    it.effect(`status ${status}: does not retry`, () => {
      const stub = Stub.make(() => Stub.failure(status))
      return Effect.gen(function* () {
        const error = yield* Effect.flip((yield* gateway).transcribe(audio))
        expect(error).toMatchObject({ status, attempts: 1, isRetryable: false })
        expect(stub.sent).toHaveLength(1)
      }).pipe(stub.run())
    })
  }

  it.effect("a closed connection: retries", () => {
    const stub = Stub.make(() => "cut")
    return Effect.gen(function* () {
      const error = yield* failureOf((yield* gateway).currentKey)
      expect(error).toMatchObject({ _tag: "TransportError", reason: "connection", attempts: 4, underlying: Stub.reset })
      expect(error.message).toBe(
        "currentKey: the connection failed (ECONNRESET) after 4 attempts. Check the base URL and the network."
      )
    }).pipe(stub.run())
  })

  for (const [code, advice] of [
    ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", trust],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", trust],
    ["SELF_SIGNED_CERT_IN_CHAIN", trust],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", trust],
    ["CERT_HAS_EXPIRED", "Check the certificate and the host name of the base URL."],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "Check the certificate and the host name of the base URL."]
  ] as const) {
    it.effect(`${code}: does not retry, and says what to do`, () => {
      const cause = Object.assign(new Error("not accepted"), { code })
      // As Node's `fetch` and as undici report it.
      const stub = Stub.make((_, number) => (number === 1 ? new TypeError("fetch failed", { cause }) : cause))
      return Effect.gen(function* () {
        for (const sent of [1, 2]) {
          const error = yield* failureOf((yield* gateway).currentKey)
          expect(error).toMatchObject({ _tag: "TransportError", reason: "connection", isRetryable: false })
          expect(error.message).toBe(`currentKey: the connection failed (${code}) after 1 attempt. ${advice}`)
          expect(stub.sent).toHaveLength(sent)
        }
      }).pipe(stub.run())
    })
  }

  it.effect("an incomplete body: retries, as after a closed connection", () => {
    const broken = () =>
      new Response(
        new ReadableStream({
          start: (controller) => {
            controller.enqueue(new TextEncoder().encode('{"id":'))
            controller.error(Stub.reset)
          }
        })
      )
    const stub = Stub.make((_, number) => (number < 3 ? broken() : Stub.json(Stub.ranking)))
    return Effect.gen(function* () {
      const result = yield* outcome((yield* gateway).rerank(request))
      expect(result).toMatchObject({ _tag: "Success", success: Stub.ranking })
      expect(stub.sent).toHaveLength(3)
    }).pipe(stub.run())
  })

  it.effect("stop at the first success", () => {
    const stub = Stub.make((_, number) =>
      number === 1 ? "cut" : number === 2 ? Stub.failure(503) : Stub.json(Stub.ranking)
    )
    return Effect.gen(function* () {
      expect(yield* outcome((yield* gateway).rerank(request))).toMatchObject({ success: Stub.ranking })
      expect(stub.sent).toHaveLength(3)
    }).pipe(stub.run())
  })

  it.effect("a proxy's error page: retries if its status is retryable", () => {
    const stub = Stub.make((_, number) =>
      number === 1 ? new Response("<html>busy", { status: 503 }) : Stub.json({ data: Stub.keyRecord })
    )
    return Effect.gen(function* () {
      expect(yield* outcome((yield* gateway).currentKey)).toMatchObject({ success: Stub.keyRecord })
    }).pipe(stub.run())
  })

  it.effect("an invalid URL: does not retry", () => {
    const stub = Stub.make(() => Stub.json({}))
    return Effect.gen(function* () {
      const error = yield* Effect.flip((yield* gateway).currentKey)
      expect(error).toMatchObject({ _tag: "TransportError", reason: "request", attempts: 0, isRetryable: false })
      expect(stub.sent).toEqual([])
    }).pipe(stub.run({ baseUrl: "http://[none]/api/v1" }))
  })

  it.effect("an idempotency key that is not valid in a header: does not retry", () => {
    const stub = Stub.make(() => Stub.json({}))
    return Effect.gen(function* () {
      const error = yield* Effect.flip(
        (yield* gateway).rerank({ model: "m", query: "q", documents: ["d"] }, { idempotencyKey: "order\n7" })
      )
      expect(error).toMatchObject({ _tag: "TransportError", reason: "request", attempts: 0, isRetryable: false })
      expect(error.message).toContain("idempotency key")
      expect(stub.sent).toEqual([])
    }).pipe(stub.run())
  })
})

type Call = (
  client: Gateway.Gateway["Service"]
) => Effect.Effect<unknown, { readonly attempts: number }, GatewayClient.GatewayClient>

describe("a POST that creates something", () => {
  const calls: { readonly [name: string]: Call } = {
    createGuardrail: (client) => client.createGuardrail({ name: "n" }),
    "ProviderFiles.uploadFile": () => ProviderFiles.uploadFile("provider_a", { file: new Uint8Array(3) }),
    createByokKey: () => Byok.createByokKey({ provider: "p", key: "k" })
  }

  for (const [name, call] of Object.entries(calls)) {
    it.effect(`${name} is not retried when it may have been done`, () =>
      Effect.gen(function* () {
        for (const answer of [() => "cut" as const, () => Stub.failure(502), () => Stub.failure(504)]) {
          const stub = Stub.make(answer)
          const error = yield* failureOf(Effect.flatMap(gateway, call).pipe(stub.run()))
          expect(error).toMatchObject({ attempts: 1 })
          expect(stub.sent).toHaveLength(1)
        }
        const silent = Stub.make(() => Effect.never)
        expect(yield* failureOf(Effect.flatMap(gateway, call).pipe(silent.run()))).toMatchObject({
          _tag: "TimeoutError",
          attempts: 1
        })
        expect(silent.sent).toHaveLength(1)
      })
    )

    it.effect(`${name} is retried after a 429 or a 503, which guarantee that nothing was done`, () =>
      Effect.gen(function* () {
        for (const status of [429, 503]) {
          const stub = Stub.make(() => Stub.failure(status))
          expect(yield* failureOf(Effect.flatMap(gateway, call).pipe(stub.run()))).toMatchObject({ attempts: 4 })
          expect(stub.sent).toHaveLength(4)
        }
      })
    )
  }

  it.effect("assigning, unassigning and canceling are idempotent, and retried", () =>
    Effect.gen(function* () {
      const calls: ReadonlyArray<Call> = [
        (client) => client.assignKeys("g", { key_hashes: ["h"] }),
        (client) => client.unassignKeys("g", { key_hashes: ["h"] }),
        (client) => client.cancelVideo("v")
      ]
      for (const call of calls) {
        const stub = Stub.make(() => "cut")
        yield* failureOf(Effect.flatMap(gateway, call).pipe(stub.run()))
        expect(stub.sent).toHaveLength(4)
      }
    })
  )
})

describe("the delay between attempts", () => {
  it.effect("doubles from 250 ms, with 20 % jitter", () => {
    const stub = Stub.make(() => "cut")
    return Effect.gen(function* () {
      yield* failureOf((yield* gateway).currentKey)
      const [first = 0, second = 0, third = 0, fourth = 0] = stub.times()
      expect(first).toBe(0)
      for (const [wait, about] of [
        [second - first, 250],
        [third - second, 500],
        [fourth - third, 1000]
      ] as const) {
        expect(wait).toBeGreaterThanOrEqual(about * 0.8)
        expect(wait).toBeLessThanOrEqual(about * 1.2)
      }
    }).pipe(stub.run())
  })

  it.effect("doubles from one second after a 429 or a 529", () =>
    Effect.gen(function* () {
      for (const status of [429, 529]) {
        const stub = Stub.make(() => Stub.failure(status))
        const start = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
        yield* failureOf(Effect.flatMap(gateway, ({ rerank }) => rerank(request)).pipe(stub.run()))
        const [, second = 0, third = 0] = stub.times()
        expect(second - start).toBeGreaterThanOrEqual(800)
        expect(second - start).toBeLessThanOrEqual(1200)
        expect(third - second).toBeGreaterThanOrEqual(1600)
        expect(third - second).toBeLessThanOrEqual(2400)
      }
    })
  )

  it.effect("takes its jitter from Random, so that clients do not retry at the same time", () => {
    const stub = Stub.make(() => "cut")
    const waits = (seed: string) =>
      Effect.gen(function* () {
        stub.sent.length = 0
        yield* failureOf((yield* gateway).currentKey.pipe(Random.withSeed(seed)))
        return stub.times().map((time) => Math.round(time - (stub.times()[0] ?? 0)))
      }).pipe(stub.run())
    return Effect.gen(function* () {
      const a = yield* waits("a")
      expect(yield* waits("a")).toEqual(a)
      expect(yield* waits("b")).not.toEqual(a)
    })
  })

  const waitOf = (response: () => Response, policy?: RetryPolicy.Options) =>
    Effect.gen(function* () {
      const stub = Stub.make((_, number) => (number === 1 ? response() : Stub.json(Stub.ranking)))
      const start = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
      yield* outcome(
        Effect.flatMap(gateway, ({ rerank }) => rerank(request)).pipe(stub.run(), every("1 second", policy))
      )
      const second = stub.times()[1]
      return second === undefined ? undefined : (second - start) / 1000
    })

  it.effect("is Retry-After, in seconds", () =>
    Effect.gen(function* () {
      expect(yield* waitOf(() => Stub.failure(503, { headers: { "retry-after": "7" } }))).toBe(7)
    })
  )

  it.effect("is Retry-After as a date, relative to the response's Date header", () =>
    Effect.gen(function* () {
      const headers = { date: "Fri, 20 Nov 2026 22:00:00 GMT", "retry-after": "Fri, 20 Nov 2026 22:00:25 GMT" }
      expect(yield* waitOf(() => Stub.failure(503, { headers }))).toBe(25)
    })
  )

  it.effect("is Retry-After as a date, relative to the local clock if a browser hides the Date header", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("Fri, 20 Nov 2026 22:00:00 GMT"))
      const headers = { "retry-after": "Fri, 20 Nov 2026 22:00:25 GMT" }
      expect(yield* waitOf(() => Stub.failure(503, { headers }))).toBe(25)
    })
  )

  it.effect("is the envelope's retry_after if there is no header", () =>
    Effect.gen(function* () {
      expect(yield* waitOf(() => Stub.failure(429, { metadata: { retry_after: 4.5 } }))).toBe(4.5)
      expect(
        yield* waitOf(() => Stub.failure(429, { headers: { "retry-after": "9" }, metadata: { retry_after: 4 } }))
      ).toBe(9)
    })
  )

  it.effect("is at most one minute for Retry-After, or the policy's maxRetryAfter", () =>
    Effect.gen(function* () {
      const after = (seconds: string) => () => Stub.failure(503, { headers: { "retry-after": seconds } })
      expect(yield* waitOf(after("60"))).toBe(60)
      expect(yield* waitOf(after("61"))).toBe(undefined)
      expect(yield* waitOf(after("61"), { maxRetryAfter: "61 seconds" })).toBe(61)
      expect(yield* waitOf(after("3600"), { maxRetryAfter: "2 hours" })).toBe(undefined)
    })
  )

  for (const [header, retryAfter] of [
    ["24615", 24_615],
    ["9".repeat(400), Number.MAX_SAFE_INTEGER]
  ] as const) {
    it.effect(`has a limit: a call that is to wait for ${retryAfter} s fails at once`, () => {
      const stub = Stub.make(() => Stub.failure(429, { headers: { "retry-after": header } }))
      return Effect.gen(function* () {
        const error = yield* Effect.flip((yield* gateway).rerank(request))
        expect(error).toMatchObject({ _tag: "TooManyRequests", retryAfter, attempts: 1 })
      }).pipe(stub.run())
    })
  }

  it.effect("is 0 after a Retry-After of 0", () =>
    Effect.gen(function* () {
      expect(yield* waitOf(() => Stub.failure(503, { headers: { "retry-after": "0" } }))).toBe(0)
    })
  )

  it.effect("is the policy's own if that is longer, or if Retry-After is invalid", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("Fri, 20 Nov 2026 22:00:00 GMT"))
      for (const value of ["soon", "-3", "Fri, 20 Nov 1980 22:00:00 GMT", ""]) {
        expect([value, yield* waitOf(() => Stub.failure(503, { headers: { "retry-after": value } }))]).toEqual([
          value,
          1
        ])
      }
    })
  )

  it.effect("is in the error of the failed call", () => {
    const stub = Stub.make(() => Stub.failure(429, { headers: { "retry-after": "11" } }))
    return Effect.gen(function* () {
      const error = yield* Effect.flip((yield* gateway).rerank(request))
      expect(error).toMatchObject({ _tag: "TooManyRequests", retryAfter: 11 })
    }).pipe(stub.run(), Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none))
  })
})

describe("the deadline", () => {
  it.effect("covers all attempts and delays", () => {
    const stub = Stub.make(() => Effect.never)
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.flip((yield* gateway).currentKey))
      yield* TestClock.adjust("9999 millis")
      expect(fiber.pollUnsafe()).toBe(undefined)
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)
      // Attempts begin at 0, 4 and 8 seconds: each takes three seconds, with a delay of one.
      expect(error).toMatchObject({ _tag: "TimeoutError", milliseconds: 10_000, attempts: 3, isRetryable: true })
      expect(stub.times()).toEqual([0, 4000, 8000])
      expect(stub.sent.every(({ signal }) => signal.aborted)).toBe(true)
    }).pipe(stub.run(), every("1 second", { deadline: "10 seconds", attemptTimeout: "3 seconds", maxRetries: 10 }))
  })

  it.effect("of one attempt is reported as such", () => {
    const stub = Stub.make(() => Effect.never)
    return Effect.gen(function* () {
      const error = yield* failureOf((yield* gateway).currentKey)
      expect(error).toMatchObject({ _tag: "TimeoutError", milliseconds: 3000, attempts: 2 })
      expect(error.message).toBe(
        "currentKey: no response within 3000 ms, after 2 attempts. Try again, or raise the time limits of the retry policy."
      )
    }).pipe(stub.run(), every("1 second", { attemptTimeout: "3 seconds", maxRetries: 1 }))
  })

  it.effect("applies to a body that never ends", () => {
    const stub = Stub.make(() => new Response(new ReadableStream()))
    return Effect.gen(function* () {
      expect(yield* failureOf((yield* gateway).currentKey)).toMatchObject({ _tag: "TimeoutError" })
    }).pipe(stub.run(), every("1 second", { deadline: "5 seconds" }))
  })

  it.effect("fails at once if the next delay would exceed it", () => {
    const stub = Stub.make(() => Stub.failure(503, { headers: { "retry-after": "30" } }))
    return Effect.gen(function* () {
      const error = yield* Effect.flip((yield* gateway).rerank(request))
      expect(error).toMatchObject({ _tag: "ServiceUnavailable", attempts: 1, retryAfter: 30 })
      expect(stub.times()).toEqual([0])
    }).pipe(stub.run(), every("1 second", { deadline: "30 seconds" }))
  })

  it.effect("counts the time that attempts took", () => {
    const stub = Stub.make(() => Effect.delay(Effect.succeed(Stub.failure(503)), "4 seconds"))
    return Effect.gen(function* () {
      const error = yield* failureOf((yield* gateway).rerank(request))
      // 4 + 1 + 4 + 1 seconds: no time is left for a third attempt.
      expect(error).toMatchObject({ _tag: "ServiceUnavailable", attempts: 2 })
    }).pipe(stub.run(), every("1 second", { deadline: "10 seconds" }))
  })

  it.effect("is five minutes by default", () => {
    const stub = Stub.make(() => Effect.never)
    return Effect.gen(function* () {
      const error = yield* failureOf((yield* gateway).currentKey)
      expect(error).toMatchObject({ _tag: "TimeoutError", limit: "deadline", milliseconds: 300_000, attempts: 4 })
      expect(yield* Effect.clockWith((clock) => clock.currentTimeMillis)).toBeGreaterThanOrEqual(300_000)
    }).pipe(stub.run())
  })

  it.effect("can be infinite", () => {
    const stub = Stub.make(() => Effect.delay(Effect.succeed(Stub.json({ data: Stub.keyRecord })), "30 minutes"))
    return Effect.gen(function* () {
      expect(yield* outcome((yield* gateway).currentKey)).toMatchObject({ _tag: "Success" })
    }).pipe(stub.run(), every("1 second", { deadline: "Infinity", attemptTimeout: "Infinity" }))
  })
})

describe("the policy", () => {
  it.effect("`none` allows one attempt", () => {
    const stub = Stub.make(() => "cut")
    return Effect.gen(function* () {
      expect(yield* Effect.flip((yield* gateway).currentKey)).toMatchObject({ attempts: 1 })
    }).pipe(stub.run(), Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none))
  })

  it.effect("can be set for a layer and for one call [spec V3]", () => {
    const stub = Stub.make(() => "cut")
    return Effect.gen(function* () {
      const { currentKey } = yield* gateway
      expect(yield* Effect.flip(currentKey)).toMatchObject({ attempts: 2 })
      const more = currentKey.pipe(every("0 millis", { maxRetries: 5 }))
      expect(yield* Effect.flip(more)).toMatchObject({ attempts: 6 })
      expect(yield* Effect.flip(currentKey)).toMatchObject({ attempts: 2 })
    }).pipe(
      stub.run(),
      Effect.provide(
        Layer.succeed(
          RetryPolicy.RetryPolicy,
          RetryPolicy.make({ maxRetries: 1, schedule: () => Schedule.spaced("0 millis") })
        )
      )
    )
  })

  it.effect("is the call's own, or else the configuration's, or else the one provided to the layer", () => {
    const stub = Stub.make(() => "cut")
    const upTo = (maxRetries: number) => RetryPolicy.make({ maxRetries, schedule: () => Schedule.spaced("0 millis") })
    const attempts = Effect.map(
      Effect.flatMap(gateway, (client) => Effect.flip(client.currentKey)),
      (error) => error.attempts
    )
    const ownPolicy = Effect.provideService(RetryPolicy.RetryPolicy, upTo(4))
    const policyOfLayer = Layer.succeed(RetryPolicy.RetryPolicy, upTo(1))
    return Effect.gen(function* () {
      expect(yield* attempts.pipe(stub.run({}, policyOfLayer))).toBe(2)
      expect(yield* attempts.pipe(stub.run({ retryPolicy: upTo(2) }, policyOfLayer))).toBe(3)
      expect(yield* attempts.pipe(ownPolicy, stub.run({ retryPolicy: upTo(2) }, policyOfLayer))).toBe(5)
      expect(yield* attempts.pipe(ownPolicy, stub.run({}, policyOfLayer))).toBe(5)
    })
  })

  it.effect("has a schedule for each reason, and each starts from its beginning [spec V3]", () => {
    const answers = ["cut", 503, "cut", 429, 503] as const
    const stub = Stub.make((_, number) => {
      const answer = answers[number - 1]
      return answer === undefined ? Stub.json(Stub.ranking) : answer === "cut" ? answer : Stub.failure(answer)
    })
    const asked: Array<RetryPolicy.RetryReason> = []
    return Effect.gen(function* () {
      yield* outcome((yield* gateway).rerank(request))
      const waits = stub.times().map((time, index, times) => (time - (times[index - 1] ?? 0)) / 1000)
      expect(waits).toEqual([0, 1, 10, 2, 100, 20])
      expect(asked).toEqual(["transport", 503, 429])
    }).pipe(
      stub.run(),
      Effect.provideService(
        RetryPolicy.RetryPolicy,
        RetryPolicy.make({
          maxRetries: 9,
          schedule: (reason) => {
            asked.push(reason)
            return Schedule.exponential(
              reason === "transport" ? "1 second" : reason === 503 ? "10 seconds" : "100 seconds"
            )
          }
        })
      )
    )
  })

  it.effect("stops when its schedule ends, even if retries are left", () => {
    const stub = Stub.make(() => "cut")
    return Effect.gen(function* () {
      expect(yield* Effect.flip((yield* gateway).currentKey)).toMatchObject({ attempts: 2 })
    }).pipe(
      stub.run(),
      Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ schedule: () => Schedule.recurs(1) }))
    )
  })
})

describe("the attempt", () => {
  it.effect("is visible to the HttpClient", () => {
    const seen: Array<RetryPolicy.Attempt | undefined> = []
    const stub = Stub.make((_, number) =>
      Effect.gen(function* () {
        seen.push(yield* RetryPolicy.CurrentAttempt)
        return number < 3 ? "cut" : Stub.json({ data: Stub.keyRecord })
      })
    )
    return Effect.gen(function* () {
      yield* (yield* gateway).currentKey
      yield* (yield* gateway).currentKey
      expect(seen).toEqual([1, 2, 3, 1].map((number) => ({ operation: "currentKey", number, isLongPoll: false })))
      expect(yield* RetryPolicy.CurrentAttempt).toBe(undefined)
    }).pipe(stub.run(), every("0 millis"))
  })
})

describe("interruption", () => {
  it.effect("aborts the request at once and stops retrying", () => {
    const stub = Stub.make(() => Effect.never)
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild((yield* gateway).currentKey, { startImmediately: true })
      yield* Effect.yieldNow
      expect(stub.sent.map(({ signal }) => signal.aborted)).toEqual([false])
      yield* Fiber.interrupt(fiber)
      expect(stub.sent.map(({ signal }) => signal.aborted)).toEqual([true])
      yield* TestClock.adjust("1 hour")
      expect(stub.sent).toHaveLength(1)
    }).pipe(stub.run())
  })

  it.effect("stops during a delay, too", () => {
    const stub = Stub.make(() => "cut")
    return Effect.gen(function* () {
      const fiber = yield* Effect.forkChild((yield* gateway).currentKey, { startImmediately: true })
      yield* TestClock.adjust("1 millis")
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("1 hour")
      expect(stub.sent).toHaveLength(1)
    }).pipe(stub.run())
  })
})

describe("the credential", () => {
  it.effect("as an Effect runs before every attempt of a free call", () => {
    let asked = 0
    const stub = Stub.make((_, number) => (number < 3 ? "cut" : Stub.json({ data: Stub.keyRecord })))
    return Effect.gen(function* () {
      yield* (yield* gateway).currentKey
      expect(stub.sent.map(({ headers }) => headers["authorization"])).toEqual([
        "Bearer token_1",
        "Bearer token_2",
        "Bearer token_3"
      ])
    }).pipe(stub.run({ credential: Effect.sync(() => Redacted.make(`token_${++asked}`)) }), every("0 millis"))
  })

  it.effect("stays the same for a paid call whose response was lost, so that it is not charged twice", () => {
    let asked = 0
    const stub = Stub.make((_, number) =>
      number === 1 ? Stub.failure(529) : number < 4 ? "cut" : Stub.json(Stub.ranking)
    )
    return Effect.gen(function* () {
      yield* (yield* gateway).rerank(request)
      expect(stub.sent.map(({ headers }) => headers["authorization"])).toEqual([
        "Bearer token_1",
        "Bearer token_2",
        "Bearer token_2",
        "Bearer token_2"
      ])
    }).pipe(stub.run({ credential: Effect.sync(() => Redacted.make(`token_${++asked}`)) }), every("0 millis"))
  })

  it.effect("is unavailable: nothing is sent or retried", () => {
    const stub = Stub.make(() => Stub.json({}))
    return Effect.gen(function* () {
      const error = yield* Effect.flip((yield* gateway).currentKey)
      expect(error).toMatchObject({
        _tag: "TransportError",
        reason: "credential",
        underlying: undefined,
        attempts: 0,
        isRetryable: false
      })
      expect(error.message).toBe("currentKey: nothing was sent, because the credential is not available")
      expect(stub.sent).toEqual([])
    }).pipe(stub.run({ credential: Effect.fail("signed out") }))
  })

  it.effect("is unavailable on a retry: the call fails", () => {
    let asked = 0
    const stub = Stub.make(() => "cut")
    return Effect.gen(function* () {
      expect(yield* Effect.flip((yield* gateway).currentKey)).toMatchObject({ reason: "credential", attempts: 1 })
    }).pipe(
      stub.run({
        credential: Effect.suspend(() => (++asked === 1 ? Effect.succeed(Redacted.make("t")) : Effect.fail("gone")))
      }),
      every("0 millis")
    )
  })

  it.effect("that never resolves is limited by the deadline", () => {
    const stub = Stub.make(() => Stub.json({}))
    return Effect.gen(function* () {
      expect(yield* failureOf((yield* gateway).currentKey)).toMatchObject({ _tag: "TimeoutError" })
      expect(stub.sent).toEqual([])
    }).pipe(stub.run({ credential: Effect.never }), every("1 second", { deadline: "5 seconds" }))
  })

  it.effect("that is not valid in a header is rejected without quoting it", () =>
    Effect.gen(function* () {
      for (const token of ["", "mg_sk_secret\n", "mg_sk_secret\r\nx: y", "mg sk secret", "mg_sk_secrét"]) {
        const stub = Stub.make(() => Stub.json({}))
        const error = yield* Effect.flip(
          Effect.flatMap(gateway, ({ currentKey }) => currentKey).pipe(stub.run({ credential: Redacted.make(token) }))
        )
        expect(error).toMatchObject({ _tag: "TransportError", reason: "credential", attempts: 0 })
        expect(stub.sent).toEqual([])
      }
    })
  )
})
