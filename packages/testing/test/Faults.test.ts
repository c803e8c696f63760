import { describe, expect, it } from "@effect/vitest"
import { Gateway, GatewayConfig, RetryPolicy } from "@model-gateway/core"
import { Faults, GatewayTest, Recorder, Samples } from "@model-gateway/testing"
import { Clock, Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"

const gateway = Gateway.Gateway

const handlers: GatewayTest.Handlers = {
  rerank: Samples.rerankResponse,
  currentKey: Samples.currentKeyResponse,
  listModels: Samples.modelListResponse
}

const run = (faults: Faults.Plans) =>
  Effect.provide([GatewayTest.layer(handlers, { faults }), GatewayTest.layerNoWaits])

const once = Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none)

const outcomes = Effect.map(Recorder.requests, (requests) => requests.map(({ outcome }) => outcome))

/** The outcome of a single attempt of GET `/key` with a fault for all requests. */
const single = (fault: Faults.Fault | Faults.Disturbance) =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(once((yield* gateway).currentKey))
    return { error, outcomes: yield* outcomes }
  }).pipe(run({ currentKey: fault }))

it.effect("first: applies to the first requests only", () =>
  Effect.gen(function* () {
    yield* (yield* gateway).currentKey
    yield* (yield* gateway).currentKey
    expect(yield* outcomes).toEqual(["cut", "cut", 200, 200])
  }).pipe(run({ currentKey: Faults.first(2, Faults.cut) }))
)

it.effect("a list applies in order, and `none` skips one request", () =>
  Effect.gen(function* () {
    const { currentKey } = yield* gateway
    yield* currentKey
    yield* currentKey
    expect(yield* outcomes).toEqual([200, 503, "cut", 200])
  }).pipe(run([Faults.none, Faults.status(503), Faults.cut]))
)

it.effect("a single fault applies to all requests, and each operation is counted separately", () =>
  Effect.gen(function* () {
    const client = yield* gateway
    const error = yield* Effect.flip(client.rerank(Samples.rerankRequest))
    expect(error).toMatchObject({ _tag: "ServiceUnavailable", attempts: 4 })
    yield* client.currentKey
    yield* client.listModels()
    expect(yield* outcomes).toEqual([503, 503, 503, 503, "cut", 200, 200])
  }).pipe(run({ rerank: Faults.status(503), currentKey: Faults.first(1, Faults.cut) }))
)

it.effect("status: returns the contract's error with the service's message and headers", () =>
  Effect.gen(function* () {
    const error = yield* Effect.flip(once((yield* gateway).rerank(Samples.rerankRequest)))
    expect(error).toMatchObject({
      _tag: "TooManyRequests",
      error: { message: "slow down" },
      message: "rerank: 429 slow down (request req_fault, 1 attempt)",
      retryAfter: 3,
      requestId: "req_fault",
      metadata: { retry_after: 3, bucket: "a" }
    })
  }).pipe(run({ rerank: Faults.status(429, { message: "slow down", retryAfter: 3, metadata: { bucket: "a" } }) }))
)

it.effect("cut: a TransportError with the cause and without the credential", () =>
  Effect.gen(function* () {
    const { error, outcomes } = yield* single(Faults.cut)
    expect(error).toMatchObject({ _tag: "TransportError", reason: "connection", underlying: { code: "ECONNRESET" } })
    expect(error.message).toContain("ECONNRESET")
    expect(outcomes).toEqual(["cut"])
  })
)

it.effect("html, notJson, wrongShape, response: an InvalidResponse", () =>
  Effect.gen(function* () {
    expect((yield* single(Faults.html())).error).toMatchObject({ _tag: "InvalidResponse", status: 502 })
    expect((yield* single(Faults.html({ status: 200 }))).error).toMatchObject({ _tag: "InvalidResponse", status: 200 })
    expect((yield* single(Faults.notJson())).error).toMatchObject({
      _tag: "InvalidResponse",
      status: 200,
      description: "a body that is not JSON"
    })
    expect((yield* single(Faults.wrongShape())).error).toMatchObject({ _tag: "InvalidResponse", status: 200 })
    expect((yield* single(Faults.wrongShape({ status: 500, json: { error: "text" } }))).error).toMatchObject({
      _tag: "InvalidResponse",
      status: 500
    })
    expect((yield* single(Faults.response({ status: 418, headers: { "x-request-id": "r" } }))).error).toMatchObject({
      _tag: "InvalidResponse",
      status: 418,
      requestId: "r"
    })
  })
)

it.effect("slow: delays the real response by the TestClock", () =>
  Effect.gen(function* () {
    const call = yield* Effect.forkChild((yield* gateway).currentKey)
    yield* TestClock.adjust("2999 millis")
    expect(yield* outcomes).toEqual(["pending"])
    yield* TestClock.adjust("1 millis")
    expect(yield* Fiber.join(call)).toEqual(Samples.keyRecord)
    expect(yield* outcomes).toEqual([200])
  }).pipe(run({ currentKey: Faults.slow("3 seconds") }))
)

it.effect("silence: each attempt ends at its time limit, and the call at its deadline", () =>
  Effect.gen(function* () {
    const call = yield* Effect.forkChild(Effect.flip((yield* gateway).currentKey))
    yield* TestClock.adjust("89999 millis")
    expect(yield* outcomes).toEqual(["pending"])
    yield* TestClock.adjust("1 millis")
    expect((yield* outcomes)[0]).toEqual("abandoned")
    yield* TestClock.adjust("209999 millis")
    expect((yield* outcomes).at(-1)).toEqual("pending")
    yield* TestClock.adjust("1 millis")
    expect(yield* Fiber.join(call)).toMatchObject({ _tag: "TimeoutError", attempts: 4, milliseconds: 300_000 })
    expect(yield* outcomes).toEqual(["abandoned", "abandoned", "abandoned", "abandoned"])
  }).pipe(run({ currentKey: Faults.silence }))
)

it.effect("cutBody: the work is done, but its response is lost", () => {
  let done = 0
  return Effect.gen(function* () {
    expect(yield* (yield* gateway).rerank(Samples.rerankRequest)).toEqual(Samples.rerankResponse)
    expect(done).toBe(2)
    expect(yield* outcomes).toEqual([200, 200])
    expect(yield* Effect.flip(once((yield* gateway).listModels()))).toMatchObject({ _tag: "TransportError" })
  }).pipe(
    Effect.provide([
      GatewayTest.layer(
        {
          rerank: () => {
            done++
            return Samples.rerankResponse
          },
          listModels: Samples.modelListResponse
        },
        { faults: { rerank: [Faults.cutBody()], listModels: Faults.cutBody({ after: 0 }) } }
      ),
      GatewayTest.layerNoWaits
    ])
  )
})

it.effect("cutBody: closes the connection without waiting for the rest of the body", () =>
  Effect.gen(function* () {
    let bytes = 0
    const content = Stream.runForEach((yield* gateway).fileContent(Samples.fileId), (chunk) =>
      Effect.sync(() => (bytes += chunk.length))
    )
    expect(yield* Effect.flip(GatewayTest.fastForward(once(content)))).toMatchObject({ _tag: "TransportError" })
    expect(bytes).toBe(100)
  }).pipe(
    Effect.provide(
      GatewayTest.layer(
        { fileContent: Stream.concat(Stream.make(Samples.wav.subarray(0, 70), Samples.wav), Stream.never) },
        { faults: { fileContent: Faults.cutBody({ after: 100 }) } }
      )
    )
  )
)

it.effect("layer: applies to any HttpClient, with a recorder", () =>
  Effect.gen(function* () {
    const { rerank } = yield* gateway
    expect(yield* rerank(Samples.rerankRequest)).toEqual(Samples.rerankResponse)
    expect((yield* Recorder.of("rerank")).map(({ attempt, outcome, path }) => [attempt, outcome, path])).toEqual([
      [1, "cut", "/behind/a/proxy/api/v1/rerank"],
      [2, 529, "/behind/a/proxy/api/v1/rerank"],
      [3, 200, "/behind/a/proxy/api/v1/rerank"]
    ])
  }).pipe(
    Effect.provide(
      Gateway.layer.pipe(
        Layer.provideMerge(Recorder.layer),
        Layer.provide(Faults.layer({ rerank: [Faults.cut, Faults.status(529)] })),
        Layer.provide(GatewayTest.layerHttpClient(handlers)),
        Layer.provide(
          GatewayConfig.layer({
            baseUrl: "https://gateway.example/behind/a/proxy/api/v1/",
            credential: Redacted.make("secret")
          })
        )
      )
    ),
    Effect.provide(GatewayTest.layerNoWaits)
  )
)

it.effect("stallBody: a response that stops within its body ends at the attempt's time limit", () =>
  Effect.gen(function* () {
    const call = (yield* gateway).rerank(Samples.rerankRequest)
    expect(yield* GatewayTest.fastForward(call)).toEqual(Samples.rerankResponse)
    expect((yield* Recorder.of("rerank")).map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 200],
      [2, 200]
    ])
    expect(yield* Clock.currentTimeMillis).toBeGreaterThanOrEqual(90_000)
  }).pipe(run({ rerank: [Faults.stallBody({ after: 20 })] }))
)

const patient = Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 30 }))

describe("outage", () => {
  it.effect("lasts for its time", () =>
    Effect.gen(function* () {
      const { currentKey } = yield* gateway
      yield* GatewayTest.fastForward(patient(currentKey))
      expect(yield* Clock.currentTimeMillis).toBeGreaterThanOrEqual(60_000)
      expect((yield* outcomes).at(-1)).toBe(200)
      expect(new Set((yield* outcomes).slice(0, -1))).toEqual(new Set(["cut"]))
    }).pipe(Effect.provide(GatewayTest.layer(handlers, { faults: Faults.outage("1 minute") })))
  )

  it.effect("begins when it says, with the fault that it says, for its operation only", () =>
    Effect.gen(function* () {
      const { currentKey, listModels } = yield* gateway
      yield* once(currentKey)
      yield* TestClock.adjust("10 seconds")
      expect(yield* Effect.flip(once(currentKey))).toMatchObject({ _tag: "InternalServerError" })
      yield* once(listModels())
      yield* TestClock.adjust("4999 millis")
      expect(yield* Effect.flip(once(currentKey))).toMatchObject({ _tag: "InternalServerError" })
      yield* TestClock.adjust("1 millis")
      yield* once(currentKey)
    }).pipe(run({ currentKey: Faults.outage("5 seconds", { after: "10 seconds", step: Faults.status(500) }) }))
  )
})

describe("fastForward", () => {
  it.effect("returns the failure of the effect", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(GatewayTest.fastForward((yield* gateway).currentKey))
      expect(error).toMatchObject({ _tag: "TransportError", attempts: 4 })
    }).pipe(Effect.provide(GatewayTest.layer(handlers, { faults: Faults.outage("1 hour") })))
  )

  it.effect("fails the test if the effect does not end", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(GatewayTest.fastForward(Effect.never, { within: "2 minutes" }))
      expect(String(exit)).toContain("the effect has not ended within 2m")
    })
  )

  it.live("fails the test without the TestClock", () =>
    Effect.gen(function* () {
      expect(String(yield* Effect.exit(GatewayTest.fastForward(Effect.void)))).toContain("needs the TestClock")
    })
  )
})
