import { describe, expect, it } from "@effect/vitest"
import { Cause, ConfigProvider, Effect, Exit, Layer } from "effect"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import { type Answer, layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf, post } from "../TestEnvelope.ts"

const origin = "https://app.example"
const second = "http://localhost:5173"

const corsHeaders = ({ headers }: Answer): ReadonlyArray<string> =>
  Object.keys(headers).filter((name) => name.startsWith("access-control-"))

const listOf = (value: string | undefined): ReadonlyArray<string> => (value ?? "").split(", ")

const rerank = { model: "sandbox/bm25", query: "tea", documents: ["coffee", "tea"] }

it.layer(layer({ corsOrigins: [origin, second], bodyLimits: { rerank: 300 } }), { excludeTestServices: true })(
  "CORS, with origins listed",
  (it) => {
    it.effect("answers a preflight of a listed origin before anybody is authenticated", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        for (const from of [origin, second]) {
          for (const [path, method] of [
            ["/api/v1/rerank", "POST"],
            ["/api/v1/files/abc", "DELETE"],
            ["/api/v1/keys/abc", "PATCH"],
            ["/api/v1/nothing", "GET"]
          ] as const) {
            const answer = yield* ask(path, {
              method: "OPTIONS",
              key: null,
              headers: {
                origin: from,
                "access-control-request-method": method,
                "access-control-request-headers": "authorization,content-type,idempotency-key"
              }
            })
            expect([path, answer.status, answer.text]).toEqual([path, 204, ""])
            expect(answer.headers).toMatchObject({
              "access-control-allow-origin": from,
              "access-control-max-age": "7200",
              vary: "Origin"
            })
            expect(answer.headers["x-request-id"]).toMatch(/^req_/)
            expect(answer.headers).not.toHaveProperty("access-control-allow-credentials")
            expect(listOf(answer.headers["access-control-allow-methods"])).toContain(method)
            expect(listOf(answer.headers["access-control-allow-headers"])).toEqual(
              expect.arrayContaining([
                "authorization",
                "content-type",
                "idempotency-key",
                "range",
                "if-range",
                "x-request-id"
              ])
            )
          }
        }
      })
    )

    it.effect("lets a listed origin read successes and what they say beside the body", () =>
      Effect.gen(function* () {
        const answer = yield* post("/api/v1/rerank", rerank, { headers: { origin } })
        expect(answer.status).toBe(200)
        expect(answer.headers).toMatchObject({ "access-control-allow-origin": origin, vary: "Origin" })
        const exposed = listOf(answer.headers["access-control-expose-headers"])
        for (const name of ["x-request-id", "ratelimit", "ratelimit-policy"]) {
          expect(answer.headers).toHaveProperty(name)
          expect(exposed).toContain(name)
        }
        expect(exposed).toEqual(expect.arrayContaining(["retry-after", "idempotent-replayed", "content-range", "etag"]))
      })
    )

    it.effect("lets a listed origin read why it failed, however it failed", () =>
      Effect.gen(function* () {
        const { ask, managementKey } = yield* TestGateway
        const headers = { origin }
        const failures = [
          [401, yield* ask("/api/v1/key", { key: null, headers })],
          [401, yield* ask("/api/v1/key", { key: "mg_sk_nonsense", headers })],
          [403, yield* post("/api/v1/rerank", rerank, { key: managementKey, headers })],
          [413, yield* post("/api/v1/rerank", { ...rerank, query: "a".repeat(400) }, { headers })],
          [400, yield* post("/api/v1/rerank", {}, { headers })],
          [404, yield* ask("/api/v1/nothing", { headers })],
          [405, yield* ask("/api/v1/rerank", { method: "PUT", headers })],
          [529, yield* post("/api/v1/rerank", { ...rerank, model: "sandbox/status-529" }, { headers })]
        ] as const
        for (const [status, answer] of failures) {
          expect([status, answer.headers["access-control-allow-origin"], answer.headers["vary"]]).toEqual([
            answer.status,
            origin,
            "Origin"
          ])
          expect(listOf(answer.headers["access-control-expose-headers"])).toContain("x-request-id")
          envelopeOf(answer)
        }
      })
    )

    it.effect("sends no CORS headers to other origins and answers them as usual", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        for (const other of [
          "https://app.example.evil.test",
          "https://evil.test",
          "http://app.example",
          "https://app.example:8443",
          "https://APP.example",
          "null",
          "*",
          ""
        ]) {
          const answer = yield* ask("/api/v1/key", { headers: { origin: other } })
          expect([other, answer.status, corsHeaders(answer), answer.headers["vary"]]).toEqual([
            other,
            200,
            [],
            "Origin"
          ])
          const preflight = yield* ask("/api/v1/rerank", {
            method: "OPTIONS",
            key: null,
            headers: { origin: other, "access-control-request-method": "POST" }
          })
          expect([other, corsHeaders(preflight), preflight.headers["allow"]]).toEqual([other, [], "OPTIONS, POST"])
        }
        const none = yield* ask("/api/v1/key")
        expect([corsHeaders(none), none.headers["vary"]]).toEqual([[], "Origin"])
      })
    )

    it.effect("does not treat an OPTIONS request without preflight headers as a preflight", () =>
      Effect.gen(function* () {
        const { ask } = yield* TestGateway
        const answer = yield* ask("/api/v1/rerank", { method: "OPTIONS", key: null, headers: { origin } })
        expect([answer.status, answer.headers["allow"]]).toEqual([204, "OPTIONS, POST"])
        expect(answer.headers["access-control-allow-origin"]).toBe(origin)
      })
    )
  }
)

it.layer(layer(), { excludeTestServices: true })("CORS, by default", (it) => {
  it.effect("is off", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      const headers = { origin, "access-control-request-method": "GET" }
      for (const method of ["GET", "OPTIONS"]) {
        const answer = yield* ask("/api/v1/key", { method, headers })
        expect([corsHeaders(answer), answer.headers["vary"]]).toEqual([[], undefined])
      }
    })
  )
})

const fromEnvironment = (text: string) =>
  GatewayServerConfig.config.parse(ConfigProvider.fromUnknown({ MODEL_GATEWAY_CORS_ORIGINS: text }))

describe("a list of origins", () => {
  it.effect("is written with commas", () =>
    Effect.gen(function* () {
      const { corsOrigins } = yield* fromEnvironment(" https://app.example, http://localhost:5173 ,,")
      expect(corsOrigins).toEqual([origin, second])
    })
  )

  it.effect("with anything in it that no browser sends is refused, in a sentence that names it", () =>
    Effect.gen(function* () {
      for (const [text, sentence] of [
        ["*", "* would allow every page of the web: list the origins of your own pages"],
        ["https://app.example/", "write https://app.example"],
        ["https://app.example:443", "write https://app.example"],
        ["HTTPS://App.Example", "write https://app.example"],
        ["https://app.example/page", "write https://app.example"],
        ["https://bücher.example", "write https://xn--bcher-kva.example"],
        ["app.example", "app.example is not an origin such as https://app.example"],
        ["https://*.example", "https://*.example is not an exact origin: list each host by itself"],
        ["null", "null is not an origin"],
        ["file:///index.html", "file:///index.html is not an origin"]
      ] as const) {
        const error = yield* Effect.flip(fromEnvironment(`${origin}, ${text}`))
        expect(error.message).toContain(sentence)
        expect(error.message).toContain("MODEL_GATEWAY_CORS_ORIGINS")
      }
    })
  )

  it.effect("may contain the origin of an app that is no web page", () =>
    Effect.gen(function* () {
      const apps = ["capacitor://localhost", "chrome-extension://abcdefghijklmnop"]
      expect((yield* fromEnvironment(apps.join(","))).corsOrigins).toEqual(apps)
    })
  )

  it.effect("given as values has the same rules: the service does not start with *", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Layer.build(layer({ corsOrigins: ["*"] })))
      expect(Exit.isFailure(exit) && Cause.pretty(exit.cause)).toContain(
        'corsOrigins is ["*"], which is not a list of origins such as https://app.example: * would allow every page'
      )
    })
  )
})
