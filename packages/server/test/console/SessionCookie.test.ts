import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Cookies, Headers, HttpServerResponse } from "effect/http"
import * as SessionCookie from "../../src/console/SessionCookie.ts"
import * as GatewayServerConfig from "../../src/GatewayServerConfig.ts"

/** What a browser at an origin sends, and the names of cookies that it gets. */
const at = (origin: string, cookies: Readonly<Record<string, string>> = {}) => ({
  method: "POST" as const,
  headers: Headers.fromInput({ origin, host: new URL(origin).host }),
  cookies
})

const below = (basePath?: string) => Effect.provide(SessionCookie.make, GatewayServerConfig.layer({ basePath }))

const token = Redacted.make("token")

const namesIn = ({ cookies }: HttpServerResponse.HttpServerResponse) => Object.keys(Cookies.toRecord(cookies))

it.effect("has the port and the base path in its name, so that gateways of one host do not share it", () =>
  Effect.gen(function* () {
    const root = yield* below()
    const team = yield* below("/team/a")
    const nameAt = ({ set }: typeof root, origin: string) => namesIn(set(at(origin), token)(HttpServerResponse.empty()))
    expect(nameAt(root, "https://gateway.example")).toEqual(["__Host-model-gateway-console"])
    expect(nameAt(root, "https://gateway.example:8443")).toEqual(["__Host-model-gateway-console-8443"])
    expect(nameAt(team, "https://gateway.example")).toEqual(["__Host-model-gateway-console-team-a"])
    expect(nameAt(root, "http://localhost:8787")).toEqual(["model-gateway-console-8787"])
    expect(nameAt(team, "http://localhost")).toEqual(["model-gateway-console-80-team-a"])
  })
)

it.effect("is neither read nor deleted by another gateway of the host", () =>
  Effect.gen(function* () {
    const root = yield* below()
    const team = yield* below("/team/a")
    const cookies = { "__Host-model-gateway-console-team-a": "of the team" }
    const request = at("https://gateway.example", cookies)
    expect(root.read(request)).toBeUndefined()
    expect(team.read(request)).toEqual(Redacted.make("of the team"))
    const cleared = namesIn(root.clear(request)(HttpServerResponse.empty()))
    expect(cleared).toEqual(["__Host-model-gateway-console"])
  })
)

it.effect("of a sign-in has its secret and the hash of the former session, and nothing else", () =>
  Effect.gen(function* () {
    const { readSignIn } = yield* below()
    const read = (value: string) => readSignIn(at("https://gateway.example", { "__Host-model-gateway-sign-in": value }))
    const secret = "s".repeat(43)
    const former = "a".repeat(64)
    expect(read(secret)).toEqual({ secret: Redacted.make(secret), former: undefined })
    expect(read(`${secret}.${former}`)).toEqual({ secret: Redacted.make(secret), former })
    for (const value of ["", "s", `${secret}.`, `${secret}.${former}0`, `${secret}.${former}.b`]) {
      expect([value, read(value)]).toEqual([value, undefined])
    }
  })
)
