// The real SDK drives the double, so that the double is known to speak Voyage's protocol.
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { VoyageAIClient, VoyageAIError } from "voyageai"
import { start as startVoyageDouble } from "@model-gateway/test-doubles/plain/Voyage"

const key = "voyage-key"

const request = {
  model: "rerank-2.5",
  query: "green tea",
  documents: ["coffee", "green tea leaves", "black tea"]
}

const double = Effect.acquireRelease(
  Effect.promise(() => startVoyageDouble({ keys: [key] })),
  (double) => Effect.promise(() => double.close())
)

const client = (url: string, apiKey = key) =>
  new VoyageAIClient({ environment: `${url}/v1`, apiKey, maxRetries: 0, timeoutInSeconds: 30 })

const rerank = (client: VoyageAIClient, body: Parameters<VoyageAIClient["rerank"]>[0]) =>
  Effect.tryPromise({ try: () => client.rerank(body), catch: (error) => error })

describe("the double, called by Voyage's SDK", () => {
  it.live("ranks, and counts the query's tokens once for each document", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const all = yield* rerank(client(url), request)
      assert.deepStrictEqual(
        all.data?.map(({ index }) => index),
        [1, 2, 0]
      )
      assert.strictEqual(all.usage?.totalTokens, 12)
      const some = yield* rerank(client(url), { ...request, topK: 1, returnDocuments: true })
      assert.deepStrictEqual(
        some.data?.map(({ document }) => document),
        ["green tea leaves"]
      )
    })
  )

  it.live("rejects what the documentation says is rejected", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const long = Array.from({ length: 1001 }, () => "tea")
      const rejected: ReadonlyArray<readonly [Effect.Effect<unknown, unknown>, number]> = [
        [rerank(client(url, "another-key"), request), 401],
        [rerank(client(url), { ...request, model: "xyz" }), 400],
        [rerank(client(url), { ...request, query: "" }), 400],
        [rerank(client(url), { ...request, documents: [] }), 400],
        [rerank(client(url), { ...request, documents: long }), 400],
        [rerank(client(url), { ...request, documents: long.slice(1).map(() => "tea ".repeat(700)) }), 400]
      ]
      for (const [call, status] of rejected) {
        const error = yield* Effect.flip(call)
        if (!(error instanceof VoyageAIError)) return assert.fail(String(error))
        assert.strictEqual(error.statusCode, status)
      }
    })
  )
})
