import { expect, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import { layerWebCrypto, SecureRandom } from "effect/crypto/SecureRandom"
import { layer, TestGateway } from "../files/TestGateway.ts"
import { all } from "../../src/http/Operations.ts"
import * as KeyFormat from "../../src/keys/KeyFormat.ts"
import { KeyStore } from "../../src/keys/KeyStore.ts"
import { envelopeOf, post } from "./Gateway.ts"

const pathOf = (path: string): string => path.replaceAll(/:\w+/g, "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd")

/** Broken JSON, for a method that has a body: Node's client sends one behind a DELETE without saying its length, which is no HTTP. */
const bodyOf = (method: string): string | undefined => (method === "GET" || method === "DELETE" ? undefined : "{")

/** A key that nobody has, with a checksum that fits. */
const guess = Effect.flatMap(SecureRandom, (random) =>
  Effect.map(KeyFormat.generate(random, "ordinary"), ({ key }) => Redacted.value(key))
).pipe(Effect.provide(layerWebCrypto))

it.layer(layer({ failedAuthentications: { requests: 1000, window: Duration.minutes(1) } }), {
  excludeTestServices: true
})("authorization", (it) => {
  it.effect("every operation refuses who brings no key, whatever else is wrong", () =>
    Effect.gen(function* () {
      const { ask } = yield* TestGateway
      for (const { method, name, path } of all) {
        const answer = yield* ask(pathOf(path), { method, key: null, body: bodyOf(method) })
        expect([name, answer.status, envelopeOf(answer).error.message]).toEqual([
          name,
          401,
          "missing authentication header"
        ])
        expect(answer.headers["www-authenticate"]).toBe("Bearer")
      }
    })
  )

  it.effect("says what is wrong with a key as far as the key itself tells", () =>
    Effect.gen(function* () {
      const { ask, ordinaryKey } = yield* TestGateway
      const messageFor = (key: string) =>
        Effect.map(ask("/api/v1/key", { key }), (answer) => [answer.status, envelopeOf(answer).error.message] as const)
      expect(yield* messageFor("nonsense")).toEqual([401, "invalid API key: it does not have the form of a key"])
      const last = ordinaryKey.endsWith("A") ? "B" : "A"
      expect(yield* messageFor(`${ordinaryKey.slice(0, -1)}${last}`)).toEqual([
        401,
        "invalid API key: its checksum does not fit, so it was mistyped or cut off"
      ])
      const basic = yield* ask("/api/v1/key", { key: null, headers: { authorization: "Basic YTpi" } })
      expect([basic.status, envelopeOf(basic).error.message]).toEqual([
        401,
        'invalid authentication header: expected "Authorization: Bearer <API_KEY>"'
      ])
    })
  )

  it.effect("an expired, a disabled and a deleted key are none", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      const keys = yield* KeyStore
      const base = { organizationId: workspace.organizationId, workspaceId: workspace.id }
      const expired = yield* keys.create({ ...base, name: "expired", expiresAt: 1 })
      const disabled = yield* keys.create({ ...base, name: "disabled" })
      const deleted = yield* keys.create({ ...base, name: "deleted" })
      expect((yield* ask("/api/v1/key", { key: Redacted.value(disabled.plain) })).status).toBe(200)
      yield* keys.update(workspace.organizationId, disabled.key.hash, { disabled: true })
      yield* keys.remove(workspace.organizationId, deleted.key.hash)
      const messages = yield* Effect.forEach([expired, disabled, deleted], ({ plain }) =>
        Effect.map(ask("/api/v1/key", { key: Redacted.value(plain) }), (answer) => {
          expect(answer.status).toBe(401)
          return envelopeOf(answer).error.message
        })
      )
      expect(messages).toEqual([
        "invalid API key: it has expired",
        "invalid API key: it is disabled",
        "invalid API key"
      ])
    })
  )

  it.effect("only management keys manage, and only ordinary keys spend", () =>
    Effect.gen(function* () {
      const { ask, managementKey } = yield* TestGateway
      const manage = all.filter(
        ({ name, path }) => /^\/api\/v1\/(keys|guardrails|workspaces)/.test(path) && name !== "createEphemeralKey"
      )
      expect(manage.length).toBeGreaterThan(12)
      for (const { method, path } of manage) {
        const answer = yield* ask(pathOf(path), { method, body: bodyOf(method) })
        expect([path, answer.status, envelopeOf(answer).error.message]).toEqual([
          path,
          403,
          "only management keys can perform this operation"
        ])
      }
      for (const path of [
        "/api/v1/rerank",
        "/api/v1/audio/transcriptions",
        "/api/v1/videos",
        "/api/v1/keys/ephemeral"
      ]) {
        const answer = yield* post(path, "{", { key: managementKey })
        expect([path, answer.status]).toEqual([path, 403])
        envelopeOf(answer)
      }
    })
  )
})

it.layer(layer({ failedAuthentications: { requests: 3, window: Duration.minutes(1) } }), { excludeTestServices: true })(
  "an address that fails too often",
  (it) => {
    const blocked = "invalid API key: too many failed attempts from this address, try again in a minute"

    it.effect(
      "is refused without a lookup, and still with a 401; keys known from before pass, and typos do not count",
      () =>
        Effect.gen(function* () {
          const { ask, managementKey, ordinaryKey } = yield* TestGateway
          const messageFor = (key: string) =>
            Effect.map(ask("/api/v1/key", { key }), (answer) =>
              answer.status === 200 ? "let in" : `${answer.status} ${envelopeOf(answer).error.message}`
            )

          for (let i = 0; i < 10; i++) yield* messageFor("nonsense")
          expect(yield* messageFor(ordinaryKey)).toBe("let in")
          for (let i = 0; i < 3; i++) expect(yield* messageFor(yield* guess)).toBe("401 invalid API key")

          expect(yield* messageFor(yield* guess)).toBe(`401 ${blocked}`)
          expect(yield* messageFor(managementKey)).toBe(`401 ${blocked}`)
          expect(yield* messageFor(ordinaryKey)).toBe("let in")
        })
    )
  }
)

/** What a wrong key gets from the address that `forwarded` names. */
const attempt = (forwarded: string) =>
  Effect.gen(function* () {
    const { ask } = yield* TestGateway
    const answer = yield* ask("/api/v1/key", { key: yield* guess, headers: { "x-forwarded-for": forwarded } })
    return envelopeOf(answer).error.message.includes("too many failed attempts") ? "blocked" : "refused"
  })

const twice = { failedAuthentications: { requests: 2, window: Duration.minutes(1) } }

it.layer(layer({ ...twice, trustedProxies: ["127.0.0.0/8"] }), { excludeTestServices: true })(
  "behind a proxy that is trusted",
  (it) => {
    it.effect("who fails too often is blocked alone, whatever it says itself, and not all who come by the proxy", () =>
      Effect.gen(function* () {
        const failing = ["192.0.2.1, 198.51.100.7", "192.0.2.2, 198.51.100.7", "192.0.2.3, 198.51.100.7:4711"]
        expect(yield* Effect.forEach(failing, attempt)).toEqual(["refused", "refused", "blocked"])
        expect(yield* attempt("198.51.100.8")).toBe("refused")
        expect(yield* attempt("198.51.100.7, 127.0.0.2")).toBe("blocked")
      })
    )
  }
)

it.layer(layer({ ...twice, trustedProxies: ["192.0.2.1"] }), { excludeTestServices: true })(
  "from a peer that is no trusted proxy",
  (it) => {
    it.effect("another address in X-Forwarded-For is no way around the limit", () =>
      Effect.gen(function* () {
        const failing = ["198.51.100.1", "198.51.100.2", "198.51.100.3"]
        expect(yield* Effect.forEach(failing, attempt)).toEqual(["refused", "refused", "blocked"])
      })
    )
  }
)
