import { describe, expect, it } from "@effect/vitest"
import { Gateway, GatewayApi, Keys } from "@model-gateway/core"
import { Effect, Redacted, Schema } from "effect"
import { HttpServerResponse } from "effect/http"
import { OpenApi } from "effect/http-api"
import { inspect } from "node:util"
import * as Stub from "./stub.ts"

const secret = "mg_sk_0123456789"

const key = {
  hash: "h",
  name: "n",
  label: "mg_sk_…789",
  workspace_id: "w",
  disabled: false,
  is_management_key: false,
  is_free_tier: true,
  limit: null,
  limit_remaining: null,
  limit_reset: null,
  include_byok_in_limit: false,
  usage: 0,
  usage_daily: 0,
  usage_weekly: 0,
  usage_monthly: 0,
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  external_user: null,
  workspace_ids: null,
  last_used_on: null,
  guardrail_id: null,
  creator_user_id: "user_7",
  created_at: "2026-11-22T00:00:00Z",
  updated_at: "2026-11-22T00:00:00Z",
  expires_at: null
}

const responses = {
  createKey: { data: key, key: secret },
  rotateKey: { data: key, key: secret, previous_expires_at: "2026-11-23T00:00:00Z" },
  createEphemeralKey: { key: secret, expires_at: "2026-11-22T00:15:00Z" }
}

const stub = Stub.make(({ url }) =>
  Stub.json(
    url.pathname.endsWith("/ephemeral")
      ? responses.createEphemeralKey
      : url.pathname.endsWith("/rotate")
        ? responses.rotateKey
        : responses.createKey
  )
)

describe("a new key", () => {
  it.effect("is hidden from logs, consoles and JSON, and can be read", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      for (const created of [
        yield* gateway.createKey({ name: "n" }),
        yield* gateway.rotateKey("h"),
        yield* gateway.createEphemeralKey(),
        yield* gateway.createEphemeralKeyFor("h")
      ]) {
        for (const shown of [JSON.stringify(created), inspect(created, { depth: Infinity, showHidden: true })]) {
          expect(shown).not.toContain(secret)
          expect(shown).toContain("<redacted>")
        }
        expect(Redacted.value(created.key)).toBe(secret)
      }
    }).pipe(stub.run())
  )

  it.effect("is of the free tier and of the user that the call says", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      const request: Keys.CreateRequest = { name: "n", is_free_tier: true, creator_user_id: "user_7" }
      const { data } = yield* gateway.createKey(request)
      expect([data.is_free_tier, data.creator_user_id]).toEqual([true, "user_7"])
      const changed = yield* gateway.updateKey("h", { is_free_tier: false })
      expect(changed.is_free_tier).toBe(true)
      const bodies = stub.sent.slice(-2).map(({ text = "" }): unknown => JSON.parse(text))
      expect(bodies).toEqual([request, { is_free_tier: false }])
    }).pipe(stub.run())
  )

  it.effect("is plain text on the wire", () =>
    Effect.gen(function* () {
      const gateway = yield* Gateway.Gateway
      const created = yield* gateway.createKey({ name: "n" })
      expect(Schema.encodeSync(Keys.createKeyOperation.success)(created)).toEqual(responses.createKey)
      const passedOn = yield* HttpServerResponse.schemaJson(Keys.EphemeralResponse)(yield* gateway.createEphemeralKey())
      const text = yield* Effect.promise(() => HttpServerResponse.toWeb(passedOn).text())
      expect(JSON.parse(text)).toEqual(responses.createEphemeralKey)
    }).pipe(stub.run())
  )

  it("is documented as text", () => {
    const { paths } = OpenApi.fromApi(GatewayApi.GatewayApi)
    for (const path of ["/api/v1/keys", "/api/v1/keys/ephemeral"]) {
      expect(paths).toMatchObject({
        [path]: {
          post: {
            responses: {
              201: { content: { "application/json": { schema: { properties: { key: { type: "string" } } } } } }
            }
          }
        }
      })
    }
  })
})
