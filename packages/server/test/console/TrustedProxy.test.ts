import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { IpNetwork } from "effect/net"
import { layer, TestGateway } from "../TestGateway.ts"
import { cookieOf, failureOf, page, shownOf } from "./TestConsole.ts"

const proxy = { userHeader: "X-Forwarded-User", roleHeader: "x-forwarded-role", role: "viewer" as const }

const loopback = { trustedProxies: [IpNetwork.fromStringUnsafe("127.0.0.0/8")] }

const user = (name: string, role = "operator") => ({ "x-forwarded-user": name, "x-forwarded-role": role })

it.layer(layer(loopback, undefined, undefined, { proxy }), { excludeTestServices: true })(
  "a sign-in by a trusted proxy",
  (it) => {
    it.effect("is offered to the user of the header, with the role of the other one", () =>
      Effect.gen(function* () {
        const { ways } = yield* shownOf({ headers: user("ada") })
        expect(ways).toEqual([{ kind: "proxy", user: "ada" }, { kind: "key" }, { kind: "link" }])
        const answer = yield* page("/console/session", { body: { proxy: true }, headers: user("ada") })
        expect(JSON.parse(answer.text)).toMatchObject({ kind: "proxy", label: "ada", role: "operator" })
        const cookie = cookieOf(answer)
        expect((yield* page("/console/api/keys", { cookie, headers: user("ada") })).status).toBe(200)
      })
    )

    it.effect("ends when the proxy names another user or role, or none", () =>
      Effect.gen(function* () {
        for (const headers of [
          user("grace"),
          {},
          user("ada", "viewer"),
          user("ada", "admin"),
          { "x-forwarded-user": "ada" }
        ]) {
          const cookie = cookieOf(yield* page("/console/session", { body: { proxy: true }, headers: user("ada") }))
          const answer = yield* page("/console/api/keys", { cookie, headers })
          expect(failureOf(answer)).toMatchObject({ status: 401, reason: "session_ended" })
          expect((yield* shownOf({ cookie, headers: user("ada") })).reason).toBe("session_ended")
        }
      })
    )

    it.effect("needs a user and a role", () =>
      Effect.gen(function* () {
        const start = (headers: Record<string, string>) =>
          Effect.map(page("/console/session", { body: { proxy: true }, headers }), failureOf)
        expect(yield* start({})).toMatchObject({ status: 403, reason: "no_proxy_user" })
        expect(yield* start(user("ada", "staff"))).toMatchObject({ status: 403, reason: "no_role" })
      })
    )
  }
)

it.layer(layer({}, undefined, undefined, { proxy }), { excludeTestServices: true })(
  "a header of a proxy that is not trusted",
  (it) => {
    it.effect("signs nobody in", () =>
      Effect.gen(function* () {
        const { managementKey: key } = yield* TestGateway
        const answer = yield* page("/console/session", { body: { proxy: true }, headers: user("ada") })
        expect(failureOf(answer)).toMatchObject({ status: 403, reason: "no_proxy_user" })
        expect((yield* page("/console/session", { headers: user("ada") })).text).not.toContain("proxy")
        expect((yield* page("/console/session", { body: { key }, headers: user("ada") })).status).toBe(200)
      })
    )
  }
)
