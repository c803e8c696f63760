import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Redacted } from "effect"
import type { Upstream } from "@model-gateway/offers/Adapter"
import type { Model } from "@model-gateway/offers/Model"
import { gatewayCredential } from "@model-gateway/offers/Offer"
import type { ProviderError } from "@model-gateway/offers/ProviderError"
import * as Azure from "../src/Azure.ts"
import { documentedErrors, startAzureDouble } from "@model-gateway/test-doubles/AzureDouble"
import type { Scripted } from "@model-gateway/test-doubles/Double"
import { recorded } from "@model-gateway/test-doubles/recorded"
import { services, speaking, started, told } from "./support/transcription.ts"

const key = "azure-secret-0123456789"

const credential = gatewayCredential(Redacted.make(key))

const deployed = { kind: "transcription", name: "Ears", pricing: { unit: "second", microCredits: 100 } } as const

const models: ReadonlyArray<Model> = [
  { ...deployed, publicId: "acme/ears", upstreamId: "ears", parameters: { apiVersion: "2024-10-21" } },
  {
    ...deployed,
    publicId: "acme/ears-4o",
    upstreamId: "ears-4o",
    pricing: { unit: "token", inputMicroCredits: 2_500_000, outputMicroCredits: 10_000_000 },
    parameters: { verbose: false, tokensPerSecond: 10, maxOutputTokens: 2000 }
  },
  {
    kind: "rerank",
    publicId: "acme/ranks",
    upstreamId: "ranks",
    name: "Ranks",
    pricing: { unit: "search_unit", microCredits: 2500 }
  }
]

const offered = (options: Partial<Upstream> = {}) =>
  Effect.gen(function* () {
    const double = yield* started(() => startAzureDouble({ keys: [key, "tenant-key"] }))
    const upstream = { name: "azure", baseUrl: double.url, credential, ...options }
    const [versioned, latest, rerank] = yield* Azure.adapter.offers(upstream, models)
    if (versioned?.kind !== "transcription" || latest?.kind !== "transcription" || rerank?.kind !== "rerank") {
      return assert.fail("not the offers of the models")
    }
    return { double, versioned, latest, rerank }
  })

const tea = { query: "tea", documents: [{ text: "coffee" }, { text: "green tea" }] }

describe("Azure", () => {
  it.live("transcribes by deployment, with words, and by /openai/v1, with the key in its header", () =>
    Effect.gen(function* () {
      const { double, latest, versioned } = yield* offered()
      const spoken = speaking("hello world", { timestamp_granularities: ["segment", "word"], language: "en" })
      const { answer, charge } = yield* versioned.run(spoken, credential)
      assert.deepStrictEqual([answer.text, answer.words?.length], ["hello world", 2])
      assert.deepStrictEqual<unknown>([charge.cost, versioned.quote(spoken)], [200, 200])
      const heard = yield* latest.run(speaking("hello world"), { id: "own", secret: Redacted.make("tenant-key") })
      assert.deepStrictEqual<unknown>([heard.answer.text, heard.charge.cost], ["hello world", 80])
      assert.deepStrictEqual(
        double.state.requests.map(({ headers, url }) => [url, headers["api-key"], headers["authorization"]]),
        [
          ["/openai/deployments/ears/audio/transcriptions?api-version=2024-10-21", key, undefined],
          ["/openai/v1/audio/transcriptions", "tenant-key", undefined]
        ]
      )
    }).pipe(Effect.provide(services))
  )

  it.live("ranks by Cohere's API of Foundry", () =>
    Effect.gen(function* () {
      const { double, rerank } = yield* offered()
      const { answer, charge } = yield* rerank.run({ ...tea, top_n: 1 }, credential)
      assert.deepStrictEqual(
        answer.results.map(({ index }) => index),
        [1]
      )
      assert.deepStrictEqual<unknown>(charge, { cost: 2500, usage: { search_units: 1 } })
      const { text, url } = double.state.requests[0] ?? assert.fail("no request")
      assert.strictEqual(url, "/providers/cohere/v2/rerank")
      assert.deepStrictEqual(JSON.parse(text), {
        model: "ranks",
        query: "tea",
        documents: ["coffee", "green tea"],
        top_n: 1
      })
    }).pipe(Effect.provide(services))
  )

  it.live("names the field of a model that is wrong", () =>
    Effect.gen(function* () {
      const wrong = (parameters: Model["parameters"]) =>
        Effect.map(
          Effect.flip(
            Azure.adapter.offers({ name: "azure", baseUrl: "https://acme.openai.azure.com", credential }, [
              { ...deployed, publicId: "a/b", upstreamId: "b", ...(parameters === undefined ? {} : { parameters }) }
            ])
          ),
          ({ message }) => message
        )
      assert.include(yield* wrong({ apiVersion: "latest" }), "apiVersion must be a version such as 2024-10-21")
      assert.include(yield* wrong({ apiVersion: "2024-10-21", apiVersions: 1 }), "apiVersions")
      const film: Model = { ...deployed, kind: "video", publicId: "a/c", upstreamId: "c" }
      const error = yield* Effect.flip(
        Azure.adapter.offers({ name: "azure", baseUrl: "https://acme.openai.azure.com", credential }, [film])
      )
      assert.strictEqual(error.message, "must be a rerank or transcription model")
    }).pipe(Effect.provide(services))
  )

  it.live("maps failures to their reasons", () =>
    Effect.gen(function* () {
      const { double, rerank, versioned } = yield* offered({ timeLimit: "300 millis" })
      const failures: ReadonlyArray<readonly [Scripted, string]> = [
        [{ status: 400, body: { error: { code: "BadRequest", message: "no audio" } } }, "InvalidRequest: no audio"],
        [documentedErrors.invalidKey, "Unauthorized: the provider rejected its credentials"],
        [documentedErrors.noDeployment, "UnknownModel: unknown model"],
        [documentedErrors.rateLimit, "RateLimited: the provider's rate limit is exceeded"],
        [{ status: 500, body: "" }, "BadResponse: status 500"],
        [
          { fault: "cutBody" },
          "ConnectionLost: the connection to the provider was lost before its answer was complete"
        ],
        [{ body: "<html>", headers: { "content-type": "text/html" } }, "BadResponse: not JSON but text/html"],
        [{ fault: "hang" }, "Timeout: the provider did not answer in time"]
      ]
      for (const [scripted, expected] of failures) {
        const calls: ReadonlyArray<Effect.Effect<unknown, ProviderError>> = [
          versioned.run(speaking("one"), credential),
          rerank.run(tea, credential)
        ]
        for (const call of calls) {
          double.next(scripted)
          const { reason } = yield* Effect.flip(call)
          assert.include(told(reason), expected)
          if (scripted === documentedErrors.rateLimit) {
            assert.deepStrictEqual("retryAfter" in reason && reason.retryAfter, Duration.seconds(3))
          }
        }
      }
    }).pipe(Effect.provide(services))
  )

  it.live("shows the key in no error, log or span", () =>
    Effect.gen(function* () {
      const { double, rerank, versioned } = yield* offered()
      for (const scripted of [{ status: 401, body: { error: { message: key } } }, { fault: "cut" as const }]) {
        double.always(scripted)
        assert.notInclude(yield* recorded(versioned.run(speaking("one"), credential)), key)
        assert.notInclude(yield* recorded(rerank.run(tea, credential)), key)
      }
    }).pipe(Effect.provide(services))
  )
})
