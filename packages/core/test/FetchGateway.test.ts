// A scripted `fetch` takes the place of the runtime's. tests/consumers runs the runtimes.
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { ClientError, FetchGateway, Gateway, GatewayConfig, Rerank, RetryPolicy } from "@model-gateway/core"
import * as UploadMonitor from "@model-gateway/core/unstable/UploadMonitor"
import { ConfigProvider, Effect, Layer, Redacted, Schedule, Tracer } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { openAsBlob } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Stub from "./stub.ts"

const baseUrl = "https://gateway.test/api/v1"
const options = { baseUrl, credential: Redacted.make("mg_sk_secret") }
const MiB = 1024 * 1024

const file = {
  _shape: "native",
  id: "file_1",
  type: "file",
  filename: "a.bin",
  mime_type: "application/octet-stream",
  size_bytes: 3,
  created_at: "2026-11-18T10:00:00Z",
  downloadable: true
}

interface Fetched {
  readonly url: string
  readonly init: RequestInit | undefined
  readonly request: Request
}

/** A `fetch` that answers by the number of the request, from 1, once it has read the body. */
const scripted = (answer: (fetched: Fetched, number: number) => Response) => {
  const calls: Array<Fetched> = []
  const bodies: Array<FormData | string> = []
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    const fetched = { url: request.url, init, request }
    calls.push(fetched)
    const isForm = request.headers.get("content-type")?.startsWith("multipart/") === true
    bodies.push(isForm ? await request.formData() : await request.text())
    return answer(fetched, calls.length)
  }
  return {
    calls,
    bodies,
    run: <A, E>(call: Effect.Effect<A, E, Gateway.Gateway>, given: Partial<FetchGateway.Options> = {}) =>
      call.pipe(
        Effect.provide(FetchGateway.layer({ ...options, ...given })),
        Effect.provideService(FetchHttpClient.Fetch, fetch),
        Effect.provideService(
          RetryPolicy.RetryPolicy,
          RetryPolicy.make({ schedule: () => Schedule.spaced("1 millis") })
        )
      )
  }
}

const upload = (content: Uint8Array) =>
  Effect.flatMap(Gateway.Gateway, (gateway) => gateway.uploadFile({ file: content, filename: "ä.bin", purpose: "p" }))

const currentKey = Effect.flatMap(Gateway.Gateway, (gateway) => gateway.currentKey)

const moved = (location: string) => new Response(null, { status: 307, headers: { location } })

afterEach(() => void vi.unstubAllGlobals())

describe("an upload", () => {
  it.live("arrives unchanged, is read while it is sent, and its progress is reported", () => {
    const script = scripted(() => Stub.json(file))
    const content = new Uint8Array(3 * MiB).map((_, index) => index % 251)
    const reports: Array<UploadMonitor.Progress> = []
    const reporting = Effect.provideService(UploadMonitor.UploadMonitor, (progress) => {
      reports.push(progress)
    })
    return Effect.gen(function* () {
      yield* script.run(upload(content), { transformClient: HttpClient.transformResponse(reporting) })
      const [form] = script.bodies
      assert.instanceOf(form, FormData)
      assert.strictEqual(form.get("purpose"), "p")
      const received = form.get("file")
      assert.instanceOf(received, File)
      assert.strictEqual(received.name, "ä.bin")
      assert.deepStrictEqual(new Uint8Array(yield* Effect.promise(() => received.arrayBuffer())), content)
      assert.instanceOf(script.calls[0]?.init?.body, ReadableStream)
      const total = reports[0]?.total
      assert.isAbove(total ?? 0, content.length)
      assert.deepStrictEqual([reports[0]?.sent, reports.at(-1)?.sent], [0, total])
      assert.isAbove(reports.length, 20)
    })
  })

  it.live("is sent from its beginning again in a retry", () => {
    const script = scripted((_, number) => (number === 1 ? Stub.failure(503) : Stub.json(file)))
    return Effect.gen(function* () {
      yield* script.run(upload(new Uint8Array(300_000)))
      const sizes = script.bodies.map((form) => {
        const received = form instanceof FormData ? form.get("file") : null
        return received instanceof File ? received.size : undefined
      })
      assert.deepStrictEqual(sizes, [300_000, 300_000])
    })
  })

  it.live("fails if its file changes while it is sent", () => {
    const script = scripted(() => Stub.json(file))
    return Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "model-gateway-core-"))),
        (folder) => Effect.promise(() => rm(folder, { recursive: true }))
      )
      const path = join(folder, "a.bin")
      yield* Effect.promise(() => writeFile(path, "before"))
      const blob = yield* Effect.promise(() => openAsBlob(path))
      yield* Effect.promise(() => writeFile(path, "and after"))
      const gateway = yield* Gateway.Gateway
      const call = gateway.uploadFile({ file: blob, filename: "a.bin" })
      const error = yield* Effect.flip(
        Effect.provideService(call, RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 0 }))
      )
      assert.instanceOf(error, ClientError.TransportError)
    }).pipe(Effect.scoped, script.run)
  })

  it.live("is a form where fetch sends no streams", () => {
    const script = scripted(() => Stub.json(file))
    const { Request } = globalThis
    vi.stubGlobal(
      "Request",
      class extends Request {
        constructor(input: RequestInfo | URL, init?: RequestInit) {
          super(input, init?.body instanceof ReadableStream ? { ...init, body: "[object ReadableStream]" } : init)
        }
      }
    )
    return Effect.gen(function* () {
      yield* script.run(upload(new Uint8Array(10)))
      assert.instanceOf(script.calls[0]?.init?.body, FormData)
    })
  })

  it.live("of JSON over 1 MiB is a stream, and of a short one is not", () => {
    const script = scripted(() => Stub.json(Stub.transcript))
    const transcribe = (data: string) =>
      Effect.flatMap(Gateway.Gateway, (gateway) =>
        gateway.transcribe({ model: "m", input_audio: { data, format: "wav" } })
      )
    return Effect.gen(function* () {
      const data = "A".repeat(2 * MiB)
      yield* script.run(transcribe(data))
      yield* script.run(transcribe("AAAA"))
      assert.strictEqual(script.bodies[0], JSON.stringify({ model: "m", input_audio: { data, format: "wav" } }))
      assert.deepStrictEqual(
        script.calls.map(({ init }) => init?.body instanceof ReadableStream),
        [true, false]
      )
    })
  })
})

describe("a redirect", () => {
  it.live("of a GET to the same origin is followed, with the key", () => {
    const script = scripted((_, number) =>
      number <= 5 ? moved(`/step/${number}`) : Stub.json({ data: Stub.keyRecord })
    )
    return Effect.gen(function* () {
      yield* script.run(currentKey)
      assert.deepStrictEqual(
        script.calls.map(({ url }) => url),
        [`${baseUrl}/key`, ...[1, 2, 3, 4, 5].map((step) => `https://gateway.test/step/${step}`)]
      )
      assert.strictEqual(script.calls.at(-1)?.request.headers.get("authorization"), "Bearer mg_sk_secret")
    })
  })

  it.live("is followed without reading the rest of its body", () => {
    let read = 0
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          await new Promise((resolve) => setTimeout(resolve, 1))
          read++
          controller.enqueue(new Uint8Array(65_536))
        }
      })
    const script = scripted((_, number) =>
      number === 1
        ? new Response(endless(), { status: 307, headers: { location: "/moved" } })
        : Stub.json({ data: Stub.keyRecord })
    )
    return Effect.gen(function* () {
      yield* script.run(currentKey)
      assert.isBelow(read, 5)
    })
  })

  const refused = (title: string, location: string, call: Effect.Effect<unknown, unknown, Gateway.Gateway>, sent = 1) =>
    it.live(`${title} is a failure`, () => {
      const script = scripted(() => moved(location))
      return Effect.gen(function* () {
        const error = yield* Effect.flip(script.run(call))
        assert.instanceOf(error, ClientError.InvalidResponse)
        assert.strictEqual(error.status, 307)
        assert.lengthOf(script.calls, sent)
        assert.isTrue(script.calls.every(({ init }) => init?.redirect === "manual"))
      })
    })

  refused("to another origin", "https://elsewhere.test/api/v1/key", currentKey)
  refused(
    "of a POST",
    "/elsewhere",
    Effect.flatMap(Gateway.Gateway, (gateway) => gateway.rerank({ model: "m", query: "q", documents: ["d"] }))
  )
  refused("after the fifth", "/again", currentKey, 6)
  refused(
    "to another origin, whatever RequestInit says,",
    "https://elsewhere.test/api/v1/key",
    Effect.provideService(currentKey, FetchHttpClient.RequestInit, { redirect: "follow" })
  )
})

describe("the layers", () => {
  it.live("add the headers and options of RequestInit", () => {
    const script = scripted(() => Stub.json({ data: Stub.keyRecord }))
    return Effect.gen(function* () {
      yield* script.run(
        Effect.provideService(currentKey, FetchHttpClient.RequestInit, {
          headers: { "x-test": "yes" },
          cache: "no-store"
        })
      )
      assert.strictEqual(script.calls[0]?.request.headers.get("x-test"), "yes")
      assert.strictEqual(script.calls[0]?.init?.cache, "no-store")
    })
  })

  it.live("add those of a RequestInit below them, which that of a call replaces", () => {
    const script = scripted(() => Stub.json({ data: Stub.keyRecord }))
    const below = Layer.succeed(FetchHttpClient.RequestInit, { headers: { "x-test": "layer" } })
    return Effect.gen(function* () {
      const context = yield* Layer.build(Layer.provide(FetchGateway.layer(options), below))
      yield* Effect.provideContext(currentKey, context)
      const replaced = Effect.provideService(currentKey, FetchHttpClient.RequestInit, { headers: { "x-test": "call" } })
      yield* Effect.provideContext(replaced, context)
      assert.deepStrictEqual(
        script.calls.map(({ init, request }) => [request.headers.get("x-test"), init?.redirect]),
        [
          ["layer", "manual"],
          ["call", "manual"]
        ]
      )
    }).pipe(Effect.scoped, script.run)
  })

  it.live("read the bindings of a worker", () => {
    const script = scripted(() => Stub.json(Stub.ranking))
    const bindings = { MODEL_GATEWAY_BASE_URL: baseUrl, MODEL_GATEWAY_API_KEY: "mg_sk_bound" }
    return Effect.gen(function* () {
      yield* script.run(
        Rerank.rerank({ model: "m", query: "q", documents: ["d"] }).pipe(
          Effect.provide(
            FetchGateway.layerConfig().pipe(Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(bindings))))
          )
        )
      )
      assert.strictEqual(script.calls[0]?.request.headers.get("authorization"), "Bearer mg_sk_bound")
    })
  })

  it.live("make clients with keys of their own", () => {
    const script = scripted(() => Stub.json({ data: Stub.keyRecord }))
    return Effect.gen(function* () {
      for (const key of ["mg_sk_1", "mg_mk_2"]) {
        const gateway = yield* FetchGateway.make({ baseUrl, credential: Redacted.make(key) })
        yield* gateway.currentKey
      }
      assert.deepStrictEqual(
        script.calls.map(({ request }) => request.headers.get("authorization")),
        ["Bearer mg_sk_1", "Bearer mg_mk_2"]
      )
    }).pipe(script.run)
  })

  it.live("fail where the base URL is not that of a gateway", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(FetchGateway.make({ ...options, baseUrl: "https://gateway.test" }))
      assert.instanceOf(error, GatewayConfig.InvalidBaseUrl)
    })
  )

  for (const telemetry of [true, false]) {
    it.live(`record calls, or do not: ${telemetry}`, () => {
      const script = scripted(() => Stub.json({ data: Stub.keyRecord }))
      const names: Array<string> = []
      const tracer = Tracer.make({
        span: (span) => {
          names.push(span.name)
          return new Tracer.NativeSpan(span)
        }
      })
      return Effect.gen(function* () {
        yield* Effect.withTracer(script.run(currentKey, { telemetry }), tracer)
        assert.strictEqual(names.includes("gateway.currentKey"), telemetry)
      })
    })
  }
})
