import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeGateway from "@model-gateway/node/NodeGateway"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Layer, Redacted, Schema, type Scope, Stream } from "effect"
import { FetchHttpClient, HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { type Credential, gatewayCredential } from "../src/Offer.ts"
import type { ProviderError, Reason } from "../src/ProviderError.ts"
import * as ProviderErrors from "../src/ProviderError.ts"
import * as UpstreamHttp from "../src/UpstreamHttp.ts"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import type { Double, Scripted } from "@model-gateway/test-doubles/Double"
import { recorded, until } from "@model-gateway/test-doubles/recorded"

const key = "co-secret-0123456789"

/** A double of Cohere's API that accepts the key, for the scope. */
const double: Effect.Effect<Double, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() => startCohereDouble({ keys: [key] })),
  (double) => Effect.promise(() => double.close())
)

const credential: Credential = { id: "test", secret: Redacted.make(key) }

const Answer = Schema.Struct({ name: Schema.String, sizes: Schema.Array(Schema.Int) })

const answer = { name: "first", sizes: [1, 2] }

const request = HttpClientRequest.post("v2/rerank").pipe(HttpClientRequest.bodyJsonUnsafe({ question: "why" }))

const call: UpstreamHttp.Call = { request, credential, model: "m" }

/** Calls a double that gives one scripted answer. */
const ask = (scripted: Scripted, options: Partial<UpstreamHttp.Options> = {}) =>
  Effect.gen(function* () {
    const { next, url } = yield* double
    next(scripted)
    const upstream = yield* UpstreamHttp.make({ baseUrl: url, ...options })
    return yield* upstream.json(call, Answer)
  })

const reasonOf = <A, R>(effect: Effect.Effect<A, ProviderError, R>): Effect.Effect<Reason, A, R> =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason)

const flawOf = (reason: Reason) => (reason._tag === "BadResponse" ? reason.description : reason)

const clients: ReadonlyArray<readonly [string, Layer.Layer<HttpClient.HttpClient>]> = [
  ["@model-gateway/node", Layer.orDie(NodeGateway.layerHttpClient())],
  ["undici", NodeHttpClient.layerUndici],
  ["node:http", NodeHttpClient.layerNodeHttp],
  ["fetch", FetchHttpClient.layer]
]

for (const [name, client] of clients) {
  describe(`UpstreamHttp over ${name}`, () => {
    it.live("sends the credential and the body to the base URL, and decodes the response", () =>
      Effect.gen(function* () {
        const { next, state, url } = yield* double
        next({ body: { ...answer, more: true } }, { body: answer }, { body: answer })
        const upstream = yield* UpstreamHttp.make({ baseUrl: `${url}/proxy/` })
        assert.deepStrictEqual(yield* upstream.json(call, Answer), answer)
        const other = yield* UpstreamHttp.make({ baseUrl: url, authentication: { header: "x-token" } })
        yield* other.json(call, Answer)
        yield* other.json({ ...call, credential: { id: "none" } }, Answer)
        assert.deepStrictEqual(
          state.requests.map(({ headers, method, text, url }) => [
            method,
            url,
            headers["authorization"],
            headers["x-token"],
            headers["traceparent"],
            headers["user-agent"],
            text
          ]),
          [
            ["POST", "/proxy/v2/rerank", `Bearer ${key}`, undefined, undefined, "model-gateway", '{"question":"why"}'],
            ["POST", "/v2/rerank", undefined, key, undefined, "model-gateway", '{"question":"why"}'],
            ["POST", "/v2/rerank", undefined, undefined, undefined, "model-gateway", '{"question":"why"}']
          ]
        )
      }).pipe(Effect.provide(client))
    )

    it.live("is unavailable if no connection can be made", () =>
      Effect.gen(function* () {
        const closed = yield* Effect.scoped(Effect.map(double, ({ url }) => url))
        const { url } = yield* double
        for (const baseUrl of [closed, "http://nowhere.invalid", url.replace("http:", "https:")]) {
          const upstream = yield* UpstreamHttp.make({ baseUrl })
          assert.strictEqual((yield* reasonOf(upstream.json(call, Answer)))._tag, "Unavailable", baseUrl)
        }
      }).pipe(Effect.provide(client))
    )

    it.live("tells a connection that breaks after the request was sent from an answer that does not come", () =>
      Effect.gen(function* () {
        const timeLimit = Duration.millis(100)
        const faults: ReadonlyArray<readonly [Scripted, Partial<UpstreamHttp.Options>, Reason["_tag"]]> = [
          [{ fault: "cut" }, {}, "ConnectionLost"],
          [{ fault: "reset" }, {}, "ConnectionLost"],
          [{ fault: "cutBody" }, {}, "ConnectionLost"],
          [{ fault: "hang" }, { timeLimit }, "Timeout"],
          // Its headers must have arrived by then, also where the machine is busy.
          [{ fault: "hangBody" }, { timeLimit: Duration.seconds(1) }, "Timeout"]
        ]
        for (const [scripted, options, tag] of faults) {
          const error = yield* Effect.flip(ask(scripted, options))
          assert.strictEqual(error.reason._tag, tag, scripted.fault)
          const hasAnswered = scripted.fault === "cutBody" || scripted.fault === "hangBody"
          assert.strictEqual(error.status, hasAnswered ? 200 : undefined, scripted.fault)
        }
      }).pipe(Effect.provide(client))
    )

    it.live("closes the connection of a call that is interrupted", () =>
      Effect.gen(function* () {
        const { next, state, url } = yield* double
        const upstream = yield* UpstreamHttp.make({ baseUrl: url })
        for (const [at, fault] of (["hang", "hangBody"] as const).entries()) {
          next({ fault })
          const fiber = yield* Effect.forkChild(upstream.json(call, Answer))
          yield* until(() => state.requests.length === at + 1)
          yield* Fiber.interrupt(fiber)
          yield* until(() => state.requests[at]?.isClosed() === true)
        }
      }).pipe(Effect.provide(client))
    )

    it.live("stops reading a body that is too large", () =>
      Effect.gen(function* () {
        const { next, state, url } = yield* double
        const upstream = yield* UpstreamHttp.make({ baseUrl: url })
        const bounded = { ...call, bounds: { bytes: 1024 * 1024 } }
        next({ fault: "endless" })
        const reason = yield* reasonOf(upstream.json(bounded, Answer))
        assert.strictEqual(flawOf(reason), "more than 1048576 bytes")
        yield* until(() => state.requests[0]?.isClosed() === true)
        assert.isBelow(state.bytesSent, 64 * 1024 * 1024)

        const declared = { body: JSON.stringify({ ...answer, padding: "x".repeat(1024 * 1024) }) }
        next(declared)
        assert.strictEqual((yield* reasonOf(upstream.json(bounded, Answer)))._tag, "BadResponse")
        next({ status: 429, body: { message: "x".repeat(1024 * 1024) } })
        assert.strictEqual((yield* reasonOf(upstream.json(bounded, Answer)))._tag, "RateLimited")
      }).pipe(Effect.provide(client))
    )

    it.live("refuses a body with more than the call can need before it parses it", () =>
      Effect.gen(function* () {
        const { next, url } = yield* double
        const upstream = yield* UpstreamHttp.make({ baseUrl: url })
        const bounded = { ...call, bounds: { entries: 10, values: 5000, depth: 8 } }
        const list = (items: number, item = "1") => `[${Array<string>(items).fill(item).join(",")}]`
        const bodies: ReadonlyArray<readonly [body: string, flaw: string]> = [
          [`{"text":"","more":${"[".repeat(3000)}${"]".repeat(3000)}}`, "Expected at most 8 levels of nesting"],
          [`{"text":"","more":${list(30_000)}}`, "Expected at most 10 items"],
          [`{"text":"","more":${list(10, list(10, list(10, list(10))))}}`, "Expected a body of at most 5000 values"]
        ]
        for (const [body, flaw] of bodies) {
          for (const headers of [{}, { "transfer-encoding": "chunked" }]) {
            next({ body, headers })
            assert.strictEqual(flawOf(yield* reasonOf(upstream.json(bounded, Answer))), flaw)
          }
        }
        // A long text is one value.
        next({ body: { ...answer, padding: "[".repeat(1_000_000) } })
        assert.deepStrictEqual(yield* upstream.json(bounded, Answer), answer)
      }).pipe(Effect.provide(client))
    )

    it.live("closes the connection of a body that it does not read", () =>
      Effect.gen(function* () {
        const { next, state, url } = yield* double
        const upstream = yield* UpstreamHttp.make({ baseUrl: url })
        const unread: ReadonlyArray<Scripted> = [
          { fault: "hangBody", headers: { "content-length": "4294967296" } },
          { fault: "hangBody", status: 302 }
        ]
        for (const [at, scripted] of unread.entries()) {
          next(scripted)
          assert.strictEqual((yield* reasonOf(upstream.json(call, Answer)))._tag, "BadResponse")
          yield* until(() => state.requests[at]?.isClosed() === true)
        }
      }).pipe(Effect.provide(client))
    )

    it.live("does not follow a redirect, so that credentials stay with the upstream", () =>
      Effect.gen(function* () {
        const other = yield* double
        for (const status of [301, 302, 303, 307, 308]) {
          const reason = yield* reasonOf(ask({ status, headers: { location: `${other.url}/v2/rerank` } }))
          assert.strictEqual(flawOf(reason), `status ${status}`)
        }
        assert.deepStrictEqual(other.state.requests, [])
      }).pipe(Effect.provide(client))
    )

    it.live("streams a body, and closes the connection of one that is not read to its end", () =>
      Effect.gen(function* () {
        const { next, state, url } = yield* double
        const upstream = yield* UpstreamHttp.make({ baseUrl: url })
        next({ body: "some bytes" })
        assert.strictEqual(yield* Stream.mkString(Stream.decodeText(upstream.stream(call))), "some bytes")
        next({ fault: "endless" })
        const first = yield* upstream.stream(call).pipe(Stream.take(1), Stream.runCollect)
        assert.isAbove(first[0]?.length ?? 0, 0)
        yield* until(() => state.requests[1]?.isClosed() === true)
        const timeLimit = Duration.millis(100)
        const failures: ReadonlyArray<readonly [Partial<UpstreamHttp.Options>, Scripted, Reason["_tag"]]> = [
          [{}, { fault: "cutBody" }, "ConnectionLost"],
          [{ timeLimit }, { fault: "hangBody" }, "Timeout"],
          [{ timeLimit }, { fault: "hang" }, "Timeout"],
          [{}, { status: 401 }, "Unauthorized"]
        ]
        for (const [options, scripted, tag] of failures) {
          // Each with a server of its own: a request may arrive after its time limit.
          const { next, url } = yield* double
          next(scripted)
          const failing = yield* UpstreamHttp.make({ baseUrl: url, ...options })
          assert.strictEqual((yield* reasonOf(Stream.runDrain(failing.stream(call))))._tag, tag)
        }
      }).pipe(Effect.provide(client))
    )

    it.live("streams a request's body", () =>
      Effect.gen(function* () {
        const { next, state, url } = yield* double
        const upstream = yield* UpstreamHttp.make({ baseUrl: url })
        next({ headers: { "x-compute-tokens": "7" }, body: answer }, { body: answer })
        const parts = Stream.make(new TextEncoder().encode("some "), new TextEncoder().encode("audio"))
        const raw = HttpClientRequest.post("listen").pipe(
          HttpClientRequest.bodyStream(parts, { contentType: "audio/wav", contentLength: 10 })
        )
        const { headers } = yield* upstream.jsonWithHeaders({ ...call, request: raw }, Answer)
        assert.strictEqual(headers["x-compute-tokens"], "7")
        const form = new FormData()
        form.append("model", "m")
        form.append("file", new Blob(["some audio"]), "a.wav")
        const multipart = HttpClientRequest.post("listen").pipe(HttpClientRequest.bodyFormData(form))
        yield* upstream.json({ ...call, request: multipart }, Answer)
        const [first, second] = state.requests
        assert.deepStrictEqual([first?.text, first?.headers["content-type"]], ["some audio", "audio/wav"])
        // fetch does not declare the length of a stream.
        assert.strictEqual(first?.headers["content-length"], name === "fetch" ? undefined : "10")
        assert.match(second?.headers["content-type"] ?? "", /^multipart\/form-data; boundary=/)
        assert.match(second?.text ?? "", /name="model"[^]*name="file"; filename="a\.wav"[^]*some audio/)
      }).pipe(Effect.provide(client))
    )

    it.live("downloads behind redirects, and sends the credential to the upstream's host only", () =>
      Effect.gen(function* () {
        const storage = yield* double
        const { next, state, url } = yield* double
        const upstream = yield* UpstreamHttp.make({ baseUrl: url, authentication: { header: "x-token" } }).pipe(
          Effect.provideService(UpstreamHttp.LinkClient, yield* HttpClient.HttpClient)
        )
        const moved = (location: string) => ({ status: 302, headers: { location } })
        next(moved("/files/2"), moved(`${storage.url}/a.mp4?signature=1`))
        storage.next({ body: new TextEncoder().encode("video") })
        const link = { url: `${url}/files/1`, credential, model: "m" }
        assert.strictEqual(yield* Stream.mkString(Stream.decodeText(upstream.download(link))), "video")
        const seen = [...state.requests, ...storage.state.requests].map(({ headers, url }) => [url, headers["x-token"]])
        assert.deepStrictEqual(seen, [
          ["/files/1", key],
          ["/files/2", key],
          ["/a.mp4?signature=1", undefined]
        ])
        storage.next({ body: new TextEncoder().encode("video") })
        yield* Stream.runDrain(upstream.download({ url: storage.url, model: "m" }))
        storage.next({ body: new TextEncoder().encode("video") })
        yield* Stream.runDrain(upstream.download({ url: storage.url, credential, model: "m" }))
        assert.notInclude(JSON.stringify(storage.state.requests.map(({ headers }) => headers)), key)
      }).pipe(Effect.provide(client))
    )

    it.live("shows the credential in no log, error or span", () =>
      Effect.gen(function* () {
        const answers: ReadonlyArray<Scripted> = [
          { body: answer },
          { body: `{"echo":"Bearer ${key}"}` },
          { status: 401, body: { message: `invalid api token ${key}` } },
          { status: 400, headers: { "x-echo": key }, body: { message: `do not send ${key} to anyone` } },
          { status: 500, body: `Bearer ${key}` },
          { fault: "cut" }
        ]
        for (const authentication of [UpstreamHttp.bearer, { header: "x-token" }]) {
          for (const scripted of answers) {
            const text = yield* recorded(Effect.scoped(ask(scripted, { authentication }))).pipe(
              Effect.provideService(HttpClient.TracerHeaderFilter, (name) => name !== "x-echo")
            )
            assert.include(text, "http.request.method")
            assert.notInclude(text, key)
          }
        }
      }).pipe(Effect.provide(client))
    )
  })
}

describe("UpstreamHttp", () => {
  it.live("reuses connections", () =>
    Effect.gen(function* () {
      const { next, state, url } = yield* double
      const upstream = yield* UpstreamHttp.make({ baseUrl: url })
      next(...Array.from({ length: 10 }, (_, at) => ({ status: at % 2 === 0 ? 200 : 429, body: answer })))
      for (let at = 0; at < 10; at++) yield* Effect.exit(upstream.json(call, Answer))
      assert.strictEqual(state.requests.length, 10)
      assert.isBelow(state.connections, 10)
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("shows no part of a secret in a message: neither of the caller's key nor of the gateway's", () =>
    Effect.gen(function* () {
      const gateways = gatewayCredential(Redacted.make("Wq7Zr4Tb9KpXs2Lv"))
      const cases = [
        [`no voice for ${key.slice(0, 9)}, choose another`, "no voice for <redacted>, choose another"],
        [`no voice for ${key.slice(-6).toUpperCase()}, choose another`, "no voice for <redacted>, choose another"],
        ["no voice for Zr4Tb9, choose another", "no voice for <redacted>, choose another"],
        ["no voice for Zr4Tb, choose another", "no voice for Zr4Tb, choose another"]
      ] as const
      for (const [message, shown] of cases) {
        const reason = yield* reasonOf(ask({ status: 400, body: { error: { message } } }, { credential: gateways }))
        assert.deepStrictEqual([reason._tag, reason.message], ["InvalidRequest", shown])
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("shows words such as credits and quota if the code or a named field says that they are the input's", () =>
    Effect.gen(function* () {
      const message = "'credits' and 'quota' are not allowed here"
      const neutral = "the provider rejected the request as invalid"
      const bodies: ReadonlyArray<readonly [unknown, string]> = [
        [{ error: { message, code: "unknown_parameter" } }, message],
        [{ error: { message, type: "invalid_request_error", param: "prompt" } }, message],
        [{ detail: [{ loc: ["body", "query"], msg: message, type: "other" }] }, `query: ${message}`],
        [{ error: message, issues: [{ path: ["query"], message: "no" }] }, `${message}: query: no`],
        [{ error: { message, status: "INVALID_ARGUMENT" } }, message],
        // Nothing says what it is about, so its words decide.
        [{ message }, neutral],
        [{ error: { message, type: "invalid_request_error", param: null } }, neutral],
        // The account's, whatever else is said.
        [{ error: { message: "No tea", code: "billing_hard_limit_reached", param: "prompt" } }, neutral],
        [
          { error: { message: "No tea", status: "INVALID_ARGUMENT", details: [{ reason: "API_KEY_INVALID" }] } },
          neutral
        ],
        [
          { error: { message: "Your organization must be verified.", code: "unsupported_value", param: "model" } },
          neutral
        ]
      ]
      for (const [body, shown] of bodies) {
        const reason = yield* reasonOf(ask({ status: 400, body }))
        assert.deepStrictEqual([reason._tag, reason.message], ["InvalidRequest", shown])
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("maps every status to a reason", () =>
    Effect.gen(function* () {
      const tags: ReadonlyArray<readonly [number, Reason["_tag"]]> = [
        [400, "InvalidRequest"],
        [401, "Unauthorized"],
        [402, "OutOfCredit"],
        [403, "Unauthorized"],
        [404, "UnknownModel"],
        [405, "BadResponse"],
        [408, "Timeout"],
        [413, "InputTooLarge"],
        [418, "BadResponse"],
        [422, "InvalidRequest"],
        [429, "RateLimited"],
        [500, "BadResponse"],
        [502, "BadResponse"],
        [503, "Overloaded"],
        [504, "Timeout"],
        [524, "Timeout"],
        [529, "Overloaded"]
      ]
      for (const [status, tag] of tags) {
        const reason = yield* reasonOf(ask({ status, body: { message: "why" } }))
        assert.strictEqual(reason._tag, tag, `${status}`)
        const isShown = tag === "InvalidRequest" || tag === "InputTooLarge"
        assert.strictEqual(reason.message.includes("why"), isShown, `${status}`)
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("prefers the adapter's own mapping of a status", () =>
    Effect.gen(function* () {
      const reason = yield* reasonOf(
        ask(
          { status: 418, headers: { "retry-after": "7" }, body: { message: "why", code: "teapot" } },
          {
            reasonOf: (failure) => {
              assert.deepStrictEqual(failure, {
                status: 418,
                message: "why",
                codes: ["teapot"],
                namesField: false,
                retryAfter: Duration.seconds(7),
                model: "m"
              })
              return UpstreamHttp.reasonOf({ ...failure, status: 429 })
            }
          }
        )
      )
      assert.strictEqual(reason._tag, "RateLimited")
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("reads Retry-After as seconds and as a date", () =>
    Effect.gen(function* () {
      const date = "Sat, 21 Nov 2026 10:00:00 GMT"
      const waits: ReadonlyArray<readonly [Readonly<Record<string, string>>, number | undefined]> = [
        [{}, undefined],
        [{ "retry-after": "30" }, 30],
        [{ "retry-after": "0" }, 0],
        [{ "retry-after": "Sat, 21 Nov 2026 10:00:30 GMT", date }, 30],
        [{ "retry-after": "Sat, 21 Nov 2026 09:00:00 GMT", date }, 0],
        [{ "retry-after": "-3" }, undefined],
        [{ "retry-after": "1.5" }, undefined],
        [{ "retry-after": "soon" }, undefined],
        [{ "retry-after": "99999999999999999999" }, undefined]
      ]
      for (const status of [429, 503]) {
        for (const [headers, seconds] of waits) {
          const reason = yield* reasonOf(ask({ status, headers }))
          if (reason._tag !== "RateLimited" && reason._tag !== "Overloaded") return assert.fail(reason._tag)
          const wait = reason.retryAfter === undefined ? undefined : Duration.toSeconds(reason.retryAfter)
          assert.strictEqual(wait, seconds, JSON.stringify(headers))
        }
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("shows an upstream's message as one short line", () =>
    Effect.gen(function* () {
      const messages: ReadonlyArray<readonly [unknown, string]> = [
        [{ message: "top_n must be positive" }, "top_n must be positive"],
        [{ error: { message: "too long" } }, "too long"],
        [{ error: "too long" }, "too long"],
        [{ detail: "too long" }, "too long"],
        [{ message: "two\nlines\u0000and\u001b[31m more\u202e" }, "two lines and [31m more"],
        [{ message: `the key ${key} is wrong` }, "the key <redacted> is wrong"],
        [{ message: "y".repeat(5000) }, `${"y".repeat(499)}…`],
        [{ message: `${"y".repeat(498)}😀 and more` }, `${"y".repeat(498)}\ufffd…`],
        [{ message: " \n " }, "the provider rejected the request as invalid"],
        [{ message: 5 }, "the provider rejected the request as invalid"],
        [
          { error: { message: "Incorrect API key provided: sk-ab***cd." } },
          "the provider rejected the request as invalid"
        ],
        [{ detail: "cannot read https://private.example.com/a.png" }, "cannot read <redacted>"],
        ["<html>Bad Request</html>", "the provider rejected the request as invalid"],
        ["", "the provider rejected the request as invalid"]
      ]
      for (const [body, message] of messages) {
        assert.strictEqual((yield* reasonOf(ask({ status: 400, body }))).message, message)
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("waits for the longer of what the header and the body say", () =>
    Effect.gen(function* () {
      const retryInfo = { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }
      const body = { error: { code: 429, status: "RESOURCE_EXHAUSTED", details: [retryInfo] } }
      for (const [header, seconds] of [
        ["3", 34.5],
        ["60", 60]
      ] as const) {
        const reason = yield* reasonOf(ask({ status: 429, headers: { "retry-after": header }, body }))
        assert.deepStrictEqual(reason._tag === "RateLimited" && reason.retryAfter, Duration.seconds(seconds))
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("names the first value of another form, without the value", () =>
    Effect.gen(function* () {
      const bodies: ReadonlyArray<readonly [unknown, string]> = [
        [{ ...answer, sizes: [1, "private"] }, "JSON of another form at sizes.1"],
        [{ sizes: ["private"] }, "JSON of another form at name"],
        [["private"], "JSON of another form at its root"],
        ['{"name":', "not JSON"],
        ["", "not JSON"],
        ["<html>private</html>", "not JSON"]
      ]
      for (const [body, description] of bodies) {
        const error = yield* Effect.flip(ask({ body }))
        assert.deepStrictEqual([flawOf(error.reason), error.status], [description, 200])
      }
      const types: ReadonlyArray<readonly [string, string]> = [
        ["text/html; charset=utf-8", "not JSON but text/html"],
        ["private", "not JSON but a body without a type"],
        ["application/problem+json", "not JSON"]
      ]
      for (const [type, description] of types) {
        const headers = { "content-type": type }
        const error = yield* Effect.flip(ask({ status: 201, headers, body: "<html>private</html>" }))
        assert.deepStrictEqual([flawOf(error.reason), error.status], [description, 201])
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("reports an answer that is not HTTP", () =>
    Effect.gen(function* () {
      const reason = yield* reasonOf(ask({ fault: "notHttp" }))
      assert.strictEqual(flawOf(reason), "not HTTP")
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.effect("maps the status if the body of an error does not arrive", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(
        reasonOf(Effect.scoped(ask({ fault: "hangBody", status: 503 }, { timeLimit: Duration.infinity })))
      )
      while (fiber.pollUnsafe() === undefined) {
        yield* TestClock.adjust("1 second")
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
      }
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "Overloaded")
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("does not send a credential that no header can contain", () =>
    Effect.gen(function* () {
      const { state, url } = yield* double
      const upstream = yield* UpstreamHttp.make({ baseUrl: url })
      for (const secret of ["", "two words", "line\r\nx-injected: 1", "schlüssel"]) {
        const reason = yield* reasonOf(
          upstream.json({ ...call, credential: { id: "test", secret: Redacted.make(secret) } }, Answer)
        )
        assert.strictEqual(reason._tag, "Unauthorized")
      }
      assert.deepStrictEqual(state.requests, [])
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("reports a link that does not lead to a file", () =>
    Effect.gen(function* () {
      const { always, state, url } = yield* double
      const upstream = yield* UpstreamHttp.make({ baseUrl: url })
      const hasty = yield* UpstreamHttp.make({ baseUrl: url, timeLimit: Duration.millis(300) })
      const secure = yield* UpstreamHttp.make({ baseUrl: "https://api.example.com" })
      const link = `${url}/a.mp4?signature=secret`
      const fails = (scripted: Scripted, target = link, http = upstream) =>
        Effect.sync(() => always(scripted)).pipe(
          Effect.andThen(Stream.runDrain(http.download({ url: target, model: "m" }))),
          Effect.flip,
          Effect.map(({ reason, status }) => [flawOf(reason), status])
        )
      const html = { headers: { "content-type": "text/html" }, body: "<html>" }
      assert.deepStrictEqual(yield* fails(html), ["text/html in place of a file", 200])
      assert.deepStrictEqual(yield* fails({}), ["application/json in place of a file", 200])
      for (const status of [400, 401, 403, 404, 410]) {
        assert.deepStrictEqual(yield* fails({ status }), [`a link answered with status ${status}`, status])
      }
      assert.deepStrictEqual(yield* fails({ status: 503, headers: { "retry-after": "2" } }), [
        new ProviderErrors.Overloaded({ retryAfter: Duration.seconds(2) }),
        503
      ])
      const type = { "content-type": "video/mp4" }
      assert.deepStrictEqual(yield* fails({ fault: "cutBody", headers: type }, link, hasty), [
        new ProviderErrors.ConnectionLost(),
        200
      ])
      assert.deepStrictEqual(yield* fails({ fault: "hangBody", headers: type }, link, hasty), [
        new ProviderErrors.Timeout(),
        200
      ])
      assert.deepStrictEqual(yield* fails({ fault: "hang" }, link, hasty), [new ProviderErrors.Timeout(), undefined])
      const before = state.requests.length
      const loop = { status: 302, headers: { location: "/again" } }
      assert.deepStrictEqual(yield* fails(loop), ["more than 5 redirects", undefined])
      assert.strictEqual(state.requests.length, before + 6)
      for (const strange of ["file:///etc/passwd", "not a link", url.replace("http://", "http://user:password@")]) {
        assert.deepStrictEqual(yield* fails({}, strange), ["an unusable link", undefined])
        assert.deepStrictEqual(yield* fails({}, url, secure), ["an unusable link", undefined])
      }
      assert.strictEqual(state.requests.length, before + 6)
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("leaves links and redirects to other origins to the client for links, at every hop", () =>
    Effect.gen(function* () {
      const { next, state, url } = yield* double
      const asked: Array<string> = []
      const video = new Response("video", { headers: { "content-type": "video/mp4" } })
      const linkClient = HttpClient.make((request) => {
        asked.push(`${request.url} ${request.headers["authorization"]}`)
        return request.url.endsWith("private")
          ? Effect.fail(
              new HttpClientError.HttpClientError({ reason: new HttpClientError.InvalidUrlError({ request }) })
            )
          : Effect.succeed(HttpClientResponse.fromWeb(request, video.clone()))
      })
      const withLinks = yield* UpstreamHttp.make({ baseUrl: url }).pipe(
        Effect.provideService(UpstreamHttp.LinkClient, linkClient)
      )
      const without = yield* UpstreamHttp.make({ baseUrl: url })
      const read = (http: UpstreamHttp.UpstreamHttp, link: string) =>
        Stream.mkString(Stream.decodeText(http.download({ url: link, credential, model: "m" })))
      const noClient = "a link to another host, and there is no client for links"
      // The same host on another port is another origin, and so is another name of it.
      const links = ["https://storage.example/a", "http://127.0.0.1:1/a", url.replace("127.0.0.1", "localhost")]
      for (const link of links) {
        assert.strictEqual(yield* read(withLinks, link), "video")
        next({ status: 302, headers: { location: link } })
        assert.strictEqual(yield* read(withLinks, `${url}/files/1`), "video")
        assert.strictEqual(flawOf(yield* reasonOf(read(without, link))), noClient)
        next({ status: 302, headers: { location: link } })
        assert.strictEqual(flawOf(yield* reasonOf(read(without, `${url}/files/1`))), noClient)
      }
      assert.deepStrictEqual(
        asked,
        links.flatMap((link) => [`${new URL(link).href} undefined`, `${new URL(link).href} undefined`])
      )
      assert.strictEqual(state.requests.length, 2 * links.length)
      const refused = yield* reasonOf(read(withLinks, "https://storage.example/private"))
      assert.strictEqual(flawOf(refused), "a link to a host that is not public")
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("shows a signed link in no log, error or span", () =>
    Effect.gen(function* () {
      for (const scripted of [
        { body: new TextEncoder().encode("video") },
        { status: 403 },
        { fault: "cut" }
      ] as const) {
        const text = yield* recorded(
          Effect.gen(function* () {
            const { always, url } = yield* double
            always(scripted)
            const upstream = yield* UpstreamHttp.make({ baseUrl: url })
            yield* Stream.runDrain(upstream.download({ url: `${url}/a.mp4?signature=very-secret`, model: "m" }))
          }).pipe(Effect.scoped)
        )
        assert.notInclude(text, "very-secret")
      }
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it.live("calls an absolute URL of the upstream's host, and of no other", () =>
    Effect.gen(function* () {
      const other = yield* double
      const { next, state, url } = yield* double
      const upstream = yield* UpstreamHttp.make({ baseUrl: `${url}/v1` })
      next({ body: answer })
      yield* upstream.json({ ...call, request: HttpClientRequest.get(`${url}/jobs/1/status`) }, Answer)
      assert.strictEqual(state.requests[0]?.url, "/jobs/1/status")
      const strange = { ...call, request: HttpClientRequest.get(`${other.url}/jobs/1`) }
      assert.strictEqual(flawOf(yield* reasonOf(upstream.json(strange, Answer))), "a link to another host")
      assert.deepStrictEqual(other.state.requests, [])
    }).pipe(Effect.provide(NodeHttpClient.layerUndici))
  )

  it("accepts base URLs that contain nothing but an address", () => {
    const isBaseUrl = Schema.is(UpstreamHttp.BaseUrl)
    const accepted = ["https://api.cohere.com", "http://127.0.0.1:9000/proxy/cohere/"]
    const refused = ["", "api.cohere.com", "ftp://x", "https://u:p@x", "https://x?key=1", "https://x#y", "javascript:0"]
    assert.deepStrictEqual([accepted.filter(isBaseUrl), refused.filter(isBaseUrl)], [accepted, []])
  })
})
