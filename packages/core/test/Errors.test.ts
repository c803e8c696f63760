import { describe, expect, it } from "@effect/vitest"
import { ClientError, Gateway, GatewayApi, GatewayConfig, GatewayError, Rerank, RetryPolicy } from "@model-gateway/core"
import { Cause, Effect, Layer, Redacted, Schema, Stream, Tracer } from "effect"
import { FetchHttpClient } from "effect/http"
import { OpenApi } from "effect/http-api"
import { inspect } from "node:util"
import * as Stub from "./stub.ts"

const gateway = Gateway.Gateway

const request = { model: "m", query: "q", documents: ["d"] } as const

const once = Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.none)

/** How one attempt of a rerank ends on that answer. */
const failureOn = (answer: () => Stub.Answer) => {
  const stub = Stub.make(answer)
  return Effect.flatMap(gateway, ({ rerank }) => Effect.flip(rerank(request))).pipe(once, stub.run())
}

describe("a service error", () => {
  it.effect("has status, message, request id, retryAfter, attempts and user", () =>
    Effect.gen(function* () {
      const error = yield* failureOn(() =>
        Stub.json(
          {
            error: { code: 429, message: "rate limit exceeded", metadata: { bucket: "key" } },
            service_metadata: { region: "eu" },
            user_id: "user_1"
          },
          429,
          { "x-request-id": "req_1", "retry-after": "3" }
        )
      )
      expect(error).toBeInstanceOf(GatewayError.TooManyRequests)
      expect(error).toMatchObject({
        _tag: "TooManyRequests",
        status: 429,
        error: { message: "rate limit exceeded" },
        message: "rerank: 429 rate limit exceeded (request req_1, 1 attempt)",
        operation: "rerank",
        requestId: "req_1",
        retryAfter: 3,
        attempts: 1,
        metadata: { bucket: "key" },
        service_metadata: { region: "eu", request_id: "req_1" },
        user_id: "user_1",
        issues: [],
        isRetryable: true
      })
      expect(error.idempotencyKey).toMatch(/^[0-9a-f]{32}-/)
      expect(String(error)).toContain("rate limit exceeded")
    })
  )

  it.effect("lists the issues of a 400", () =>
    Effect.gen(function* () {
      const issues = [{ path: "top_n", message: "at least 1" }]
      const error = yield* failureOn(() => Stub.failure(400, { metadata: { issues } }))
      expect(error).toMatchObject({ _tag: "BadRequest", issues })
      const odd = yield* failureOn(() => Stub.failure(400, { metadata: { issues: ["top_n"] } }))
      expect(odd).toMatchObject({ _tag: "BadRequest", issues: [], metadata: { issues: ["top_n"] } })
    })
  )

  it.effect("prefers the request id of the envelope to the header's", () =>
    Effect.gen(function* () {
      const error = yield* failureOn(() =>
        Stub.json({ error: { code: 500, message: "m" }, service_metadata: { request_id: "req_body" } }, 500, {
          "x-request-id": "req_header"
        })
      )
      expect(error).toMatchObject({ requestId: "req_body" })
    })
  )

  it.effect("requires only code and message in the envelope [spec B6 B7 B8]", () =>
    Effect.gen(function* () {
      for (const rest of [{}, { service_metadata: null, user_id: null }, { shiny: true }]) {
        const error = yield* failureOn(() =>
          Stub.json({ error: { code: 402, message: "m", metadata: null }, ...rest }, 402)
        )
        expect(error).toMatchObject({
          _tag: "PaymentRequired",
          status: 402,
          requestId: undefined,
          retryAfter: undefined
        })
      }
    })
  )

  it("does not encode its tag and what the client adds", () => {
    const error = Object.assign(new GatewayError.NotFound({ error: { message: "no such file" } }), {
      operation: "getFile",
      attempts: 3,
      idempotencyKey: "k"
    })
    expect(Schema.encodeSync(GatewayError.NotFound)(error)).toEqual({ error: { code: 404, message: "no such file" } })
  })

  it.effect("takes nothing from the body that only the client knows", () =>
    Effect.gen(function* () {
      const error = yield* failureOn(() =>
        Stub.json(
          { error: { code: 402, message: "m" }, operation: "other", attempts: 9, idempotencyKey: "x", _tag: "Other" },
          402
        )
      )
      expect(error).toMatchObject({ _tag: "PaymentRequired", operation: "rerank", attempts: 1 })
      expect(error.idempotencyKey).not.toBe("x")
    })
  )

  it("is documented without its tag and what the client adds", () => {
    const { components } = OpenApi.fromApi(GatewayApi.GatewayApi)
    for (const { name } of Rerank.rerankOperation.error) {
      expect(components.schemas[name]).toMatchObject({ properties: { error: {} } })
      for (const field of ["_tag", "operation", "attempts", "idempotencyKey"]) {
        expect(components.schemas[name]).not.toMatchObject({ properties: { [field]: {} } })
      }
    }
  })

  it("is made from its status, if the operation has that status", () => {
    const of = (status: number) =>
      GatewayError.ofStatus<GatewayError.GatewayError>(Rerank.rerankOperation.error, status, {
        message: "m",
        metadata: { retry_after: 2 }
      })
    expect(of(429)).toBeInstanceOf(GatewayError.TooManyRequests)
    expect(of(429)).toMatchObject({ status: 429, message: "m", retryAfter: 2 })
    expect([of(504), of(418)]).toEqual([undefined, undefined])
  })

  it.effect("can be caught by its tag", () => {
    const stub = Stub.make(() => Stub.failure(402))
    return Effect.gen(function* () {
      const answer = yield* (yield* gateway)
        .rerank(request)
        .pipe(Effect.catchTag("PaymentRequired", (error) => Effect.succeed(error.status)))
      expect(answer).toBe(402)
    }).pipe(stub.run())
  })
})

describe("a response that violates the contract is an InvalidResponse", () => {
  const secret = "s3cr3t-content"
  const cases: ReadonlyArray<readonly [string, () => Response, object]> = [
    [
      "HTML with a success",
      () => new Response(`<html>${secret}`),
      { status: 200, description: "a body that is not JSON" }
    ],
    ["an empty success", () => new Response(""), { status: 200, description: "a body that is not JSON" }],
    ["a success without content", () => new Response(null, { status: 204 }), { status: 204 }],
    [
      "a success of another shape",
      () => Stub.json({ ...Stub.ranking, results: [{ index: 0, relevance_score: secret, document: {} }] }),
      { status: 200, description: "a body that does not match the contract at results[0].relevance_score" }
    ],
    [
      "a success that is not an object",
      () => Stub.json([secret]),
      { status: 200, description: "a body that does not match the contract at its root" }
    ],
    [
      "a number that JSON cannot carry",
      () => new Response(JSON.stringify({ ...Stub.ranking, usage: { cost: "NaN" } })),
      { status: 200, description: "a body that does not match the contract at usage.cost" }
    ],
    [
      "a status that the operation does not return",
      () => Stub.failure(418),
      { status: 418, description: "a status that the operation does not return" }
    ],
    ["a status of another operation", () => Stub.failure(504), { status: 504, isRetryable: true }],
    [
      "a redirect",
      () =>
        new Response(null, {
          status: 302,
          headers: { location: `https://user:${secret}@other.test/sign-in?token=${secret}#${secret}` }
        }),
      {
        status: 302,
        location: "https://other.test/sign-in",
        description: "a redirect to https://other.test/sign-in, which was not followed"
      }
    ],
    [
      "HTML with a failure",
      () => new Response(`<html>${secret}`, { status: 502 }),
      { status: 502, description: "a body that is not an error envelope", isRetryable: true }
    ],
    ["an invalid envelope [spec B2]", () => Stub.json({ error: secret }, 500), { status: 500, isRetryable: false }],
    ["an envelope without a message [spec B5]", () => Stub.json({ error: { code: 500 } }, 500), { status: 500 }],
    ["an envelope without a code [spec B3]", () => Stub.json({ error: { message: secret } }, 500), { status: 500 }],
    [
      "an envelope whose code is no integer [spec B3]",
      () => Stub.json({ error: { code: "400", message: secret } }, 400),
      { status: 400, description: "a body that is not an error envelope" }
    ]
  ]

  for (const [name, answer, expected] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const error = yield* failureOn(() => {
          const response = answer()
          response.headers.set("x-request-id", "req_1")
          return response
        })
        expect(error).toBeInstanceOf(ClientError.InvalidResponse)
        expect(error).toMatchObject({
          _tag: "InvalidResponse",
          operation: "rerank",
          requestId: "req_1",
          attempts: 1,
          ...expected
        })
        expect(shown(error)).not.toContain(secret)
      })
    )
  }

  it.effect("an invalid success is not retried, because the work is done", () => {
    const stub = Stub.make(() => new Response("<html>"))
    return Effect.gen(function* () {
      yield* Effect.flip((yield* gateway).rerank(request))
      expect(stub.sent).toHaveLength(1)
    }).pipe(stub.run())
  })

  it.effect("a byte stream with a status that the operation does not return is invalid, too", () => {
    const stub = Stub.make(() => new Response("<html>", { status: 418 }))
    return Effect.gen(function* () {
      const error = yield* Effect.flip(Stream.runDrain((yield* gateway).fileContent("f")))
      expect(error).toMatchObject({ _tag: "InvalidResponse", operation: "fileContent", status: 418 })
    }).pipe(stub.run())
  })
})

/** Every way in which a program may show an error. */
const shown = (error: object): string =>
  [
    inspect(error, { depth: Infinity, showHidden: true, getters: true }),
    JSON.stringify(error),
    error instanceof Error ? `${String(error)}${error.stack}${error.message}` : "",
    Cause.pretty(Cause.fail(error))
  ].join("\n")

describe("the credential", () => {
  const secret = "mg_sk_secret"

  const answers: { readonly [name: string]: () => Stub.Answer } = {
    "an error of the service": () => Stub.failure(402),
    "an invalid response": () => new Response("<html>", { status: 502 }),
    "a success that violates the contract": () => Stub.json({}),
    "a cut connection": () => "cut",
    "a time-out": () => Effect.never
  }

  for (const [name, answer] of Object.entries(answers)) {
    it.effect(`does not appear in any representation of ${name}, nor in a span`, () => {
      const stub = Stub.make(answer)
      const spans: Array<Tracer.NativeSpan> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(span)
          return span
        }
      })
      return Effect.gen(function* () {
        const error = yield* Effect.flip((yield* gateway).rerank(request))
        expect(stub.sent[0]?.headers["authorization"]).toBe(`Bearer ${secret}`)
        expect(shown(error)).not.toContain(secret)
        expect(spans.length).toBeGreaterThan(0)
        for (const span of spans) {
          expect(inspect([Array.from(span.attributes), span.events, span.status], { depth: 12 })).not.toContain(secret)
          expect(Array.from(span.attributes.values())).toContain("POST")
        }
      }).pipe(
        stub.run({ credential: Redacted.make(secret) }),
        Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ maxRetries: 0, deadline: 0 })),
        Effect.withTracer(tracer)
      )
    })
  }

  it.effect("does not appear in the platform's error if it is not valid in a header", () => {
    const call = (token: string) =>
      Effect.flatMap(gateway, ({ currentKey }) => Effect.flip(currentKey)).pipe(
        once,
        Effect.provide(
          Gateway.layer.pipe(
            Layer.provide(FetchHttpClient.layer),
            Layer.provide(
              GatewayConfig.layer({ baseUrl: "http://127.0.0.1:1/api/v1", credential: Redacted.make(token) })
            )
          )
        )
      )
    return Effect.gen(function* () {
      for (const token of [secret, `${secret}\n`, `${secret}\r\nx: y`, `${secret}\u0000`, `${secret}☃`]) {
        const error = yield* call(token)
        expect(error._tag).toBe("TransportError")
        expect(shown(error)).not.toContain(secret)
      }
    })
  })

  it("does not appear in any representation of the configuration", () => {
    const config = GatewayConfig.make({ credential: Redacted.make(secret) })
    expect(shown(config)).not.toContain(secret)
  })
})
