// The real SDK drives the double, so that the double is known to speak Cohere's protocol.
import { assert, describe, it } from "@effect/vitest"
import { Cohere, CohereClientV2, CohereError } from "cohere-ai"
import { Effect, Schema } from "effect"
import { double, key } from "./support/cohere.ts"
import { documentedMessages } from "@model-gateway/test-doubles/CohereDouble"
import type { Scripted } from "@model-gateway/test-doubles/Double"

const request = {
  model: "rerank-v3.5",
  query: "green tea",
  documents: ["coffee", "green tea leaves", "black tea"]
}

const client = (environment: string, token = key) => new CohereClientV2({ environment, token, maxRetries: 0 })

const hasMessage = Schema.is(Schema.Struct({ message: Schema.NonEmptyString }))

const rerank = (client: CohereClientV2, body: Cohere.V2RerankRequest, timeoutInSeconds = 30) =>
  Effect.tryPromise({ try: () => client.rerank(body, { timeoutInSeconds }), catch: (error) => error })

describe("the double, called by Cohere's SDK", () => {
  it.live("ranks, and bills search units", () =>
    Effect.gen(function* () {
      const { state, url } = yield* double
      const { id, meta, results } = yield* rerank(client(url), { ...request, topN: 2, maxTokensPerDoc: 100 })
      assert.isString(id)
      assert.deepStrictEqual(
        results.map(({ index }) => index),
        [1, 2]
      )
      assert.isTrue(results.every(({ relevanceScore }) => relevanceScore > 0 && relevanceScore <= 1))
      assert.strictEqual(meta?.billedUnits?.searchUnits, 1)
      assert.deepStrictEqual(JSON.parse(state.requests[0]?.text ?? ""), {
        ...request,
        top_n: 2,
        max_tokens_per_doc: 100
      })

      const long = "tea ".repeat(600)
      const bills = [
        yield* rerank(client(url), { ...request, documents: Array.from({ length: 100 }, () => "tea") }),
        yield* rerank(client(url), { ...request, documents: Array.from({ length: 101 }, () => "tea") }),
        yield* rerank(client(url), { ...request, documents: Array.from({ length: 100 }, () => long) })
      ]
      assert.deepStrictEqual(
        bills.map(({ meta }) => meta?.billedUnits?.searchUnits),
        [1, 2, 2]
      )
    })
  )

  it.live("rejects what the documentation says is rejected", () =>
    Effect.gen(function* () {
      const { url } = yield* double
      const rejected: ReadonlyArray<readonly [Effect.Effect<unknown, unknown>, unknown]> = [
        [rerank(client(url, "another-key"), request), Cohere.UnauthorizedError],
        [rerank(client(url), { ...request, model: "xyz" }), Cohere.NotFoundError],
        [rerank(client(url), { ...request, model: "" }), Cohere.BadRequestError],
        [rerank(client(url), { ...request, query: " " }), Cohere.BadRequestError],
        [rerank(client(url), { ...request, documents: [] }), Cohere.BadRequestError],
        [rerank(client(url), { ...request, topN: 0 }), Cohere.BadRequestError],
        [rerank(client(url), { ...request, maxTokensPerDoc: 0 }), Cohere.BadRequestError],
        [rerank(client(`${url}/v3`), request), Cohere.NotFoundError]
      ]
      for (const [call, expected] of rejected) {
        const error = yield* Effect.flip(call)
        assert.instanceOf(error, CohereError)
        assert.strictEqual(error.constructor, expected)
        assert.isTrue(hasMessage(error.body))
      }
      const strange = { ...request, model: "rerank-v3.5", return_documents: true }
      assert.instanceOf(yield* Effect.flip(rerank(client(url), strange)), Cohere.UnprocessableEntityError)
    })
  )

  it.live("answers every documented status, which the SDK maps to its own error", () =>
    Effect.gen(function* () {
      const { next, url } = yield* double
      const messages = new Map(Object.entries(documentedMessages))
      const errors = {
        400: Cohere.BadRequestError,
        401: Cohere.UnauthorizedError,
        402: CohereError,
        403: Cohere.ForbiddenError,
        404: Cohere.NotFoundError,
        422: Cohere.UnprocessableEntityError,
        429: Cohere.TooManyRequestsError,
        498: Cohere.InvalidTokenError,
        499: Cohere.ClientClosedRequestError,
        500: Cohere.InternalServerError,
        501: Cohere.NotImplementedError,
        503: Cohere.ServiceUnavailableError,
        504: Cohere.GatewayTimeoutError
      }
      for (const [status, expected] of Object.entries(errors)) {
        const message = messages.get(status)
        next({ status: Number(status), body: { message } })
        const error = yield* Effect.flip(rerank(client(url), request))
        assert.instanceOf(error, CohereError)
        assert.strictEqual(error.constructor, expected)
        assert.deepStrictEqual([error.statusCode, error.body], [Number(status), { message }])
      }
    })
  )

  it.live("fails as a network does", () =>
    Effect.gen(function* () {
      const { next, url } = yield* double
      const faults: ReadonlyArray<Scripted> = [{ fault: "cut" }, { fault: "cutBody" }, { fault: "notHttp" }]
      for (const scripted of faults) {
        next(scripted)
        assert.instanceOf(yield* Effect.flip(rerank(client(url), request)), Error)
      }
      next({ fault: "hang" })
      assert.include(String(yield* Effect.flip(rerank(client(url), request, 0.1))), "timeout")
    })
  )
})
