import { expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { all } from "../../src/http/Routes.ts"
import { keypad } from "../operations/TestAudio.ts"
import { type Answer, form, formHeaders, layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, issuePaths, post } from "../TestEnvelope.ts"

const identified = Schema.decodeUnknownSync(
  Schema.fromJsonString(Schema.Struct({ data: Schema.Struct({ id: Schema.String }) }))
)

const fileOf = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ id: Schema.String })))

const isJson = ({ headers, text }: Answer): boolean =>
  headers["content-type"] === "application/json" && typeof JSON.parse(text) === "object"

it.layer(layer({ bodyLimits: { other: 2000 } }), { excludeTestServices: true })("every answer", (it) => {
  it.effect("carries an id, the caller's own where it is safe", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const made = yield* ask("/api/v1/key")
      expect(made.headers["x-request-id"]).toMatch(/^req_[0-9a-z]+$/)
      const chosen = yield* ask("/api/v1/key", { headers: { "x-request-id": "trace-7:a/b" } })
      expect(chosen.headers["x-request-id"]).toBe("trace-7:a/b")
      const unsafe = yield* ask("/api/v1/key", { headers: { "x-request-id": "<script>" } })
      expect(unsafe.headers["x-request-id"]).toMatch(/^req_/)
      const long = yield* ask("/api/v1/key", { headers: { "x-request-id": "a".repeat(129) } })
      expect(long.headers["x-request-id"]).toMatch(/^req_/)
      expect(new Set([made, unsafe, long].map(({ headers }) => headers["x-request-id"])).size).toBe(3)
    })
  )

  it.effect("of an operation must not be stored, also an error", () =>
    Effect.gen(function* () {
      const { ask, managementKey, ordinaryKey } = yield* TestGateway
      const statuses = new Set<number>()
      for (const { method, name, path } of all) {
        for (const key of [null, ordinaryKey, managementKey]) {
          const body = method === "GET" || method === "DELETE" ? undefined : "{}"
          const headers = { "content-type": "application/json" }
          const answer = yield* ask(path.replaceAll(/:\w+/g, "x"), { method, key, body, headers })
          statuses.add(answer.status)
          expect([name, answer.status, answer.headers["cache-control"]]).toEqual([name, answer.status, "no-store"])
        }
      }
      expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 401, 403, 404]))
      const unknown = yield* ask("/api/v1/nothing")
      expect(unknown.headers["cache-control"]).toBe("no-store")
    })
  )

  it.effect("is an envelope when the path is unknown [spec B1]", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      for (const path of [
        "/",
        "/api/v1",
        "/api/v1/nothing",
        "/api/v2/key",
        "/api/v1/files/a/b/c",
        "/api/v1/keys/%zz",
        "/api/v1/key;a",
        "/api/v1/models;a?q=rerank"
      ]) {
        const answer = yield* ask(path, { key: null })
        expect([path, answer.status, envelopeOf(answer).user_id]).toEqual([path, 404, null])
      }
    })
  )

  it.effect("names the content types that the operation accepts if the request has another", () =>
    Effect.gen(function* () {
      const { managementKey, ordinaryKey } = yield* TestGateway
      for (const [path, expected, key = ordinaryKey] of [
        ["/api/v1/rerank", "application/json"],
        ["/api/v1/audio/transcriptions", "application/json or multipart/form-data"],
        ["/api/v1/files", "multipart/form-data"],
        ["/api/v1/guardrails", "application/json", managementKey]
      ] as const) {
        const answer = yield* post(path, "tea", { key, headers: { "content-type": "text/tea" } })
        expect([path, answer.status, envelopeOf(answer).error.message]).toEqual([
          path,
          400,
          expect.stringContaining(expected)
        ])
        expect(answer.text).not.toContain(expected === "multipart/form-data" ? "application/json" : "text/tea")
      }
    })
  )

  it.effect("of the six operations is JSON, to JSON bodies only, in a success and in an error [spec A3 A5 B1 J3]", () =>
    Effect.gen(function* () {
      const { ask, managementKey, ordinaryKey } = yield* TestGateway
      const audio = { data: keypad("1").toString("base64"), format: "wav" }
      const guardrail = identified((yield* post("/api/v1/guardrails", { name: "g" }, { key: managementKey })).text).data
        .id
      const bodies: ReadonlyArray<readonly [path: string, success: number, body: object, key?: string]> = [
        ["/api/v1/rerank", 200, { model: "sandbox/bm25", query: "tea", documents: ["tea"] }],
        ["/api/v1/audio/transcriptions", 200, { model: "sandbox/tones", input_audio: audio }],
        ["/api/v1/videos", 202, { model: "sandbox/title-card", prompt: "tea", duration: 1, resolution: "480p" }],
        [`/api/v1/guardrails/${guardrail}/assignments/keys`, 200, { key_hashes: ["h"] }, managementKey]
      ]
      for (const [path, success, body, key = ordinaryKey] of bodies) {
        const answer = yield* post(path, body, { key })
        expect([path, answer.status, isJson(answer)]).toEqual([path, success, true])
        for (const [sent, type] of [
          [body, "text/plain"],
          [body, "application/x-www-form-urlencoded"],
          ["{", "application/json"],
          ["tea", "application/json"]
        ] as const) {
          const refused = yield* post(path, sent, { key, headers: { "content-type": type } })
          expect([path, type, refused.status, isJson(refused)]).toEqual([path, type, 400, true])
          envelopeOf(refused)
        }
      }
      const record = yield* ask("/api/v1/key")
      expect([record.status, isJson(record)]).toEqual([200, true])
      const stored = yield* ask("/api/v1/files", {
        method: "POST",
        headers: formHeaders,
        body: form({ name: "file", filename: "a.txt", value: "a" })
      })
      const file = `/api/v1/files/${fileOf(stored.text).id}`
      for (const status of [200, 404]) {
        const answer = yield* ask(file, { method: "DELETE" })
        expect([answer.status, isJson(answer)]).toEqual([status, true])
      }
    })
  )

  it.effect("is a 404 for every other spelling of a path [spec J1]", () =>
    Effect.gen(function* () {
      const { ask, managementKey: key, port } = yield* TestGateway
      for (const path of [
        "/key",
        "/v1/key",
        "/api/key",
        "/API/v1/key",
        "/api/v1/KEY",
        "/api/v1/key/",
        "/api/v1/key//",
        "/api/v1//key",
        "//api/v1/key",
        "/api/v1/guardrails/",
        "/api/v1/guardrails//",
        "/api/v1/guardrails/?limit=1",
        "/api/v1/keys/",
        "/api/v1/files/",
        "/api/v1/videos//content",
        "/api/v1/Guardrails",
        "/api/v1/./key",
        "/api/v1/x/../key",
        "/api/v1/k%65y",
        "/api/v1%2Fkey",
        "/%61pi/v1/key",
        "/api/v1/videos/%6dodels",
        "/api/v1/key%2e",
        `http://127.0.0.1:${port}/api/v1/x/../key`,
        `http://127.0.0.1:${port}/api\\v1\\key`,
        "http://[x/api/v1/key",
        "/healthz/",
        "/HEALTHZ",
        "/docs/",
        "/Docs",
        "/openapi.json/"
      ]) {
        const answer = yield* ask(path, { key })
        expect([path, answer.status]).toEqual([path, 404])
        envelopeOf(answer)
        const options = yield* ask(path, { key, method: "OPTIONS" })
        expect([path, options.status]).toEqual([path, 404])
      }
      for (const path of ["/api/v1/key", "/api/v1/key?a=%61//B", `http://127.0.0.1:${port}/api/v1/key`, "/docs"]) {
        expect([path, (yield* ask(path, { key })).status]).toEqual([path, 200])
      }
    })
  )

  it.effect("is never taken for another content type than its own", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      for (const [path, method] of [
        ["/api/v1/key", "GET"],
        ["/api/v1/key", "OPTIONS"],
        ["/api/v1/rerank", "POST"],
        ["/api/v1/nothing", "GET"],
        ["/healthz", "GET"],
        ["/readyz", "GET"],
        ["/metrics", "GET"],
        ["/docs", "GET"],
        ["/openapi.json", "GET"]
      ] as const) {
        const { headers } = yield* ask(path, { method })
        expect([path, method, headers["x-content-type-options"]]).toEqual([path, method, "nosniff"])
      }
    })
  )

  it.effect("names the methods of a path that is asked with another", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const wrong = yield* ask("/api/v1/rerank", { method: "PUT" })
      expect([wrong.status, wrong.headers["allow"]]).toEqual([405, "OPTIONS, POST"])
      envelopeOf(wrong)
      const files = yield* ask("/api/v1/files/abc", { method: "POST" })
      expect([files.status, files.headers["allow"]]).toEqual([405, "DELETE, GET, HEAD, OPTIONS"])
      const options = yield* ask("/api/v1/key", { method: "OPTIONS", key: null })
      expect([options.status, options.headers["allow"], options.text]).toEqual([204, "GET, HEAD, OPTIONS", ""])
      const nowhere = yield* ask("/nowhere", { method: "OPTIONS", key: null })
      expect(nowhere.status).toBe(404)
    })
  )

  it.effect("says of each path which methods recognize a request by its Idempotency-Key", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const keyedOf = (path: string) =>
        Effect.map(
          ask(`/api/v1${path}`, { method: "OPTIONS", key: null }),
          ({ headers }) => headers["accept-idempotency-key"]
        )
      for (const path of ["/videos", "/rerank", "/audio/transcriptions", "/keys"]) {
        expect([path, yield* keyedOf(path)]).toEqual([path, "POST"])
      }
      for (const path of ["/key", "/videos/vid_1", "/videos/models", "/videos/vid_1/cancel"]) {
        expect([path, yield* keyedOf(path)]).toEqual([path, undefined])
      }
    })
  )

  it.effect("to HEAD is that to GET without its body", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const head = yield* ask("/api/v1/key", { method: "HEAD" })
      expect([head.status, head.text]).toEqual([200, ""])
      expect(Number(head.headers["content-length"])).toBeGreaterThan(100)
      const refused = yield* ask("/api/v1/key", { method: "HEAD", key: null })
      expect([refused.status, refused.text]).toEqual([401, ""])
    })
  )

  it.effect("to input that is no request says what is wrong with it", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const broken = yield* post("/api/v1/keys", '{"name": ', { key })
      expect([broken.status, issuePaths(broken)]).toEqual([400, [""]])
      const empty = yield* post("/api/v1/keys", "", { key })
      expect([empty.status, issuePaths(empty)]).toEqual([400, [""]])
      const type = yield* post("/api/v1/keys", "name=a", {
        key,
        headers: { "content-type": "application/x-www-form-urlencoded" }
      })
      expect([type.status, issuePaths(type)]).toEqual([400, ["content-type"]])
      expect(envelopeOf(type).error.message).toContain("expected application/json")
      const fields = yield* post(
        "/api/v1/keys",
        { name: "", limit: -1, expires_at: "tomorrow", is_management_key: 1 },
        { key }
      )
      expect([fields.status, issuePaths(fields).toSorted()]).toEqual([
        400,
        ["expires_at", "is_management_key", "limit", "name"]
      ])
      expect(fields.text).not.toContain("tomorrow")
    })
  )

  it.effect("to a body past the limit is of the operation's set", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const large = yield* post("/api/v1/keys", { name: "a".repeat(3000) }, { key })
      expect([large.status, envelopeOf(large).error.message]).toEqual([
        400,
        "invalid request parameters: request payload too large: at most 2000 bytes are accepted"
      ])
    })
  )

  it.effect("does not report a compressed body as invalid JSON", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const packed = yield* post("/api/v1/keys", { name: "a" }, { key, headers: { "content-encoding": "gzip" } })
      expect([packed.status, issuePaths(packed)]).toEqual([400, ["content-encoding"]])
      const plain = yield* post("/api/v1/keys", { name: "a" }, { key, headers: { "content-encoding": "identity" } })
      expect(plain.status).toBe(201)
    })
  )

  it.effect("names a day that the calendar does not have, and a list that is too short", () =>
    Effect.gen(function* () {
      const { managementKey: key } = yield* TestGateway
      const day = yield* post("/api/v1/keys", { name: "a", expires_at: "2999-02-29T00:00:00Z" }, { key })
      expect([day.status, issuePaths(day)]).toEqual([400, ["expires_at"]])
      const short = yield* post("/api/v1/rerank", { model: "sandbox/bm25", query: "a", documents: [] })
      expect(envelopeOf(short).error.message).toBe("invalid request parameters: documents: Expected at least 1 item")
    })
  )

  it.effect("says who the caller is once that is known", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      const answer = yield* ask("/api/v1/models?output_modalities=nonsense", { key: managementKey })
      expect([answer.status, issuePaths(answer)]).toEqual([400, ["output_modalities"]])
    })
  )
})

it.layer(layer(), { excludeTestServices: true })("for monitoring", (it) => {
  it.effect("the process runs and is ready, with nothing to authenticate", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      expect((yield* ask("/healthz", { key: null })).text).toBe('{"status":"ok"}')
      expect((yield* ask("/readyz", { key: null })).text).toBe(
        '{"status":"ready","parts":{"database":{"status":"ready"},"object_store":{"status":"ready"},"uploads":{"status":"ready"}}}'
      )
    })
  )

  it.effect("requests are counted by operation and status", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      yield* ask("/api/v1/key")
      const { headers, text } = yield* ask("/metrics", { key: null })
      expect(headers["content-type"]).toContain("text/plain")
      expect(text).toMatch(/model_gateway_requests_total\{operation="currentKey",status="200"\} \d+/)
      expect(text).toMatch(/model_gateway_request_duration_seconds_bucket\{operation="currentKey",le="\+Inf"\} \d+/)
    })
  )

  it.effect("the contract and its page need nothing from elsewhere", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const document = yield* ask("/openapi.json", { key: null })
      expect(document.text).toContain('"servers":[{"url":"/api/v1",')
      expect(document.text).toContain('"/rerank":{"post":')
      const page = yield* ask("/docs", { key: null })
      expect(page.status).toBe(200)
      expect(page.headers["content-security-policy"]).toContain("default-src 'none'")
      const links = page.text.match(/<(?:script|link|img)[^>]+(?:src|href)=["']?https?:/g)
      expect(links).toBeNull()
    })
  )
})
