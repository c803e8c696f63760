// The real SDKs drive the double, so that the double is known to speak Azure's protocol.
import { assert, describe, it } from "@effect/vitest"
import { CohereClientV2 } from "cohere-ai"
import { Effect } from "effect"
import OpenAI, { AzureOpenAI, toFile } from "openai"
import { startAzureDouble } from "@model-gateway/test-doubles/AzureDouble"
import { started } from "./support/transcription.ts"
import { attempt, key } from "./support/videoJobs.ts"

const double = started(() => startAzureDouble({ keys: [key] }))

const hear = (client: OpenAI, model: string) =>
  attempt(async () => {
    const file = await toFile(new TextEncoder().encode("speech: hello world"), "a.wav")
    return (await client.audio.transcriptions.create({ model, file })).text
  })

describe("the double of Azure, called by the SDKs of OpenAI and Cohere", () => {
  it.live("transcribes by deployment and version, and by /openai/v1", () =>
    Effect.gen(function* () {
      const { state, url } = yield* double
      const options = { apiKey: key, maxRetries: 0 }
      for (const apiVersion of ["2024-10-21", "2025-04-01-preview"]) {
        const client = new AzureOpenAI({ ...options, endpoint: url, apiVersion })
        assert.strictEqual(yield* hear(client, "ears"), "hello world")
      }
      const latest = new OpenAI({ ...options, baseURL: `${url}/openai/v1` })
      assert.strictEqual(yield* hear(latest, "ears-4o"), "hello world")
      assert.deepStrictEqual(
        state.requests.map(({ headers, url }) => [url, headers["api-key"], headers["authorization"]]),
        [
          ["/openai/deployments/ears/audio/transcriptions?api-version=2024-10-21", key, undefined],
          ["/openai/deployments/ears/audio/transcriptions?api-version=2025-04-01-preview", key, undefined],
          ["/openai/v1/audio/transcriptions", undefined, `Bearer ${key}`]
        ]
      )
    })
  )

  it.live("refuses a wrong key, deployment and version", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const refused = (apiKey: string, model: string, apiVersion = "2024-10-21") =>
        Effect.flip(hear(new AzureOpenAI({ apiKey, maxRetries: 0, endpoint: url, apiVersion }), model))
      assert.propertyVal(yield* refused("wrong", "ears"), "status", 401)
      assert.propertyVal(yield* refused(key, "mouth"), "status", 404)
      assert.propertyVal(yield* refused(key, "ears", "2020-01-01"), "status", 404)
    })
  )

  it.live("ranks as Foundry", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const client = new CohereClientV2({ token: key, environment: `${url}/providers/cohere`, maxRetries: 0 })
      const { results } = yield* attempt(() =>
        client.rerank({ model: "ranks", query: "tea", documents: ["coffee", "green tea"] })
      )
      assert.deepStrictEqual(
        results.map(({ index }) => index),
        [1, 0]
      )
    })
  )
})
