// The real SDK drives the double, so that the double is known to speak the service's protocol.
import { BedrockRuntimeClient, InvokeModelCommand } from "@aws-sdk/client-bedrock-runtime"
import { assert, describe, it } from "@effect/vitest"
import { NodeHttpHandler } from "@smithy/node-http-handler"
import { Effect } from "effect"
import { type AccessKey, startBedrockDouble } from "@model-gateway/test-doubles/BedrockDouble"
import { started } from "./support/transcription.ts"
import { attempt, key } from "./support/videoJobs.ts"

const pair: AccessKey = {
  accessKeyId: "AKIAEXAMPLE0123456",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
}

const temporary: AccessKey = { ...pair, accessKeyId: "ASIAEXAMPLE0123456", sessionToken: "FwoGZXIvYXdzEXAMPLE==" }

const double = started(() => startBedrockDouble({ keys: [key], pairs: [pair, temporary] }))

const body = { query: "tea", documents: ["coffee", "green tea"], top_n: 1 }

const invoke = (client: BedrockRuntimeClient, modelId: string, input: object) =>
  attempt(async () => {
    const answer = await client.send(
      new InvokeModelCommand({ modelId, body: JSON.stringify(input), contentType: "application/json" })
    )
    const parsed: unknown = JSON.parse(answer.body.transformToString())
    return parsed
  })

/** By default, the SDK speaks HTTP/2. */
const common = { requestHandler: new NodeHttpHandler(), maxAttempts: 1 }

const signing = (endpoint: string, credentials: AccessKey, region = "us-west-2") =>
  new BedrockRuntimeClient({ ...common, endpoint, region, credentials })

const nameOf = (error: unknown) => (error instanceof Error ? error.name : "")

describe("the double of Amazon Bedrock, called by its SDK", () => {
  it.live("ranks for signed requests, and for an API key", () =>
    Effect.gen(function* () {
      const { state, url } = yield* double
      const results = [{ index: 1, relevance_score: 1 / (1 + 1 / 1e6) }]
      for (const credentials of [pair, temporary]) {
        const client = signing(url, credentials)
        assert.deepStrictEqual(yield* invoke(client, "amazon.rerank-v1:0", body), { results })
        assert.deepStrictEqual(yield* invoke(client, "cohere.rerank-v3-5:0", { ...body, api_version: 2 }), { results })
      }
      const client = new BedrockRuntimeClient({
        ...common,
        endpoint: url,
        region: "us-west-2",
        token: { token: key },
        authSchemePreference: ["httpBearerAuth"]
      })
      assert.deepStrictEqual(yield* invoke(client, "amazon.rerank-v1:0", body), { results })
      assert.strictEqual(state.requests.at(-1)?.headers["authorization"], `Bearer ${key}`)
    })
  )

  it.live("refuses a wrong secret, region, token, id and body", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const refused = (client: BedrockRuntimeClient, modelId = "amazon.rerank-v1:0", input: object = body) =>
        Effect.map(Effect.flip(invoke(client, modelId, input)), nameOf)
      const { sessionToken: _, ...withoutToken } = temporary
      assert.strictEqual(
        yield* refused(signing(url, { ...pair, secretAccessKey: "wrong" })),
        "InvalidSignatureException"
      )
      assert.strictEqual(yield* refused(signing(url, pair, "us-east-1")), "UnrecognizedClientException")
      assert.strictEqual(yield* refused(signing(url, withoutToken)), "UnrecognizedClientException")
      assert.strictEqual(yield* refused(signing(url, pair), "amazon.rerank-v9:0"), "ValidationException")
      // Without a version, Cohere's model takes the body for one of version 1.
      assert.strictEqual(yield* refused(signing(url, pair), "cohere.rerank-v3-5:0"), "ValidationException")
      const late = yield* started(() =>
        startBedrockDouble({ keys: [], pairs: [pair], now: () => Date.now() + 600_000 })
      )
      assert.strictEqual(yield* refused(signing(late.url, pair)), "InvalidSignatureException")
    })
  )
})
