import { expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Schema } from "effect"
import { request as httpRequest } from "node:http"
import { type Answer, layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"

const rerank = { model: "sandbox/bm25", query: "q", documents: ["a"] }

const video = { model: "sandbox/title-card", prompt: "p" }

const repeated = <A>(count: number, item: A): ReadonlyArray<A> => Array.from({ length: count }, () => item)

const names = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, n) => `provider-${n}`)

const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } }

const mebibyte = 1_048_576

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])

const trace = (keys: number) => Object.fromEntries(Array.from({ length: keys }, (_, n) => [`key-${n}`, n]))

/** A trace of 64 KiB as JSON. */
const largestTrace = {
  ...Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`k${n}`, "a".repeat(8190)])),
  last: "a".repeat(65_536 - 2 - 7 * (8192 + 6) - 9)
}

/**
 * Sends the head of a request and none of its body. Returns the response, if there is one. Closing
 * the scope ends the request.
 */
const begin = (path: string, options: { readonly key?: string; readonly length?: number; readonly expect?: string }) =>
  Effect.gen(function* () {
    const { ordinaryKey, port } = yield* TestGateway
    const { expect, key = ordinaryKey, length } = options
    return yield* Effect.acquireRelease(
      Effect.sync(() => {
        const request = httpRequest({
          host: "127.0.0.1",
          port,
          path,
          method: "POST",
          agent: false,
          headers: {
            authorization: `Bearer ${key}`,
            "content-type": "application/json",
            ...(expect === undefined ? {} : { expect }),
            ...(length === undefined ? { "transfer-encoding": "chunked" } : { "content-length": length })
          }
        })
        request.on("error", () => {})
        request.flushHeaders()
        return request
      }),
      (request) => Effect.sync(() => request.destroy())
    )
  })

const statusOf = (path: string, options: { readonly key?: string; readonly length?: number }) =>
  Effect.flatMap(begin(path, options), (request) =>
    Effect.callback<number>((resume) => {
      request.on("response", (response) => {
        response.resume()
        resume(Effect.succeed(response.statusCode ?? 0))
      })
    })
  )

const newKey = (limit: number) =>
  Effect.gen(function* () {
    const { managementKey } = yield* TestGateway
    const { text } = yield* post("/api/v1/keys", { name: "n", limit }, { key: managementKey })
    return Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ key: Schema.String })))(text).key
  })

it.layer(layer(), { excludeTestServices: true })("a body within its bounds", (it) => {
  const cases: ReadonlyArray<readonly [what: string, path: string, body: unknown, ...issues: ReadonlyArray<string>]> = [
    ["documents", "/rerank", { ...rerank, documents: repeated(10_001, "a") }, "documents"],
    ["documents that are not documents", "/rerank", { ...rerank, documents: repeated(10_001, {}) }, "documents"],
    [
      "the text of a document",
      "/rerank",
      { ...rerank, documents: [{ text: "a".repeat(mebibyte + 1) }] },
      "documents.0.text"
    ],
    ["a document that is a text", "/rerank", { ...rerank, documents: ["é".repeat(mebibyte / 2 + 1)] }, "documents.0"],
    ["the query", "/rerank", { ...rerank, query: "日".repeat(22_000) }, "query"],
    ["the prompt", "/videos", { ...video, prompt: "a".repeat(65_537) }, "prompt"],
    [
      "frame images",
      "/videos",
      { ...video, frame_images: repeated(3, { ...image, frame_type: "first_frame" }) },
      "frame_images",
      // There are two kinds of frames, so a third image repeats one.
      "frame_images.1.frame_type"
    ],
    ["input references", "/videos", { ...video, input_references: repeated(65, image) }, "input_references"],
    ["providers in order", "/rerank", { ...rerank, provider: { order: names(65) } }, "provider.order"],
    ["providers to use", "/rerank", { ...rerank, provider: { only: names(65) } }, "provider.only"],
    ["providers to ignore", "/rerank", { ...rerank, provider: { ignore: names(65) } }, "provider.ignore"],
    ["keys of the trace", "/rerank", { ...rerank, trace: trace(65) }, "trace"],
    ["a value of the trace", "/rerank", { ...rerank, trace: { key: "a".repeat(8200) } }, "trace.key"],
    ["a known key of the trace", "/rerank", { ...rerank, trace: { trace_id: "a".repeat(8200) } }, "trace.trace_id"],
    ["the name of a key of the trace", "/rerank", { ...rerank, trace: { ["k".repeat(129)]: 1 } }, "trace"],
    ["the trace", "/videos", { ...video, trace: { ...largestTrace, b: 1 } }, "trace"],
    [
      "nesting of what is passed on",
      "/rerank",
      { ...rerank, provider: { options: { sandbox: { deep: nested(101) } } } },
      "provider.options.sandbox.deep"
    ],
    [
      "timestamp granularities",
      "/audio/transcriptions",
      {
        model: "sandbox/tones",
        input_audio: { data: "AAAA", format: "wav" },
        timestamp_granularities: repeated(3, "word")
      },
      "timestamp_granularities"
    ]
  ]

  for (const [what, path, body, ...issues] of cases) {
    it.effect(`is refused for too much of ${what}, by a 400 that names it`, () =>
      Effect.gen(function* () {
        const answer = yield* post(`/api/v1${path}`, body)
        expect(answer.status).toBe(400)
        expect(new Set(issuePaths(answer))).toEqual(new Set(issues))
        expect(envelopeOf(answer).error.message).toMatch(/at most/)
      })
    )
  }

  it.effect("is refused for too many key hashes", () =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      const path = "/api/v1/guardrails/00000000-0000-4000-8000-000000000000/assignments/keys"
      const answer = yield* post(path, { key_hashes: repeated(10_001, "h") }, { key: managementKey })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["key_hashes"]])
    })
  )

  it.effect("may be as large as the bounds", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.all([
        post("/api/v1/rerank", { ...rerank, documents: repeated(10_000, "a") }),
        post("/api/v1/rerank", { ...rerank, documents: ["é".repeat(mebibyte / 2)], query: "é".repeat(32_768) }),
        post("/api/v1/rerank", { ...rerank, trace: { ...trace(64), trace_id: "t" }, provider: { order: names(64) } }),
        post("/api/v1/rerank", { ...rerank, trace: { ["😀".repeat(128)]: 1 } }),
        post("/api/v1/rerank", { ...rerank, trace: largestTrace })
      ])
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    })
  )

  it.effect("lists twenty issues and says that there are more", () =>
    Effect.gen(function* () {
      const metadataOf = (answer: Answer) => envelopeOf(answer).error.metadata
      const many = yield* post("/api/v1/rerank", {
        ...rerank,
        documents: [...repeated(500, "a"), ...repeated(9000, {})]
      })
      expect(many.status).toBe(400)
      expect(issuePaths(many)).toHaveLength(20)
      expect(issuePaths(many)[0]).toBe("documents.500")
      expect(metadataOf(many)?.["issues_truncated"]).toBe(true)
      const few = yield* post("/api/v1/rerank", { ...rerank, query: 1, documents: repeated(3, {}) })
      expect(issuePaths(few)).toEqual(["query", "documents.0", "documents.1", "documents.2"])
      expect(metadataOf(few)).not.toHaveProperty("issues_truncated")
    })
  )

  it.effect("does not block the service, whatever it contains", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const body = `{"model":"x","input_references":[${"1,".repeat(11_000_000)}1]}`
      const answer = yield* ask("/api/v1/videos", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body
      })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["input_references"]])
    })
  )
})

it.layer(layer({ rateLimit: { requests: 3, window: Duration.hours(1) } }), { excludeTestServices: true })(
  "a refused body",
  (it) => {
    it.effect("counts against the rate of its key", () =>
      Effect.gen(function* () {
        const key = yield* newKey(1)
        for (const body of ["{", { ...rerank, query: 1 }, { ...rerank, documents: [] }]) {
          expect((yield* post("/api/v1/rerank", body, { key })).status).toBe(400)
        }
        expect((yield* post("/api/v1/rerank", rerank, { key })).status).toBe(429)
      })
    )

    it.effect("is not read when it is large and the rate is used up", () =>
      Effect.gen(function* () {
        const key = yield* newKey(1)
        for (let n = 0; n < 3; n++) yield* post("/api/v1/rerank", rerank, { key })
        expect(yield* statusOf("/api/v1/rerank", { key, length: 2 * mebibyte })).toBe(429)
      }).pipe(Effect.scoped)
    )
  }
)

it.layer(layer({ bodyMemory: 40_000 }), { excludeTestServices: true })("the memory for bodies", (it) => {
  it.effect("is not given to a large body of a key that has nothing left to spend", () =>
    Effect.gen(function* () {
      const key = yield* newKey(0)
      for (const path of ["/api/v1/rerank", "/api/v1/audio/transcriptions", "/api/v1/videos"]) {
        expect(yield* statusOf(path, { key, length: 2 * mebibyte })).toBe(402)
        expect(yield* statusOf(path, { key })).toBe(402)
      }
    }).pipe(Effect.scoped)
  )

  /** A body that has been let in and does not come takes up the share of its key. */
  const fill = (key: string, path: string) =>
    Effect.flatMap(begin(path, { key, length: 5000, expect: "100-continue" }), (request) =>
      Effect.callback<void>((resume) => {
        request.on("continue", () => resume(Effect.void))
      })
    )

  it.effect("that is used up is a 503 with Retry-After, or what the operation has instead", () =>
    Effect.gen(function* () {
      const { managementKey, ordinaryKey } = yield* TestGateway
      yield* fill(ordinaryKey, "/api/v1/rerank")
      yield* fill(managementKey, "/api/v1/guardrails")
      const assignments = "/api/v1/guardrails/00000000-0000-4000-8000-000000000000/assignments/keys"
      const [ranked, submitted, assigned] = yield* Effect.all(
        [
          post("/api/v1/rerank", rerank),
          post("/api/v1/videos", video),
          post(assignments, { key_hashes: ["h"] }, { key: managementKey })
        ],
        { concurrency: "unbounded" }
      )
      expect([ranked.status, ranked.headers["retry-after"]]).toEqual([503, "1"])
      expect([submitted.status, submitted.headers["retry-after"]]).toEqual([429, "1"])
      expect(assigned.status).toBe(500)
      expect(envelopeOf(ranked).error.message).toMatch(/^service temporarily unavailable: too many large requests/)
      expect(envelopeOf(submitted).error.message).toMatch(/^rate limit exceeded: too many large requests/)
    }).pipe(Effect.scoped)
  )

  it.effect("is left to the other keys", () =>
    Effect.gen(function* () {
      const { ordinaryKey } = yield* TestGateway
      const key = yield* newKey(1)
      yield* fill(ordinaryKey, "/api/v1/rerank")
      expect((yield* post("/api/v1/rerank", rerank, { key })).status).toBe(200)
    }).pipe(Effect.scoped)
  )
})

it.layer(layer({ bodyMemory: mebibyte }), { excludeTestServices: true })("a body that is announced", (it) => {
  /** Sends the first part of a larger body. */
  const send = (key: string, bytes: number) =>
    Effect.tap(begin("/api/v1/rerank", { key, length: 900_000 }), (request) =>
      Effect.callback<void>((resume) => {
        request.write(" ".repeat(bytes), () => resume(Effect.void))
      })
    )

  const larger = { ...rerank, documents: ["a".repeat(100_000)] }

  it.effect("takes no memory before it arrives", () =>
    Effect.gen(function* () {
      for (const key of [yield* newKey(1), yield* newKey(1)]) yield* send(key, 1000)
      const answers = yield* Effect.forEach([1, 2, 3], () => post("/api/v1/rerank", larger))
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    }).pipe(Effect.scoped)
  )

  it.effect("makes way with a 503 for those of other keys, if it arrives slowly", () =>
    Effect.gen(function* () {
      const { managementKey } = yield* TestGateway
      const keys = [yield* newKey(1), yield* newKey(1)]
      const slow = yield* Effect.forEach(keys, (key) => send(key, 300_000))
      const answered = slow.map((request) =>
        Effect.callback<readonly [status: number | undefined, retryAfter: string | undefined]>((resume) => {
          request.on("response", (response) => {
            response.resume()
            resume(Effect.succeed([response.statusCode, response.headers["retry-after"]]))
          })
        })
      )
      const first = yield* Effect.forkChild(Effect.raceAll(answered), { startImmediately: true })
      const created = yield* post("/api/v1/keys", { name: "n".repeat(200) }, { key: managementKey })
      expect((yield* post("/api/v1/rerank", larger)).status).toBe(200)
      expect(created.status).toBe(201)
      expect(yield* Fiber.join(first)).toEqual([503, "1"])
    }).pipe(Effect.scoped)
  )
})

it.live("may be missing where all its fields are optional", () =>
  Effect.gen(function* () {
    const { ask, managementKey, workspace } = yield* TestGateway
    const rotate = `/api/v1/workspaces/${workspace.id}/webhook-secret/rotate`
    expect((yield* ask(rotate, { method: "POST", key: managementKey })).status).toBe(200)
    const refused = yield* ask("/api/v1/rerank", { method: "POST" })
    expect([refused.status, issuePaths(refused)]).toEqual([400, [""]])
  }).pipe(Effect.provide(layer()))
)
