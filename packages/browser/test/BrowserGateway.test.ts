// Tests that need no browser: they use a scripted fetch and the TestClock.
import { assert, describe, it } from "@effect/vitest"
import { BrowserGateway, BrowserHttpClient, type LongLivedKey, Settings, UploadProgress } from "@model-gateway/browser"
import { Gateway, type GatewayClient, type GatewayConfig, RetryPolicy, Telemetry } from "@model-gateway/core"
import { Effect, Exit, Fiber, Layer, Redacted, Stream, Tracer } from "effect"
import { FetchHttpClient, HttpClient, HttpClientRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { expectTypeOf } from "vitest"

const baseUrl = "https://gateway.example/api/v1"

const ranking = { id: "rr-1", model: "sandbox/bm25", results: [] }

const envelope = (code: number) => ({ error: { code, message: "no" }, user_id: null })

/**
 * A `fetch` with the given responses, which records its requests and which of them were aborted.
 */
const scripted = (answer: (request: Request) => Response | Promise<Response>) => {
  const requests: Array<Request> = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    requests.push(request)
    return answer(request)
  }
  return { requests, fetch }
}

const rerank = Effect.flatMap(Gateway.Gateway, (gateway) =>
  gateway.rerank({ model: "sandbox/bm25", query: "q", documents: ["d"] })
)

const run = <E>(layer: Layer.Layer<Gateway.Gateway | GatewayClient.GatewayClient, E>, fetch: typeof globalThis.fetch) =>
  rerank.pipe(Effect.provide(layer), Effect.provideService(FetchHttpClient.Fetch, fetch))

describe("BrowserGateway", () => {
  it.effect("records calls if Telemetry is provided to its layer, else none", () =>
    Effect.gen(function* () {
      const spans: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          spans.push(options.name)
          return new Tracer.NativeSpan(options)
        }
      })
      const { fetch } = scripted(() => Response.json(ranking))
      const layer = BrowserGateway.layer({ baseUrl, credential: Redacted.make("token") })
      yield* Effect.provideService(run(layer, fetch), Tracer.Tracer, tracer)
      assert.notInclude(spans, "gateway.rerank")
      yield* Effect.provideService(run(Layer.provide(layer, Telemetry.layer), fetch), Tracer.Tracer, tracer)
      assert.lengthOf(
        spans.filter((name) => name === "gateway.rerank"),
        1
      )
    })
  )

  it.effect.each(["mg_sk_abc", "mg_mk_abc"])("refuses %s before anything is sent", (key) =>
    Effect.gen(function* () {
      const { fetch, requests } = scripted(() => Response.json(ranking))
      const error = yield* Effect.flip(run(BrowserGateway.layer({ baseUrl, credential: Redacted.make(key) }), fetch))
      assert.strictEqual(error._tag, "LongLivedKeyRefused")
      assert.include(error.message, key.slice(0, 6))
      assert.notInclude(error.message, "abc")
      assert.lengthOf(requests, 0)
    })
  )

  it.effect("refuses it from an Effect, too, as the cause of the call's error", () =>
    Effect.gen(function* () {
      const { fetch, requests } = scripted(() => Response.json(ranking))
      const layer = BrowserGateway.layer({ baseUrl, credential: Effect.succeed(Redacted.make("mg_sk_abc")) })
      const error = yield* Effect.flip(run(layer, fetch))
      assert(error._tag === "TransportError")
      assert.strictEqual(error.reason, "credential")
      assert.propertyVal(error.underlying, "_tag", "LongLivedKeyRefused")
      assert.lengthOf(requests, 0)
    })
  )

  it.effect("accepts it with dangerouslyAllowLongLivedKey", () =>
    Effect.gen(function* () {
      const { fetch, requests } = scripted(() => Response.json(ranking))
      yield* run(
        BrowserGateway.layer({
          baseUrl,
          credential: Redacted.make("mg_sk_abc"),
          dangerouslyAllowLongLivedKey: true
        }),
        fetch
      )
      assert.strictEqual(requests[0]?.headers.get("authorization"), "Bearer mg_sk_abc")
    })
  )

  it.effect.each([
    "https://gateway.example",
    "ftp://gateway.example/api/v1",
    "https://gateway.example/api/v1?k=s3cret"
  ])("refuses the base URL %s when the layer is built, and shows the corrected one", (baseUrl) =>
    Effect.gen(function* () {
      const { fetch, requests } = scripted(() => Response.json(ranking))
      const error = yield* Effect.flip(run(BrowserGateway.layer({ baseUrl, tokenEndpoint: "/token" }), fetch))
      assert.strictEqual(error._tag, "InvalidBaseUrl")
      assert.include(error.message, "https://gateway.example/api/v1")
      assert.notInclude(error.message, "s3cret")
      assert.lengthOf(requests, 0)
    })
  )

  it.effect("transformClient changes the gateway's requests, but not those of the token endpoint [spec V5]", () =>
    Effect.gen(function* () {
      const { fetch, requests } = scripted(({ url }) =>
        url === "https://app.example/token"
          ? Response.json({ key: "mg_ek_1", expires_at: null })
          : Response.json(ranking)
      )
      const layer = BrowserGateway.layer({
        baseUrl,
        tokenEndpoint: "https://app.example/token",
        transformClient: HttpClient.mapRequest(HttpClientRequest.setHeader("x-signature", "signed"))
      })
      yield* run(layer, fetch)
      assert.deepStrictEqual(
        requests.map(({ headers, url }) => [url, headers.get("x-signature")]),
        [
          ["https://app.example/token", null],
          [`${baseUrl}/rerank`, "signed"]
        ]
      )
    })
  )

  it.effect("retryPolicy is that of calls that do not set one", () =>
    Effect.gen(function* () {
      const { fetch, requests } = scripted(() => Response.json(envelope(503), { status: 503 }))
      const layer = BrowserGateway.layer({
        baseUrl,
        credential: Redacted.make("mg_ek_1"),
        retryPolicy: RetryPolicy.none
      })
      const error = yield* Effect.flip(run(layer, fetch))
      assert.strictEqual(error._tag, "ServiceUnavailable")
      assert.lengthOf(requests, 1)
    })
  )

  it.effect("takes all options that the page's settings do not contain, besides a settings document", () =>
    Effect.gen(function* () {
      const { fetch } = scripted(({ url }) =>
        url === "https://app.example/settings.json"
          ? Response.json({ base_url: baseUrl, token_endpoint: "https://app.example/token" })
          : Response.json({ key: "mg_ek_1", expires_at: null, ...ranking })
      )
      const layer = BrowserGateway.layerSettings(Settings.fromJson("https://app.example/settings.json"), {
        maxResponseBytes: 10
      })
      const error = yield* Effect.flip(run(layer, fetch))
      assert.strictEqual(error._tag, "InvalidResponse")
      assert.include(error.message, "more than 10 bytes")
    })
  )

  it.effect("sends no trace headers by default", () =>
    Effect.gen(function* () {
      const { fetch, requests } = scripted(() => Response.json(ranking))
      const credential = Redacted.make("mg_ek_1")
      yield* run(BrowserGateway.layer({ baseUrl, credential }), fetch)
      yield* run(BrowserGateway.layer({ baseUrl, credential, http: { traceHeaders: true } }), fetch)
      assert.deepStrictEqual(
        requests.map((request) => request.headers.has("traceparent")),
        [false, true]
      )
    })
  )

  it.effect("interrupting a call aborts its request, or stops it before the next retry", () =>
    Effect.gen(function* () {
      const layer = BrowserGateway.layer({ baseUrl, credential: Redacted.make("mg_ek_1") })
      const hanging = scripted(() => new Promise(() => {}))
      const calling = yield* Effect.forkChild(run(layer, hanging.fetch), { startImmediately: true })
      yield* Effect.yieldNow
      assert.isFalse(hanging.requests[0]?.signal.aborted)
      yield* Fiber.interrupt(calling)
      assert.isTrue(hanging.requests[0]?.signal.aborted)

      const down = scripted(() => Response.json(envelope(503), { status: 503, headers: { "retry-after": "30" } }))
      const waiting = yield* Effect.forkChild(run(layer, down.fetch), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      assert.lengthOf(down.requests, 1)
      yield* Fiber.interrupt(waiting)
      yield* TestClock.adjust("10 minutes")
      assert.lengthOf(down.requests, 1)
    })
  )

  it("has exact errors", () => {
    expectTypeOf(BrowserGateway.layer).returns.toEqualTypeOf<
      Layer.Layer<
        Gateway.Gateway | GatewayClient.GatewayClient,
        LongLivedKey.LongLivedKeyRefused | GatewayConfig.InvalidBaseUrl
      >
    >()
    expectTypeOf(BrowserGateway.layerSettings).returns.toEqualTypeOf<
      Layer.Layer<
        Gateway.Gateway | GatewayClient.GatewayClient,
        Settings.InvalidSettings | GatewayConfig.InvalidBaseUrl
      >
    >()
    expectTypeOf(BrowserHttpClient.layer).returns.toEqualTypeOf<Layer.Layer<HttpClient.HttpClient>>()
  })
})

describe("UploadProgress", () => {
  it.effect("a call without a body goes through fetch, and its Stream ends with its result", () =>
    Effect.gen(function* () {
      const { fetch, requests } = scripted(() => new Response("hello"))
      const call = Effect.flatMap(HttpClient.HttpClient, (client) =>
        Effect.flatMap(client.execute(HttpClientRequest.get(baseUrl)), (response) => response.text)
      )
      const events = yield* UploadProgress.stream(call).pipe(
        Stream.runCollect,
        Effect.provide(BrowserHttpClient.layer()),
        Effect.provideService(FetchHttpClient.Fetch, fetch)
      )
      assert.deepStrictEqual(events, [{ _tag: "Done", value: "hello" }])
      assert.lengthOf(requests, 1)
    })
  )

  it.effect("its Stream fails with the call's error", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Stream.runDrain(UploadProgress.stream(Effect.fail("no"))))
      assert.deepStrictEqual(exit, Exit.fail("no"))
    })
  )

  it.effect("a slow consumer misses some progress, but never the last elements", () =>
    Effect.gen(function* () {
      const busy = Effect.gen(function* () {
        const tell = yield* UploadProgress.UploadProgress
        for (let loaded = 1; loaded <= 100; loaded++) tell?.({ loaded, total: 100 })
        return "done"
      })
      const events = yield* Stream.runCollect(UploadProgress.stream(busy))
      assert.isBelow(events.length, 100)
      assert.deepStrictEqual(events.slice(-2), [
        { _tag: "Uploading", loaded: 100, total: 100 },
        { _tag: "Done", value: "done" }
      ])
    })
  )
})
