import { describe, expect, it } from "@effect/vitest"
import { CurrentKey, GatewayConfig, RetryPolicy } from "@model-gateway/core"
import { Config, ConfigProvider, Effect, Redacted, Schedule } from "effect"
import { HttpClient, HttpClientRequest } from "effect/http"
import * as Stub from "./stub.ts"
import { inspect } from "node:util"

const from = (settings: { readonly [name: string]: string }) =>
  Effect.provide(GatewayConfig.GatewayConfig, GatewayConfig.layerConfig()).pipe(
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

  it.effect("requires only the key [spec J1]", () =>
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

  it.effect("never quotes a base URL, which may contain a password", () =>
    Effect.gen(function* () {
      for (const baseUrl of [
        "https://me:s3cret@a b/api/v1",
        "https://me:s3cret@a/api/v1",
        "https://a/api/v1?k=s3cret"
      ]) {
        const error = yield* Effect.flip(from({ MODEL_GATEWAY_API_KEY: "k", MODEL_GATEWAY_BASE_URL: baseUrl }))
        expect(`${error.message} ${String(error)} ${JSON.stringify(error)}`).not.toContain("s3cret")
      }
    })
  )
})

describe("layerConfig", () => {
  it.effect("reads the caller's own Configs, and takes the other options as values", () =>
    Effect.gen(function* () {
      const config = yield* Effect.provide(
        GatewayConfig.GatewayConfig,
        GatewayConfig.layerConfig({
          baseUrl: Config.String("RANKING_URL"),
          credential: Config.Redacted("RANKING_KEY"),
          workspaceId: Config.String("RANKING_WORKSPACE"),
          retryBudget: { capacity: 7 }
        })
      )
      expect(config).toMatchObject({ baseUrl: "https://a/api/v1", workspaceId: "w", retryBudget: { capacity: 7 } })
      expect(Redacted.isRedacted(config.credential) ? Redacted.value(config.credential) : undefined).toBe("own")
    }).pipe(
      Effect.provideService(
        ConfigProvider.ConfigProvider,
        ConfigProvider.fromUnknown({
          MODEL_GATEWAY_API_KEY: "default",
          RANKING_URL: "https://a/api/v1/",
          RANKING_KEY: "own",
          RANKING_WORKSPACE: "w"
        })
      )
    )
  )
})

describe("the base URL", () => {
  const corrected = (baseUrl: string) =>
    Effect.map(Effect.flip(GatewayConfig.fromOptions({ credential: Redacted.make("k"), baseUrl })), (error) => {
      expect(error._tag).toBe("InvalidBaseUrl")
      expect(error.message).toContain(error.corrected)
      expect(error.message).not.toContain("s3cret")
      expect(inspect(error)).toBe(`InvalidBaseUrl: ${error.message}`)
      return error.corrected
    })

  it.effect.each([
    "http://127.0.0.1:8787/api/v1",
    "https://gateway.example/api/v1/",
    "HTTPS://Gateway.example:8443/behind/a/proxy/api/v1",
    "http://[::1]:8787/api/v1"
  ])("%s is accepted", (baseUrl) => GatewayConfig.fromOptions({ credential: Redacted.make("k"), baseUrl }))

  it.effect.each([
    ["http://127.0.0.1:8787", "http://127.0.0.1:8787/api/v1"],
    ["https://gateway.example/", "https://gateway.example/api/v1"],
    ["https://gateway.example/v1", "https://gateway.example/api/v1"],
    ["https://gateway.example/api/", "https://gateway.example/api/v1"],
    ["https://gateway.example/gw", "https://gateway.example/gw/api/v1"],
    ["https://gateway.example/api/v1/rerank", "https://gateway.example/api/v1"],
    ["https://gateway.example/api/v1?key=s3cret", "https://gateway.example/api/v1"],
    ["https://gateway.example/api/v1#s3cret", "https://gateway.example/api/v1"],
    ["https://me:s3cret@gateway.example/api/v1", "https://gateway.example/api/v1"],
    ["me:s3cret@gateway.example/api/v1", "https://gateway.example/api/v1"],
    ["http:///api/v1", "http://api/api/v1"],
    ["ftp://gateway.example/api/v1", "https://gateway.example/api/v1"],
    ["gateway.example/api/v1", "https://gateway.example/api/v1"],
    ["localhost:8787", "http://localhost:8787/api/v1"],
    [" https://gateway.example/api/v1", "https://gateway.example/api/v1"],
    ["/api/v1", "http://127.0.0.1:8787/api/v1"],
    ["api/v1", "http://127.0.0.1:8787/api/v1"],
    ["http://[none]/api/v1", "http://127.0.0.1:8787/api/v1"]
  ] as const)("%s is refused, and %s shown", ([baseUrl, expected]) =>
    Effect.map(corrected(baseUrl), (shown) => expect(shown).toBe(expected))
  )
})

describe("transformClient", () => {
  it.effect("changes every request of the client", () => {
    const stub = Stub.make((_, number) => (number === 1 ? "cut" : Stub.json({ data: Stub.keyRecord })))
    return Effect.gen(function* () {
      yield* CurrentKey.currentKey.pipe(
        Effect.provideService(RetryPolicy.RetryPolicy, RetryPolicy.make({ schedule: () => Schedule.forever }))
      )
      expect(stub.sent.map(({ headers }) => headers["x-signature"])).toEqual(["signed", "signed"])
    }).pipe(stub.run({ transformClient: HttpClient.mapRequest(HttpClientRequest.setHeader("x-signature", "signed")) }))
  })
})

describe("make", () => {
  it("removes trailing slashes from the base URL, and has defaults for everything except the credential", () => {
    const credential = Redacted.make("k")
    expect(GatewayConfig.make({ credential, baseUrl: "https://a/api/v1//" }).baseUrl).toBe("https://a/api/v1")
    expect(GatewayConfig.make({ credential })).toEqual({
      baseUrl: "http://127.0.0.1:8787/api/v1",
      credential,
      workspaceId: undefined,
      retryBudget: undefined,
      maxResponseBytes: 67_108_864
    })
  })
})
