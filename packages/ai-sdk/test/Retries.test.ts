/** How calls are repeated: by the SDK, within the client's retry budget, with the key of the first attempt. */
import { APICallError } from "@ai-sdk/provider"
import { createModelGateway } from "@model-gateway/ai-sdk"
import { experimental_generateVideo as generateVideo, rerank, RetryError, transcribe } from "ai"
import { describe, expect, it } from "vitest"
import { envelope, json, keysOf, ranking, rejection, serve } from "./support/serve.ts"
import { matching } from "./support/parts.ts"

/** Retries begin at once. */
const atOnce = { "retry-after": "0" }

const documents = ["pears"]
const query = "pears"

const gatewayOf = (baseURL: string) => createModelGateway({ baseURL, apiKey: "mg_sk_test" })

describe("the SDK's retries", () => {
  it("are as many as `maxRetries` says, and the client adds none", async () => {
    const { baseURL, received } = await serve((each) => json(each, 503, envelope(503), atOnce))
    const model = gatewayOf(baseURL).reranking("m")
    const error = await rejection(rerank({ model, query, documents }))
    expect(RetryError.isInstance(error) && [error.reason, error.errors.length]).toEqual(["maxRetriesExceeded", 3])
    expect(received).toHaveLength(3)
    const once = await rejection(rerank({ model, query, documents, maxRetries: 0 }))
    expect(APICallError.isInstance(once) && [once.statusCode, once.isRetryable]).toEqual([503, true])
    expect(received).toHaveLength(4)
  })

  it("share one idempotency key for each call", async () => {
    const { baseURL, received } = await serve((each, number) =>
      number % 2 === 1 ? json(each, 503, envelope(503), atOnce) : json(each, 200, ranking)
    )
    const gateway = gatewayOf(baseURL)
    const model = gateway.reranking("m")
    await rerank({ model, query, documents })
    await rerank({ model, query, documents })
    const [first, second, third, fourth] = keysOf(received)
    expect([first, third]).toEqual([second, fourth])
    expect(first).not.toBe(third)
  })

  it("share it for a transcription and a video, too", async () => {
    const { baseURL, received } = await serve((each) => json(each, 503, envelope(503), atOnce))
    const gateway = gatewayOf(baseURL)
    const audio = new Uint8Array([1, 2, 3])
    await rejection(transcribe({ model: gateway.transcription("m"), audio }))
    expect([received.length, new Set(keysOf(received)).size]).toEqual([3, 1])
    received.length = 0
    const { baseURL: videos, received: submissions } = await serve((each) => json(each, 429, envelope(429), atOnce))
    await rejection(generateVideo({ model: gatewayOf(videos).video("m"), prompt: "Dawn", n: 2 }))
    // The two videos of one call have the same headers, and a key each.
    await expect.poll(() => submissions.length).toBe(6)
    expect(new Set(keysOf(submissions)).size).toBe(2)
  })

  it("use the caller's own key", async () => {
    const { baseURL, received } = await serve((each) => json(each, 503, envelope(503), atOnce))
    const headers = { "Idempotency-Key": "order-1", "X-Shop": "7" }
    await rejection(rerank({ model: gatewayOf(baseURL).reranking("m"), query, documents, headers }))
    expect(keysOf(received)).toEqual(["order-1", "order-1", "order-1"])
    expect(received[0]?.request.headers["x-shop"]).toBe("7")
  })

  it("keep the API key if the work may have been done, because the service charges it for each key", async () => {
    for (const [status, isKept] of [
      [502, true],
      [503, false]
    ] as const) {
      const { baseURL, received } = await serve((each) => json(each, status, envelope(status), atOnce))
      let made = 0
      const model = createModelGateway({ baseURL, apiKey: async () => `mg_ek_${++made}` }).reranking("m")
      await rejection(rerank({ model, query, documents }))
      const keys = received.map(({ request }) => request.headers.authorization)
      expect(keys).toEqual((isKept ? [1, 1, 1] : [1, 2, 3]).map((number) => `Bearer mg_ek_${number}`))
      // The next call is another one.
      await rejection(rerank({ model, query, documents, maxRetries: 0 }))
      expect(received[3]?.request.headers.authorization).toBe(`Bearer mg_ek_${made}`)
      expect(made).toBe(isKept ? 2 : 4)
    }
  })

  it("do not mistake calls for each other that pass the same objects", async () => {
    const { baseURL, received } = await serve((each, number) =>
      number > 5 ? json(each, 200, ranking) : json(each, 503, envelope(503), atOnce)
    )
    const model = gatewayOf(baseURL).reranking("m")
    const shared = { type: "text" as const, values: documents }
    await rejection(model.doRerank({ documents: shared, query }))
    // Of two calls at the same time, one is the repeated one.
    await Promise.all([1, 2].map(() => rejection(model.doRerank({ documents: shared, query }))))
    const [first, ...next] = keysOf(received)
    expect([next.includes(first), new Set(next).size]).toEqual([true, 2])
    await rejection(model.doRerank({ documents: shared, query: "another" }))
    expect(new Set(keysOf(received)).size).toBe(3)
    const transcription = gatewayOf(baseURL).transcription("m")
    const headers = { "x-shop": "7" }
    for (const byte of [1, 2]) {
      const audio = new Uint8Array([byte])
      await rejection(transcription.doGenerate({ audio, mediaType: "audio/wav", headers }))
    }
    expect(new Set(keysOf(received)).size).toBe(5)
  })

  it("stay within the retry budget in an outage: 100 parallel calls send 20 more", async () => {
    const { baseURL, received } = await serve((each) => json(each, 503, envelope(503), atOnce))
    const model = gatewayOf(baseURL).reranking("m")
    const startedAt = performance.now()
    const errors = await Promise.all(Array.from({ length: 100 }, () => rejection(rerank({ model, query, documents }))))
    // Two seconds refill one token.
    const refilled = Math.floor((performance.now() - startedAt) / 2000)
    expect(received.length - 100).toBeGreaterThanOrEqual(20)
    expect(received.length - 100).toBeLessThanOrEqual(20 + refilled)
    const last = errors.map((error) => (RetryError.isInstance(error) ? error.lastError : error))
    const unsent = last.filter((error) => APICallError.isInstance(error) && !error.isRetryable)
    expect(unsent.length).toBeGreaterThanOrEqual(80 - refilled)
    expect(unsent[0]).toMatchObject({
      statusCode: 503,
      message: matching(/not now.*It was not sent again, because the retry budget is used up\.$/)
    })
    // Every call was sent once, and each of the others is the retry of one.
    expect(new Set(keysOf(received)).size).toBe(100)
  })

  it("are not made after a failure that another attempt would not change", async () => {
    const { baseURL, received } = await serve((each) => json(each, 500, envelope(500)))
    const error = await rejection(rerank({ model: gatewayOf(baseURL).reranking("m"), query, documents }))
    expect(error).toMatchObject({ statusCode: 500, isRetryable: false })
    expect(received).toHaveLength(1)
  })
})

describe("an abort", () => {
  it("closes the request, and rejects with the signal's reason", async () => {
    const controller = new AbortController()
    let closed = 0
    const { baseURL, received } = await serve(({ response }) => {
      response.once("close", () => closed++)
      controller.abort()
    })
    const { signal } = controller
    const error = await rejection(
      rerank({ model: gatewayOf(baseURL).reranking("m"), query, documents, abortSignal: signal })
    )
    expect(error).toBe(signal.reason)
    await expect.poll(() => closed).toBe(1)
    expect(received).toHaveLength(1)
    // Nothing is sent for a signal that is aborted already.
    await rejection(rerank({ model: gatewayOf(baseURL).reranking("m"), query, documents, abortSignal: signal }))
    expect(received).toHaveLength(1)
  })

  it("ends the SDK's wait for the next attempt", async () => {
    const { baseURL, received } = await serve((each) => json(each, 503, envelope(503)))
    const abortSignal = AbortSignal.timeout(50)
    const error = await rejection(rerank({ model: gatewayOf(baseURL).reranking("m"), query, documents, abortSignal }))
    expect(error).toMatchObject({ name: matching(/AbortError|TimeoutError/) })
    expect(received).toHaveLength(1)
  })
})
