import { expect, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Redacted } from "effect"
import { layerWebCrypto, SecureRandom } from "effect/crypto/SecureRandom"
import { IpNetwork } from "effect/net"
import { TestClock } from "effect/testing"
import { layer, TestGateway } from "../TestGateway.ts"
import { all } from "../../src/http/Routes.ts"
import * as KeyFormat from "../../src/access/KeyFormat.ts"
import { KeyStore } from "../../src/access/KeyStore.ts"
import { envelopeOf, post } from "../TestEnvelope.ts"

const pathOf = (path: string): string => path.replaceAll(/:\w+/g, "6f5ebeb1-4ff8-4235-a8b3-44a3f6d926cd")

/**
 * Broken JSON, for methods that have a body. Not for DELETE: Node's client sends its body without a
 * length, which is not valid HTTP.
 */
const bodyOf = (method: string): string | undefined => (method === "GET" || method === "DELETE" ? undefined : "{")

/** An unknown key with a valid checksum. */
const guess = Effect.flatMap(SecureRandom, (random) =>
  Effect.map(KeyFormat.generate(random, "ordinary"), ({ key }) => Redacted.value(key))
).pipe(Effect.provide(layerWebCrypto))

it.layer(layer({ failedAuthentications: { requests: 1000, window: Duration.minutes(1) } }), {
  excludeTestServices: true
})("authorization", (it) => {
  it.effect("every operation rejects requests without a key, whatever else is wrong [spec A2 B1 J2 P2]", () =>
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

  it.effect("says why a key is invalid, as far as the text of the key reveals it [spec P1 P3]", () =>
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

  it.effect("rejects expired, disabled and deleted keys [spec P8]", () =>
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

  it.effect("GET /key says of what kind a key is, and its rights are those of its kind [spec P5 P6 P7]", () =>
    Effect.gen(function* () {
      const { ask, workspace } = yield* TestGateway
      const keys = yield* KeyStore
      const base = { organizationId: workspace.organizationId, workspaceId: workspace.id, name: "k" }
      for (const { isFreeTier, isManagement, manages } of [
        { isFreeTier: false, isManagement: false, manages: 403 },
        { isFreeTier: true, isManagement: false, manages: 403 },
        { isFreeTier: false, isManagement: true, manages: 200 }
      ]) {
        const { plain } = yield* keys.create({ ...base, isFreeTier, isManagement })
        const key = Redacted.value(plain)
        expect(JSON.parse((yield* ask("/api/v1/key", { key })).text)).toMatchObject({
          data: { is_free_tier: isFreeTier, is_management_key: isManagement, is_provisioning_key: isManagement }
        })
        expect((yield* ask("/api/v1/keys", { key })).status).toBe(manages)
      }
    })
  )

  it.effect("only management keys manage, and only ordinary keys spend [spec I6 O1 P4 P5]", () =>
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

/** Every failure of an address but its first is delayed by 2 seconds. */
const slowed = { failedAuthentications: { requests: 1, window: Duration.days(1) } }

/** Milliseconds until the response. It must be a 401 that says only that the key is invalid. */
const refusal = (headers: Record<string, string> = {}) =>
  Effect.gen(function* () {
    const { ask } = yield* TestGateway
    const key = yield* guess
    const [took, answer] = yield* Effect.timed(ask("/api/v1/key", { key, headers }))
    expect([answer.status, envelopeOf(answer).error.message]).toEqual([401, "invalid API key"])
    return Duration.toMillis(took)
  })

/** Just below every delay of {@link slowed}. */
const delayed = 1900

// The clock moves only when the test moves it, so a delayed response cannot come earlier.
it.layer(layer(slowed))("an address that keeps failing", (it) => {
  it.effect("gets its 401 later, while valid keys of that address are neither refused nor delayed", () =>
    Effect.gen(function* () {
      const { ask, managementKey, ordinaryKey } = yield* TestGateway
      for (let typo = 0; typo < 10; typo++) {
        expect((yield* ask("/api/v1/key", { key: "nonsense" })).status).toBe(401)
      }
      yield* refusal()
      const guessing = yield* Effect.forkChild(Effect.all([refusal(), refusal()], { concurrency: 2 }), {
        startImmediately: true
      })
      // Neither key was used in this process before.
      expect((yield* ask("/api/v1/key", { key: managementKey })).status).toBe(200)
      expect((yield* ask("/api/v1/key", { key: ordinaryKey })).status).toBe(200)
      expect(guessing.pollUnsafe()).toBeUndefined()
      while (guessing.pollUnsafe() === undefined) {
        yield* TestClock.adjust("100 millis")
        yield* TestClock.withLive(Effect.sleep("5 millis"))
      }
      yield* Fiber.join(guessing)
    })
  )
})

const trusting = (network: string) => ({ ...slowed, trustedProxies: [IpNetwork.fromStringUnsafe(network)] })

it.layer(layer(trusting("127.0.0.0/8")), { excludeTestServices: true })("behind a trusted proxy", (it) => {
  it.effect("only the address that failed is delayed: an IPv4 address by itself, an IPv6 address with its /64", () =>
    Effect.gen(function* () {
      const from = (forwarded: string) => refusal({ "x-forwarded-for": forwarded })
      yield* Effect.forEach(["192.0.2.1, 198.51.100.7", "2001:db8::1"], from, { concurrency: 2 })
      const again = ["192.0.2.3, 198.51.100.7:4711", "::ffff:198.51.100.7", "2001:db8:0:0:ffff::2"]
      const took = yield* Effect.forEach(again, from, { concurrency: "unbounded" })
      expect(Math.min(...took)).toBeGreaterThan(delayed)
    })
  )
})

it.layer(layer(trusting("192.0.2.1/32")), { excludeTestServices: true })(
  "from a peer that is no trusted proxy",
  (it) => {
    it.effect("another address in X-Forwarded-For does not avoid the delay", () =>
      Effect.gen(function* () {
        yield* refusal({ "x-forwarded-for": "198.51.100.1" })
        expect(yield* refusal({ "x-forwarded-for": "198.51.100.2" })).toBeGreaterThan(delayed)
      })
    )
  }
)
