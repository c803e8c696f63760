import { describe, expect, it } from "@effect/vitest"
import { GatewayConfig } from "@model-gateway/core"
import { ConfigProvider, Effect, Redacted } from "effect"

const from = (settings: { readonly [name: string]: string }) =>
  Effect.provide(GatewayConfig.GatewayConfig, GatewayConfig.layerConfig).pipe(
    Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromUnknown(settings))
  )

describe("layerConfig", () => {
  it.effect("reads the three settings", () =>
    Effect.gen(function* () {
      const config = yield* from({
        MODEL_GATEWAY_BASE_URL: "https://gateway.example/api/v1/",
        MODEL_GATEWAY_API_KEY: "mg_sk_1",
        MODEL_GATEWAY_WORKSPACE_ID: "w"
      })
      expect(config).toMatchObject({ baseUrl: "https://gateway.example/api/v1", workspaceId: "w" })
      expect(Redacted.isRedacted(config.credential) ? Redacted.value(config.credential) : undefined).toBe("mg_sk_1")
    })
  )

  it.effect("requires only the key", () =>
    Effect.gen(function* () {
      expect(yield* from({ MODEL_GATEWAY_API_KEY: "k" })).toMatchObject({
        baseUrl: "http://127.0.0.1:8787/api/v1",
        workspaceId: undefined
      })
    })
  )

  it.effect("names the missing or malformed setting", () =>
    Effect.gen(function* () {
      expect((yield* Effect.flip(from({}))).message).toContain("MODEL_GATEWAY_API_KEY")
      const malformed = from({ MODEL_GATEWAY_API_KEY: "k", MODEL_GATEWAY_BASE_URL: "not a url" })
      expect((yield* Effect.flip(malformed)).message).toContain("MODEL_GATEWAY_BASE_URL")
    })
  )
})

describe("make", () => {
  it("removes trailing slashes from the base URL, and has defaults for everything except the credential", () => {
    const credential = Redacted.make("k")
    expect(GatewayConfig.make({ credential, baseUrl: "https://a/api/v1//" }).baseUrl).toBe("https://a/api/v1")
    expect(GatewayConfig.make({ credential })).toEqual({
      baseUrl: "http://127.0.0.1:8787/api/v1",
      credential,
      workspaceId: undefined,
      retryBudget: undefined
    })
  })
})
