import { describe, expect, it } from "@effect/vitest"
import { Gateway, type GatewayConfig, RetryPolicy, Telemetry } from "@model-gateway/core"
import { Deferred, Effect, Exit, Fiber, Logger, Metric, References, Schedule, Stream, Tracer } from "effect"
import { TestClock } from "effect/testing"
import * as Stub from "./stub.ts"

const secret = "mg_sk_secret"

const query = "pears in the secret garden"

const rerank = Effect.flatMap(Gateway.Gateway, (gateway) =>
  gateway.rerank({ model: "sandbox/bm25", query, documents: ["a secret document"] })
)

const everySecond = Effect.provideService(
  RetryPolicy.RetryPolicy,
  RetryPolicy.make({ schedule: () => Schedule.spaced("1 second") })
)

/** Runs a call until its deadline is over. */
const settled = <A, E, R>(call: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.exit(call))
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

/** A tracer that keeps its spans, a logger that keeps its entries, and metrics of its own. */
const recorder = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const logs: Array<unknown> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const logger = Logger.make(({ fiber, logLevel, message }) => {
    logs.push({ logLevel, message, annotations: fiber.getRef(References.CurrentLogAnnotations) })
  })
  return {
    spans,
    logs,
    named: (name: string) => {
      const [span, ...others] = spans.filter((span) => span.name === name)
      if (span === undefined || others.length > 0) throw new Error(`${others.length + 1} spans ${name}`)
      return span
    },
    run: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      effect.pipe(
        Effect.provideService(Tracer.Tracer, tracer),
        Effect.provide(Logger.layer([logger])),
        Effect.provideService(References.MinimumLogLevel, "Debug"),
        Effect.provideService(Metric.MetricRegistry, new Map())
      )
  }
}

const observed = (stub: ReturnType<typeof Stub.make>, options: Partial<GatewayConfig.Options> = {}) =>
  stub.run(options, Telemetry.layer)

const attributes = (span: Tracer.NativeSpan) => Object.fromEntries(span.attributes)

const parentOf = (span: Tracer.NativeSpan) => (span.parent._tag === "Some" ? span.parent.value : undefined)

const answer = {
  ...Stub.ranking,
  id: "gen_1",
  model: "served/model",
  provider: "Some Provider",
  usage: { search_units: 1, total_tokens: 7, cost: 0.001 }
}

describe("telemetry", () => {
  it.effect("a call has one client span, around a span for each request", () => {
    const seen = recorder()
    const stub = Stub.make((_, number) =>
      number < 3 ? Stub.failure(503) : Stub.json(answer, 200, { "x-request-id": "req_1" })
    )
    return Effect.gen(function* () {
      yield* settled(rerank)
      const span = seen.named("gateway.rerank")
      expect(span.kind).toBe("client")
      expect(attributes(span)).toEqual({
        "gen_ai.operation.name": "rerank",
        "gen_ai.provider.name": "Some Provider",
        "gen_ai.request.model": "sandbox/bm25",
        "gen_ai.response.id": "gen_1",
        "gen_ai.response.model": "served/model",
        "gen_ai.usage.cost": 0.001,
        "gen_ai.usage.input_tokens": 7,
        "http.request.resend_count": 2,
        "http.response.header.x-request-id": ["req_1"],
        "http.response.status_code": 200,
        "model_gateway.attempts": 3,
        "model_gateway.usage.search_units": 1,
        "server.address": "gateway.test",
        "server.port": 80
      })
      expect(span.status).toMatchObject({ _tag: "Ended", exit: { _tag: "Success" } })
      const requests = seen.spans.filter(({ name }) => name === "POST")
      expect(requests.map(parentOf)).toEqual([span, span, span])
      expect(requests.map((request) => request.attributes.get("model_gateway.attempt.number"))).toEqual([1, 2, 3])
      expect(requests.map((request) => request.attributes.get("http.request.resend_count"))).toEqual([undefined, 1, 2])
    }).pipe(observed(stub), everySecond, seen.run)
  })

  it.effect("a failed call's span has the error's tag, and nothing that the service said", () => {
    const seen = recorder()
    const stub = Stub.make(() => Stub.failure(400, { headers: { "x-request-id": "req_2" } }))
    return Effect.gen(function* () {
      yield* Effect.exit(rerank)
      const span = seen.named("gateway.rerank")
      expect(attributes(span)).toMatchObject({
        "error.type": "BadRequest",
        "gen_ai.provider.name": "model_gateway",
        "http.response.status_code": 400,
        "http.response.header.x-request-id": ["req_2"],
        "model_gateway.attempts": 1
      })
      const status = span.status
      if (status._tag !== "Ended") throw new Error("the span has not ended")
      expect(status.exit).toEqual(Exit.fail({ name: "BadRequest", message: "rerank failed: BadRequest" }))
    }).pipe(observed(stub), seen.run)
  })

  it.effect("the model of a form is recorded, and an interrupted call is no error", () => {
    const seen = recorder()
    const stub = Stub.make(() => Effect.never)
    return Effect.gen(function* () {
      const fiber = yield* Effect.flatMap(Gateway.Gateway, (gateway) =>
        gateway.transcribe({ model: "sandbox/tones", file: new Uint8Array(3), filename: "a.wav" })
      ).pipe(Effect.forkChild({ startImmediately: true }))
      yield* Fiber.interrupt(fiber)
      const span = seen.named("gateway.transcribe")
      expect(attributes(span)).toMatchObject({ "gen_ai.request.model": "sandbox/tones", "error.type": "interrupted" })
    }).pipe(observed(stub), seen.run)
  })

  it.effect("the span of a stream of bytes ends with the stream", () => {
    const seen = recorder()
    const stub = Stub.make(() => new Response("0123456789"))
    return Effect.gen(function* () {
      const { videoContent } = yield* Gateway.Gateway
      const inside: Array<string> = []
      yield* Stream.runForEach(videoContent("v_1"), () =>
        Effect.sync(() => inside.push(seen.named("gateway.videoContent").status._tag))
      )
      expect(inside).toEqual(["Started"])
      expect(seen.named("gateway.videoContent").status._tag).toBe("Ended")
    }).pipe(observed(stub), seen.run)
  })

  const readers: ReadonlyArray<
    readonly [name: string, read: (bytes: Stream.Stream<Uint8Array, unknown>) => Effect.Effect<unknown, unknown>]
  > = [
    ["stops early", (bytes) => Stream.runDrain(Stream.take(bytes, 1))],
    ["fails", (bytes) => Stream.runForEach(bytes, () => Effect.fail({ _tag: "DiskFull" }))]
  ]
  for (const [name, read] of readers) {
    it.effect(`a reader that ${name} ends the span of a stream of bytes, without an error`, () => {
      const seen = recorder()
      const stub = Stub.make(() => new Response("0123456789"))
      return Effect.gen(function* () {
        const { videoContent } = yield* Gateway.Gateway
        yield* Effect.exit(read(videoContent("v_1")))
        const span = seen.named("gateway.videoContent")
        expect(span.status).toMatchObject({ _tag: "Ended", exit: { _tag: "Success" } })
        expect(span.attributes.has("error.type")).toBe(false)
      }).pipe(observed(stub), seen.run)
    })
  }

  it.effect("a reader that is interrupted ends the span of a stream of bytes as interrupted", () => {
    const seen = recorder()
    const stub = Stub.make(() => new Response("0123456789"))
    return Effect.gen(function* () {
      const { videoContent } = yield* Gateway.Gateway
      const reading = yield* Deferred.make<void>()
      const fiber = yield* videoContent("v_1").pipe(
        Stream.runForEach(() => Effect.andThen(Deferred.succeed(reading, undefined), Effect.never)),
        Effect.forkChild
      )
      yield* Deferred.await(reading)
      yield* Fiber.interrupt(fiber)
      expect(seen.named("gateway.videoContent").attributes.get("error.type")).toBe("interrupted")
    }).pipe(observed(stub), seen.run)
  })

  it.effect("a stream of bytes that fails is recorded once, with its error", () => {
    const seen = recorder()
    const stub = Stub.make(() => new Response("01234", { headers: { "content-length": "10" } }))
    return Effect.gen(function* () {
      const { videoContent } = yield* Gateway.Gateway
      yield* Effect.exit(Stream.runDrain(videoContent("v_1")))
      expect(seen.named("gateway.videoContent").attributes.get("error.type")).toBe("TransportError")
      const attempts = (yield* Metric.snapshot).filter(({ id }) => id === "model_gateway.client.attempts")
      expect(attempts).toMatchObject([{ attributes: { "error.type": "TransportError" }, state: { count: 1 } }])
    }).pipe(observed(stub), seen.run)
  })

  it.effect("a download that continues after an interruption is one span, with each of its requests", () =>
    Effect.gen(function* () {
      const seen = recorder()
      const stub = Stub.make((_, number) =>
        number === 1
          ? new Response("01234", { headers: { etag: '"a"', "content-length": "10" } })
          : new Response("56789", { status: 206, headers: { etag: '"a"', "content-range": "bytes 5-9/10" } })
      )
      const bytes = Effect.gen(function* () {
        const { videoContent } = yield* Gateway.Gateway
        return yield* videoContent("v_1").pipe(Stream.decodeText, Stream.mkString)
      })
      const exit = yield* settled(bytes).pipe(observed(stub), everySecond, seen.run)
      expect(exit).toEqual(Exit.succeed("0123456789"))
      const span = seen.named("gateway.videoContent")
      const requests = seen.spans.filter(({ name }) => name === "GET")
      expect(requests.map(parentOf)).toEqual([span, span])
      expect(requests.map((request) => request.attributes.get("model_gateway.attempt.number"))).toEqual([1, 2])
      expect(span.attributes.get("model_gateway.attempts")).toBe(2)
      expect(span.events.map(([name]) => name)).toEqual(["retry"])
    })
  )

  it.effect("each retry has a debug log with its reason, wait and attempt", () => {
    const seen = recorder()
    const stub = Stub.make((_, number) =>
      number === 1 ? Stub.failure(429, { headers: { "retry-after": "2" } }) : number === 2 ? "cut" : Stub.json(answer)
    )
    return Effect.gen(function* () {
      yield* settled(rerank)
      expect(seen.logs).toEqual([
        {
          logLevel: "Debug",
          message: ["rerank: attempt 1 failed (429), next attempt in 2000 ms"],
          annotations: { operation: "rerank", reason: 429, wait: 2000, attempt: 1 }
        },
        {
          logLevel: "Debug",
          message: ["rerank: attempt 2 failed (transport), next attempt in 1000 ms"],
          annotations: { operation: "rerank", reason: "transport", wait: 1000, attempt: 2 }
        }
      ])
    }).pipe(observed(stub), everySecond, seen.run)
  })

  it.effect("the wait of a retry is in whole milliseconds", () => {
    const seen = recorder()
    const stub = Stub.make((_, number) => (number === 1 ? Stub.failure(503) : Stub.json(answer)))
    return Effect.gen(function* () {
      yield* settled(rerank)
      expect(seen.logs).toMatchObject([{ message: [expect.stringMatching(/next attempt in \d+ ms$/)] }])
    }).pipe(observed(stub), seen.run)
  })

  it.effect("the metrics have durations, attempts and cost by operation, model and error", () => {
    const seen = recorder()
    const stub = Stub.make((_, number) =>
      number === 1 ? Stub.failure(503) : number === 2 ? Stub.json(answer) : Stub.failure(402)
    )
    return Effect.gen(function* () {
      yield* settled(rerank)
      yield* settled(rerank)
      const snapshot = yield* Metric.snapshot
      const labels = {
        "gen_ai.operation.name": "rerank",
        "gen_ai.provider.name": "model_gateway",
        "gen_ai.request.model": "sandbox/bm25"
      }
      const failed = { ...labels, "error.type": "PaymentRequired" }
      expect(
        snapshot.map(({ attributes, id, state }) => ({
          id,
          attributes,
          value: "sum" in state ? [state.count, state.sum] : "count" in state ? state.count : undefined
        }))
      ).toEqual([
        { id: "gen_ai.client.operation.duration", attributes: { ...labels, unit: "s" }, value: [1, 1] },
        { id: "model_gateway.client.attempts", attributes: { ...labels, unit: "{request}" }, value: 2 },
        { id: "model_gateway.client.cost", attributes: { ...labels, unit: "{credit}" }, value: 0.001 },
        { id: "gen_ai.client.operation.duration", attributes: { ...failed, unit: "s" }, value: [1, 0] },
        { id: "model_gateway.client.attempts", attributes: { ...failed, unit: "{request}" }, value: 1 }
      ])
    }).pipe(observed(stub), everySecond, seen.run)
  })

  it.effect("the metrics name at most 100 models", () => {
    const seen = recorder()
    const stub = Stub.make(() => Stub.json(answer))
    return Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      for (let i = 0; i < 150; i++) yield* gateway.rerank({ model: `m${i}`, query, documents: ["d"] })
      const models = (yield* Metric.snapshot).map(({ attributes }) => attributes?.["gen_ai.request.model"])
      expect(new Set(models).size).toBe(101)
      expect(models).toContain("_OTHER")
    }).pipe(observed(stub), seen.run)
  })

  it.effect("no span, log or metric has a credential, an idempotency key or the contents of a request", () => {
    const seen = recorder()
    const stub = Stub.make((_, number) => (number === 1 ? "cut" : Stub.failure(400)))
    return Effect.gen(function* () {
      yield* settled(rerank)
      const record = JSON.stringify(
        [
          seen.spans.map((span) => [span.name, ...span.attributes, ...span.events.map(String), span.status]),
          seen.logs,
          (yield* Metric.snapshot).map(({ attributes }) => attributes)
        ],
        (_, value: unknown) => (typeof value === "bigint" ? String(value) : value)
      )
      expect(record).toContain("gateway.rerank")
      for (const text of [
        secret,
        "hunter2",
        query,
        "secret document",
        stub.sent[0]?.headers["idempotency-key"] ?? secret
      ]) {
        expect(record).not.toContain(text)
      }
    }).pipe(observed(stub, { baseUrl: "http://me:hunter2@gateway.test/api/v1" }), everySecond, seen.run)
  })

  it.effect("is off by default", () => {
    const seen = recorder()
    const stub = Stub.make((_, number) => (number === 1 ? Stub.failure(503) : Stub.json(answer)))
    return Effect.gen(function* () {
      yield* settled(rerank)
      expect(seen.spans.map(({ name }) => name)).toEqual(["POST", "POST"])
      expect(seen.logs).toEqual([])
      expect(yield* Metric.snapshot).toEqual([])
    }).pipe(stub.run(), everySecond, seen.run)
  })
})
