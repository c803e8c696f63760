import { describe, expect, it } from "@effect/vitest"
import { ConfigProvider, Effect, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"
import * as MetricsAccess from "../../src/http/MetricsAccess.ts"
import { layer, TestGateway } from "../TestGateway.ts"
import { envelopeOf } from "../TestEnvelope.ts"

const token = "9f2c5a7e-scrape.me_please~1234567890"

/** The status with which somebody at this address is refused; undefined where they may read. */
const refused = (given: string | undefined, peer: string | undefined, headers: Record<string, string> = {}) =>
  MetricsAccess.refusalOf(
    HttpServerRequest.fromWeb(new Request("http://gateway.test/metrics", { headers })).modify({
      remoteAddress: Option.fromNullishOr(peer)
    }),
    given === undefined ? undefined : Redacted.make(given)
  )?.error.code

describe("the metrics, without a token", () => {
  it("are for programs on this machine", () => {
    for (const peer of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) {
      expect([peer, refused(undefined, peer)]).toEqual([peer, undefined])
    }
    for (const peer of ["10.0.0.1", "203.0.113.9", "::ffff:203.0.113.9", "2001:db8::1", "fe80::1%eth0", undefined]) {
      expect([peer, refused(undefined, peer)]).toEqual([peer, 403])
    }
  })

  it("are not for whom a proxy on this machine speaks for, not even one that says it is from here", () => {
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "via"]) {
      expect([name, refused(undefined, "127.0.0.1", { [name]: "127.0.0.1" })]).toEqual([name, 403])
    }
  })
})

describe("the metrics, with a token", () => {
  it("are for requests with it, from anywhere", () => {
    for (const peer of ["127.0.0.1", "203.0.113.9", undefined]) {
      expect(refused(token, peer, { authorization: `Bearer ${token}` })).toBe(undefined)
      expect(refused(token, peer, { authorization: `bearer  ${token}`, via: "1.1 proxy" })).toBe(undefined)
    }
  })

  it("are for no other request, not even on this machine", () => {
    for (const authorization of [
      undefined,
      "",
      "Bearer",
      "Bearer ",
      `Bearer ${token}x`,
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token.toUpperCase()}`,
      `Basic ${token}`,
      token
    ]) {
      expect([
        authorization,
        refused(token, "127.0.0.1", authorization === undefined ? {} : { authorization })
      ]).toEqual([authorization, 401])
    }
  })
})

describe("a metrics token", () => {
  const problemOf = (text: string) =>
    GatewayServerConfig.config.parse(ConfigProvider.fromUnknown({ MODEL_GATEWAY_METRICS_TOKEN: text }))

  it.effect("is kept out of whatever is printed", () =>
    Effect.gen(function* () {
      const settings = yield* problemOf(token)
      expect(JSON.stringify(settings)).toContain('"metricsToken":"<redacted>"')
      expect(JSON.stringify(settings)).not.toContain(token)
    })
  )

  it.effect("that can be guessed, or is none, is refused without being repeated", () =>
    Effect.gen(function* () {
      for (const text of ["fifteen-letters", "with a space in between", `${"a".repeat(513)}`, "sixteen-lëtters-"]) {
        const error = yield* Effect.flip(problemOf(text))
        expect(error.message).toContain("MODEL_GATEWAY_METRICS_TOKEN")
        expect(error.message).not.toContain(text)
        expect(() => GatewayServerConfig.make({ metricsToken: Redacted.make(text) })).toThrow(
          /^metricsToken is not a token of 16 to 512 letters, digits and - \. _ ~ \+ \/\.$/
        )
      }
    })
  )
})

it.layer(layer({ metricsToken: Redacted.make(token) }), { excludeTestServices: true })("/metrics", (it) => {
  it.effect("asks for its token, and takes no API key for it", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      const none = yield* ask("/metrics", { key: null })
      expect([none.status, none.headers["www-authenticate"]]).toEqual([401, "Bearer"])
      expect(envelopeOf(none).error.message).toBe(
        "missing authentication header: send the metrics token as a bearer token"
      )
      const wrong = yield* ask("/metrics", { key: managementKey })
      expect([wrong.status, envelopeOf(wrong).error.message]).toEqual([401, "invalid metrics token"])
      const head = yield* ask("/metrics", { method: "HEAD", key: null })
      expect([head.status, head.text]).toEqual([401, ""])
      const read = yield* ask("/metrics", { key: token })
      expect([read.status, read.headers["cache-control"]]).toEqual([200, "no-store"])
      expect(read.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8")
      expect(read.text).toContain("model_gateway_requests_total")
      for (const path of ["/healthz", "/readyz"]) expect((yield* ask(path, { key: null })).status).toBe(200)
    })
  )
})

it.layer(layer(), { excludeTestServices: true })("/metrics, without a token", (it) => {
  it.effect("answers this machine, and says to others what to do", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      expect((yield* ask("/metrics", { key: null })).status).toBe(200)
      const passedOn = yield* ask("/metrics", { key: null, headers: { "x-forwarded-for": "203.0.113.9" } })
      expect([passedOn.status, envelopeOf(passedOn).error.message]).toEqual([
        403,
        "insufficient permissions: without a metrics token, /metrics answers only direct requests from the gateway's machine"
      ])
    })
  )
})
