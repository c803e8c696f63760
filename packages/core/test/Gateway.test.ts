import { describe, expect, it } from "@effect/vitest"
import {
  Activity,
  Byok,
  Destinations,
  Gateway,
  type GatewayClient,
  GatewayConfig,
  GatewayError,
  Generations,
  Guardrails,
  ModelEndpoints,
  Models,
  RetryPolicy,
  type Transcription,
  Video,
  Webhooks
} from "@model-gateway/core"
import { Effect, Layer, Predicate, Redacted, Schedule, Schema, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { declared } from "./contract.ts"
import { type Expected, operations, type Returns } from "./operations.ts"
import * as Stub from "./stub.ts"

const gateway = Gateway.Gateway

const request = { model: "m", query: "q", documents: ["d"] } as const

const workspaceId = "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10"

/** What one call puts on the wire; its outcome does not matter. */
const sentBy = (
  call: (client: Gateway.Gateway["Service"]) => Effect.Effect<unknown, unknown, GatewayClient.GatewayClient>,
  options?: Partial<GatewayConfig.Options>
) =>
  Effect.gen(function* () {
    const stub = Stub.make(() => Stub.failure(401))
    yield* Effect.flatMap(gateway, call).pipe(Effect.ignore, stub.run(options))
    const [sent] = stub.sent
    expect(stub.sent).toHaveLength(1)
    const headers: Stub.Sent["headers"] = sent?.headers ?? {}
    return {
      line: `${sent?.method} ${sent?.url.pathname}${sent?.url.search}`,
      headers,
      text: sent?.text,
      form: sent?.form
    }
  })

/** A call by a function of the operation's module instead of the client's method. */
const using =
  <A, E>(effect: Effect.Effect<A, E, GatewayClient.GatewayClient>) =>
  () =>
    effect

/** The headers of every call. */
const expectHeaders = (line: string, { headers }: { readonly headers: Stub.Sent["headers"] }) => {
  expect(headers).toMatchObject({ authorization: "Bearer mg_sk_secret" })
  // Files come in the client's own shape, whatever the workspace's is.
  const isFile = /^(POST|GET) \/api\/v1\/files(?!.*(provider=|\/content))/.test(line)
  expect(headers["accept"]).toBe(`application/json${isFile ? "; shape=native" : ""}`)
}

const expected = new Map<string, Expected>(Object.entries(operations))

describe("the request line", () => {
  for (const [operation, [line, , , , call]] of expected) {
    it.effect(`${operation}: ${line}`, () =>
      Effect.gen(function* () {
        const sent = yield* sentBy(call)
        expect(sent.line.split("?")[0]).toBe(line.replaceAll(/:(\w+)/g, "$1"))
        expectHeaders(line, sent)
      })
    )
  }

  const g = "c1b9a3f2-6f0e-4c57-8d5b-2f6f0a7e9b31"
  const lines: ReadonlyArray<
    readonly [
      string,
      (client: Gateway.Gateway["Service"]) => Effect.Effect<unknown, unknown, GatewayClient.GatewayClient>
    ]
  > = [
    [
      `DELETE /api/v1/files/f_1?workspace_id=${g}&provider=provider_b`,
      (client) => client.deleteFile("f_1", { workspace_id: g, provider: "provider_b" })
    ],
    [
      "GET /api/v1/files?after=f_0&limit=2&order=asc",
      (client) => client.listFiles({ after: "f_0", limit: 2, order: "asc" })
    ],
    [
      `GET /api/v1/videos?status=completed&after=v_1&limit=5&workspace_id=${g}`,
      using(Video.listVideos({ status: "completed", after: "v_1", limit: 5, workspace_id: g }))
    ],
    ["GET /api/v1/videos/v_1?wait=2.5", (client) => client.getVideo("v_1", { wait: "2500 millis" })],
    ["GET /api/v1/videos/v_1/content?index=0", (client) => Stream.runDrain(client.videoContent("v_1", { index: 0 }))],
    [
      "GET /api/v1/models?output_modalities=rerank%2Cvideo&offset=2&limit=5",
      (client) => client.listModels({ output_modalities: "rerank,video", offset: 2, limit: 5 })
    ],
    ["GET /api/v1/models/count?output_modalities=video", using(Models.countModels({ output_modalities: "video" }))],
    ["GET /api/v1/model/cohere/rerank-v3.5", using(Models.getModel("cohere/rerank-v3.5"))],
    ["GET /api/v1/model/replicate/google%2Fveo%3Afree", using(Models.getModel("replicate/google/veo:free"))],
    ["GET /api/v1/models/tei/*/endpoints", using(ModelEndpoints.listModelEndpoints("tei/*"))],
    [`GET /api/v1/keys?workspace_id=${g}`, (client) => client.listKeys({ workspace_id: g })],
    [
      "GET /api/v1/keys?include_disabled=true&offset=100",
      (client) => client.listKeys({ include_disabled: true, offset: 100 })
    ],
    ["GET /api/v1/keys?parent_hash=h", (client) => client.listKeys({ parent_hash: "h" })],
    ["GET /api/v1/guardrails?limit=5", (client) => client.listGuardrails({ limit: 5 })],
    [
      `GET /api/v1/guardrails?workspace_id=${g}&offset=2`,
      (client) => client.listGuardrails({ workspace_id: g, offset: 2 })
    ],
    [
      "GET /api/v1/guardrails/assignments/keys?offset=2&limit=5",
      using(Guardrails.listAllAssignments({ offset: 2, limit: 5 }))
    ],
    [`GET /api/v1/guardrails/${g}/assignments/keys?offset=2`, (client) => client.listAssignments(g, { offset: 2 })],
    ["GET /api/v1/workspaces?offset=2&limit=5", (client) => client.listWorkspaces({ offset: 2, limit: 5 })],
    [
      "GET /api/v1/webhooks/deliveries?after=d&limit=5&status=failed&type=video.expired&video_id=v",
      using(
        Webhooks.listWebhookDeliveries({ after: "d", limit: 5, status: "failed", type: "video.expired", video_id: "v" })
      )
    ],
    [
      `GET /api/v1/byok?workspace_id=${g}&provider=p&offset=2&limit=5`,
      using(Byok.listByokKeys({ workspace_id: g, provider: "p", offset: 2, limit: 5 }))
    ],
    [
      `GET /api/v1/observability/destinations?workspace_id=${g}&offset=2&limit=1`,
      using(Destinations.listDestinations({ workspace_id: g, offset: 2, limit: 1 }))
    ],
    [`GET /api/v1/generation?id=${g}`, using(Generations.getGeneration(g))],
    [
      `GET /api/v1/activity?date=2026-11-21&api_key_hash=h&workspace_id=${g}&group_by=workspace`,
      using(Activity.listAllActivity({ date: "2026-11-21", api_key_hash: "h", workspace_id: g, group_by: "workspace" }))
    ],
    ["GET /api/v1/activity?after=a&limit=5", using(Activity.listActivity({ after: "a", limit: 5 }))],
    [
      "GET /api/v1/generations?after=a&status=failed&error_status=529",
      using(Generations.listGenerations({ after: "a", status: "failed", error_status: 529 }))
    ],
    ["GET /api/v1/generations?user=customer-17", using(Generations.listGenerations({ user: "customer-17" }))],
    [
      "GET /api/v1/generations?request_id=req_1&operation=video",
      using(Generations.listGenerations({ request_id: "req_1", operation: "video" }))
    ]
  ]

  for (const [line, call] of lines) {
    it.effect(line, () =>
      Effect.gen(function* () {
        const sent = yield* sentBy(call)
        expect(sent.line).toBe(line)
        expectHeaders(line, sent)
      })
    )
  }

  it.effect("escapes the values of paths and queries", () =>
    Effect.gen(function* () {
      const hashes = ["a/b", "../keys", "a?b=c", "a#b", "a b", "ä😀", "a%2Fb", "a&b=c", "$&", ":hash", "\u0000"]
      for (const hash of hashes) {
        const { line } = yield* sentBy((client) => client.getKey(hash))
        const path = line.slice("GET /api/v1/keys/".length)
        expect(path).not.toMatch(/[/?#\s]/)
        expect(decodeURIComponent(path)).toBe(hash)
        const query = yield* sentBy((client) => client.listKeys({ parent_hash: hash }))
        expect(new URLSearchParams(query.line.split("?")[1]).get("parent_hash")).toBe(hash)
      }
    })
  )

  it.effect("never becomes another path: empty and dot segments are sent as invalid identifiers", () =>
    Effect.gen(function* () {
      for (const id of ["", ".", ".."]) {
        const { line } = yield* sentBy((client) => client.deleteGuardrail(id))
        expect(line).toMatch(/^DELETE \/api\/v1\/guardrails\/[^/]+$/)
        expect(decodeURIComponent(line.slice(line.lastIndexOf("/") + 1))).not.toMatch(/^[\w-]*$/)
        expect((yield* sentBy((client) => client.cancelVideo(id))).line).toMatch(
          /^POST \/api\/v1\/videos\/[^/]+\/cancel$/
        )
      }
    })
  )

  it.effect("replaces an unpaired surrogate instead of throwing", () =>
    Effect.gen(function* () {
      expect((yield* sentBy((client) => client.getFile("a\ud800"))).line).toBe("GET /api/v1/files/a%EF%BF%BD")
    })
  )

  it.effect("starts with the base URL, with or without a slash at its end", () =>
    Effect.gen(function* () {
      for (const baseUrl of ["https://gateway.example/some/api/v1", "https://gateway.example/some/api/v1//"]) {
        expect((yield* sentBy((client) => client.currentKey, { baseUrl })).line).toBe("GET /some/api/v1/key")
      }
    })
  )

  it.effect("uses the configuration's workspace if the call names none", () =>
    Effect.gen(function* () {
      const other = "0f6b8f0e-7a52-4d0e-9c1f-6f1d2f0c3b22"
      const calls = [
        (client, scope) => client.deleteFile("f", scope),
        (client, scope) => client.uploadFile({ file: new Uint8Array(1), purpose: "p", ...scope }),
        (client, scope) => client.listFiles(scope),
        (client, scope) => client.getFile("f", scope),
        (client, scope) => Stream.runDrain(client.fileContent("f", scope)),
        (client, scope) => client.listKeys(scope),
        (client, scope) => client.getCredits(scope)
      ] satisfies ReadonlyArray<
        (
          client: Gateway.Gateway["Service"],
          scope: { readonly workspace_id?: string }
        ) => Effect.Effect<unknown, unknown>
      >
      for (const call of calls) {
        const own = yield* sentBy((client) => call(client, {}), { workspaceId })
        expect(own.line).toContain(`?workspace_id=${workspaceId}`)
        const named = yield* sentBy((client) => call(client, { workspace_id: other }), { workspaceId })
        expect(named.line).toContain(`?workspace_id=${other}`)
        expect((yield* sentBy((client) => call(client, {}))).line).not.toContain("workspace_id")
      }
    })
  )
})

/** What a call returns of a response. */
const partOf = (response: unknown, returns: Returns | undefined): unknown => {
  if (returns === "nothing") return undefined
  const path = returns?.split(".") ?? []
  return path.reduce((value, name) => (Predicate.hasProperty(value, name) ? value[name] : undefined), response)
}

describe("the response", () => {
  // Two operations return bytes, which have no example.
  for (const { operation, response } of declared.filter(({ response }) => response !== undefined)) {
    const [, status, , , call, returns] = expected.get(operation.identifier) ?? []

    it.effect(`of ${operation.identifier}: the call returns ${returns ?? "all of it"}`, () =>
      Effect.gen(function* () {
        const stub = Stub.make(() => Stub.json(response, status))
        const result = yield* Effect.flatMap(gateway, call ?? (() => Effect.die("no row"))).pipe(stub.run())
        const decoded = yield* Schema.decodeUnknownEffect(operation.success)(response)
        expect(result).toEqual(partOf(decoded, returns))
      })
    )
  }
})

describe("the headers", () => {
  it.effect("request the deletion's shape if one is given", () =>
    Effect.gen(function* () {
      const shaped = yield* sentBy((client) => client.deleteFile("f", { shape: "compat_a" }))
      expect(shaped.headers["accept"]).toBe("application/json; shape=compat_a")
      expect(shaped.line).toBe("DELETE /api/v1/files/f")
    })
  )

  it.effect("request the range of bytes", () =>
    Effect.gen(function* () {
      for (const [range, header] of [
        [{ start: 0, end: 9 }, "bytes=0-9"],
        [{ start: 10 }, "bytes=10-"],
        [undefined, undefined]
      ] as const) {
        const options = range === undefined ? {} : { range }
        const file = yield* sentBy((client) => Stream.runDrain(client.fileContent("f", options)))
        expect(file.headers["range"]).toBe(header)
        const video = yield* sentBy((client) => Stream.runDrain(client.videoContent("v", options)))
        expect(video.headers["range"]).toBe(header)
      }
    })
  )

  const keyed: Record<string, (client: Gateway.Gateway["Service"], key?: string) => Effect.Effect<unknown, unknown>> = {
    rerank: (client, idempotencyKey) => client.rerank(request, { idempotencyKey }),
    transcribe: (client, idempotencyKey) =>
      client.transcribe({ model: "m", input_audio: { data: "AAAA", format: "wav" } }, { idempotencyKey }),
    "transcribe a file": (client, idempotencyKey) =>
      client.transcribe({ model: "m", file: new Uint8Array(1) }, { idempotencyKey }),
    submitVideo: (client, idempotencyKey) => client.submitVideo({ model: "m" }, { idempotencyKey }),
    addCredits: (client, idempotencyKey) => client.addCredits("w", { amount: 1 }, { idempotencyKey }),
    rotateKey: (client, idempotencyKey) => client.rotateKey("h", {}, { idempotencyKey }),
    createKey: (client, idempotencyKey) => client.createKey({ name: "n" }, { idempotencyKey }),
    uploadFile: (client, idempotencyKey) =>
      client.uploadFile({ file: new Uint8Array(1), purpose: "p" }, { idempotencyKey })
  }

  for (const [name, call] of Object.entries(keyed)) {
    it.effect(`${name} has an idempotency key, the same for its retries, another for the next call`, () => {
      const stub = Stub.make((_, number) => (number % 3 === 0 ? Stub.failure(401) : "cut"))
      return Effect.gen(function* () {
        const client = yield* gateway
        yield* Effect.ignore(call(client))
        yield* Effect.ignore(call(client))
        const keys = stub.sent.map(({ headers }) => headers["idempotency-key"])
        expect(keys).toHaveLength(6)
        expect(new Set(keys.slice(0, 3)).size).toBe(1)
        expect(new Set(keys.slice(3)).size).toBe(1)
        expect(keys[0]).not.toBe(keys[3])
        for (const key of keys) expect(key).toMatch(/^[\da-f]{32}-[\da-z]+$/)

        yield* Effect.ignore(call(client, "order 17"))
        expect(stub.sent.slice(6).map(({ headers }) => headers["idempotency-key"])).toEqual([
          "order 17",
          "order 17",
          "order 17"
        ])
      }).pipe(
        stub.run(),
        Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ schedule: () => Schedule.forever }))
      )
    })
  }

  it.effect("have no idempotency key for other operations", () =>
    Effect.gen(function* () {
      for (const call of [
        (client: Gateway.Gateway["Service"]) => client.createGuardrail({ name: "n" }),
        (client: Gateway.Gateway["Service"]) => client.createEphemeralKey(),
        (client: Gateway.Gateway["Service"]) => client.currentKey
      ] satisfies ReadonlyArray<(client: Gateway.Gateway["Service"]) => Effect.Effect<unknown, unknown>>) {
        const { headers } = yield* sentBy(call)
        expect(headers["idempotency-key"]).toBe(undefined)
      }
    })
  )
})

describe("the body", () => {
  it.effect("is the request as JSON, unchanged [spec A3 J3]", () =>
    Effect.gen(function* () {
      const { headers, text } = yield* sentBy((client) =>
        client.rerank({ ...request, top_n: 2, trace: { trace_id: "t", extra: [1, null] }, user: "ü" })
      )
      expect(headers["content-type"]).toBe("application/json")
      expect(JSON.parse(text ?? "")).toEqual({
        ...request,
        top_n: 2,
        trace: { trace_id: "t", extra: [1, null] },
        user: "ü"
      })
    })
  )

  const formOf = (input: Transcription.Input) =>
    Effect.map(
      sentBy((client) => client.transcribe(input)),
      ({ form }) => form
    )

  it.effect("of an audio file is a form whose fields the service can decode", () =>
    Effect.gen(function* () {
      const form = yield* formOf({
        model: "m",
        file: new File([new Uint8Array([1, 2])], "talk.mp3", { type: "audio/mpeg" }),
        language: "de",
        response_format: "verbose_json",
        temperature: 0.5,
        timestamp_granularities: ["word", "segment"],
        provider: { allow_fallbacks: false },
        trace: { trace_id: "t" },
        user: "u"
      })
      const { file, ...fields } = Object.fromEntries(
        Array.from(new Set(form?.keys()), (name) => [name, form?.getAll(name)])
      )
      expect(fields).toEqual({
        model: ["m"],
        language: ["de"],
        response_format: ["verbose_json"],
        temperature: ["0.5"],
        "timestamp_granularities[]": ["word", "segment"],
        provider: ['{"allow_fallbacks":false}'],
        trace: ['{"trace_id":"t"}'],
        user: ["u"]
      })
      expect(file).toHaveLength(1)
      expect(file?.[0]).toMatchObject({ name: "talk.mp3", type: "audio/mpeg", size: 2 })
    })
  )

  it.effect("of an audio file has only the fields that were given", () =>
    Effect.gen(function* () {
      const form = yield* formOf({ model: "m", file: new Uint8Array(1), filename: "a.wav" })
      expect(Array.from(form?.keys() ?? [])).toEqual(["model", "file"])
    })
  )

  it.effect("names a file by the given name, or its own name, or `file`", () =>
    Effect.gen(function* () {
      const named = new File([new Uint8Array(1)], "own.wav")
      const names = yield* Effect.forEach(
        [
          { file: named },
          { file: named, filename: "given.wav" },
          { file: new Blob(["x"]) },
          { file: new Uint8Array(1), filename: "bytes.wav" }
        ],
        (input) =>
          Effect.map(formOf({ model: "m", ...input }), (form) => {
            const file = form?.get("file")
            return file instanceof File ? file.name : undefined
          })
      )
      expect(names).toEqual(["own.wav", "given.wav", "file", "bytes.wav"])
      const upload = yield* sentBy((client) => client.uploadFile({ file: named, purpose: "p" }))
      expect(upload.form?.get("purpose")).toBe("p")
      expect(upload.form?.get("file")).toMatchObject({ name: "own.wav" })
    })
  )

  it.effect("of bytes is a copy: later changes by the caller have no effect", () =>
    Effect.gen(function* () {
      const whole = new Uint8Array([9, 1, 2, 3, 9])
      const form = yield* formOf({ model: "m", file: whole.subarray(1, 4) })
      whole.fill(0)
      const file = form?.get("file")
      const bytes = yield* Effect.promise(() => (file instanceof File ? file.bytes() : Promise.resolve(undefined)))
      expect(bytes).toEqual(new Uint8Array([1, 2, 3]))
    })
  )

  it.effect("of a Blob is the Blob itself: nothing is read before it is sent", () =>
    Effect.gen(function* () {
      let read = 0
      class Counting extends Blob {
        override async arrayBuffer() {
          read++
          return super.arrayBuffer()
        }
        override async bytes() {
          read++
          return super.bytes()
        }
        override async text() {
          read++
          return super.text()
        }
        override stream() {
          read++
          return super.stream()
        }
      }
      const form = yield* formOf({ model: "m", file: new Counting([new Uint8Array(1000)]) })
      const file = form?.get("file")
      expect(read).toBe(0)
      expect(file).toMatchObject({ size: 1000 })
    })
  )
})

describe("the response", () => {
  it.effect("is unwrapped from `data`", () => {
    const stub = Stub.make(({ url }) =>
      Stub.json(
        url.pathname.endsWith("/models")
          ? { object: "list", data: [], links: { next: null }, total_count: 0 }
          : url.pathname.endsWith("/key")
            ? { data: Stub.keyRecord }
            : { deleted: true }
      )
    )
    return Effect.gen(function* () {
      const client = yield* gateway
      expect(yield* client.currentKey).toEqual(Stub.keyRecord)
      expect((yield* client.listModels()).data).toEqual([])
      expect(yield* client.deleteKey("h")).toBe(undefined)
      expect(yield* client.deleteGuardrail("g")).toBe(undefined)
    }).pipe(stub.run())
  })

  it.effect("may have unknown fields", () => {
    const stub = Stub.make(() => Stub.json({ ...Stub.ranking, shiny: { new: true } }))
    return Effect.gen(function* () {
      expect(yield* (yield* gateway).rerank(request)).toEqual(Stub.ranking)
    }).pipe(stub.run())
  })

  it.effect("in bytes is streamed, and closed when the reader stops", () => {
    let cancelled = false
    let pulled = 0
    const stub = Stub.make(
      () =>
        new Response(
          new ReadableStream({
            pull: (controller) => {
              controller.enqueue(new Uint8Array([++pulled]))
            },
            cancel: () => {
              cancelled = true
            }
          })
        )
    )
    return Effect.gen(function* () {
      const bytes = yield* (yield* gateway).videoContent("v").pipe(Stream.take(3), Stream.runCollect)
      expect(Array.from(bytes)).toEqual([new Uint8Array([1]), new Uint8Array([2]), new Uint8Array([3])])
      expect(cancelled).toBe(true)
      expect(pulled).toBeLessThan(10)
    }).pipe(stub.run())
  })

  it.effect("in bytes that breaks off ends in a TransportError, and is not retried", () => {
    const stub = Stub.make((_, number) =>
      number === 1
        ? Stub.failure(503)
        : new Response(
            new ReadableStream({
              pull: (controller) => {
                controller.enqueue(new Uint8Array([1]))
                controller.error(Stub.reset)
              }
            })
          )
    )
    return Effect.gen(function* () {
      const error = yield* Effect.flip(Stream.runDrain((yield* gateway).fileContent("f")))
      expect(error).toMatchObject({
        _tag: "TransportError",
        operation: "fileContent",
        underlying: Stub.reset,
        attempts: 2
      })
      expect(stub.sent).toHaveLength(2)
    }).pipe(
      stub.run(),
      Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ schedule: () => Schedule.forever }))
    )
  })

  it.effect("in bytes has the operation's errors, retried like any other", () => {
    const stub = Stub.make((_, number) => (number < 3 ? Stub.failure(503) : Stub.failure(404)))
    return Effect.gen(function* () {
      const error = yield* Effect.flip(Stream.runDrain((yield* gateway).fileContent("f")))
      expect(error).toMatchObject({ _tag: "NotFound", attempts: 3 })
    }).pipe(
      stub.run(),
      Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ schedule: () => Schedule.forever }))
    )
  })
})

it.effect("an empty list of documents is the service's 400, and nothing is sent", () => {
  const stub = Stub.make(() => Stub.json(Stub.ranking))
  return Effect.gen(function* () {
    const { rerank } = yield* gateway
    const none: Array<string> = []
    const error = yield* Effect.flip(rerank({ model: "m", query: "q", documents: none }))
    expect(error).toBeInstanceOf(GatewayError.BadRequest)
    expect(error).toMatchObject({
      operation: "rerank",
      status: 400,
      attempts: 0,
      isRetryable: false,
      issues: [{ path: "documents", message: "Expected at least 1 item" }],
      message: "rerank: 400 invalid request parameters: documents: Expected at least 1 item (0 attempts)"
    })
    expect(stub.sent).toEqual([])
  }).pipe(stub.run())
})

it.effect("an optional field that is undefined is not sent", () => {
  const stub = Stub.make(({ url }) => Stub.json(url.pathname.endsWith("/rerank") ? Stub.ranking : Stub.transcript))
  return Effect.gen(function* () {
    const client = yield* gateway
    yield* client.rerank({
      ...request,
      top_n: undefined,
      provider: { order: undefined, sort: "price" },
      user: undefined
    })
    expect(JSON.parse(stub.sent[0]?.text ?? "")).toEqual({ ...request, provider: { sort: "price" } })
    yield* client.transcribe({ model: "m", file: new Blob(["a"]), language: undefined, provider: undefined })
    expect(Array.from(stub.sent[1]?.form?.keys() ?? []).toSorted()).toEqual(["file", "model"])
  }).pipe(stub.run())
})

it.effect("runs over plain fetch, and aborts it", () => {
  const calls: Array<{ readonly url: string; readonly signal: AbortSignal | null | undefined }> = []
  const fetch: typeof globalThis.fetch = (input, init) => {
    calls.push({ url: input instanceof Request ? input.url : String(input), signal: init?.signal })
    return calls.length === 1 ? Promise.resolve(Stub.json(Stub.ranking)) : new Promise(() => {})
  }
  return Effect.gen(function* () {
    const { rerank } = yield* gateway
    expect(yield* rerank(request)).toEqual(Stub.ranking)
    const timeout = rerank(request).pipe(
      Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ deadline: 0 })),
      Effect.flip
    )
    expect(yield* timeout).toMatchObject({ _tag: "TimeoutError" })
    expect(calls.map(({ signal, url }) => [url, signal?.aborted])).toEqual([
      ["http://gateway.test/api/v1/rerank", false],
      ["http://gateway.test/api/v1/rerank", true]
    ])
  }).pipe(
    Effect.provide(
      Gateway.layer.pipe(
        Layer.provide(FetchHttpClient.layer),
        Layer.provide(GatewayConfig.layer({ baseUrl: "http://gateway.test/api/v1", credential: Redacted.make("t") }))
      )
    ),
    Effect.provideService(FetchHttpClient.Fetch, fetch)
  )
})
