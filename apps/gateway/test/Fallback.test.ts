/**
 * One model on two upstreams, from a settings file, through the executable: what callers get when
 * an upstream is lost, slow or refusing, and what the gateway records of it.
 */
import * as Rerank from "@model-gateway/core/Rerank"
import { Schema } from "effect"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { startCohereDouble } from "../../../packages/providers/test/support/CohereDouble.mjs"
import { currentKey, folder, serve, type Served } from "./Executable.ts"
import { fileOf } from "./Loaded.ts"

const key = "co-secret-0123456789"

type Double = Awaited<ReturnType<typeof startCohereDouble>>

interface Pair {
  readonly gateway: Served
  readonly apiKey: string
  readonly first: Double
  readonly second: Double
}

/** A gateway with one model on two doubles. The second one is dearer, so that a bill tells them apart. */
const pair = async (settings: Readonly<Record<string, unknown>> = {}): Promise<Pair> => {
  const doubles = await Promise.all([startCohereDouble({ keys: [key] }), startCohereDouble({ keys: [key] })])
  for (const double of doubles) onTestFinished(() => double.close())
  const [first, second] = doubles
  const file = fileOf(
    JSON.stringify({
      ...settings,
      upstreams: {
        cohere: { baseUrl: first.url, apiKey: { env: "FIRST_KEY" } },
        second: { adapter: "cohere", baseUrl: second.url, apiKey: { env: "FIRST_KEY" } }
      },
      models: {
        "acme/rerank": {
          offers: [
            { upstream: "cohere", model: "rerank-v3.5", price: { search_unit: 0.002 } },
            { upstream: "second", model: "rerank-v3.5", price: { search_unit: 0.003 } }
          ]
        }
      }
    })
  )
  const gateway = await serve(folder(), ["--config", file], { FIRST_KEY: key })
  const [, apiKey = ""] = await gateway.prints(/API key +(mg_sk_\w{38})/)
  return { gateway, apiKey, first, second }
}

const Failure = Schema.Struct({
  error: Schema.Struct({
    code: Schema.Int,
    metadata: Schema.Struct({
      attempts: Schema.Array(Schema.Struct({ provider: Schema.String, outcome: Schema.String }))
    })
  })
})

const asSuccess = Schema.decodeUnknownSync(Rerank.Response)
const asKey = Schema.decodeUnknownSync(Schema.Struct({ data: Schema.Struct({ usage: Schema.Finite }) }))
const asFailure = Schema.decodeUnknownSync(Failure)

/** The query of a request tells it apart at the doubles. */
const queryOf = (index: number): string => `tea ${index}`

const ask = async (
  { apiKey, gateway }: Pair,
  index: number
): Promise<{ readonly status: number; readonly body: unknown }> => {
  const response = await fetch(`${gateway.origin}/api/v1/rerank`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/rerank", query: queryOf(index), documents: ["coffee", "tea"] })
  })
  return { status: response.status, body: await response.json() }
}

/** How many requests with each query a double has seen. */
const seenBy = ({ state }: Double): ReadonlyMap<string, number> => {
  const seen = new Map<string, number>()
  for (const { text } of state.requests) {
    const { query } = asRequest(JSON.parse(text))
    seen.set(query, (seen.get(query) ?? 0) + 1)
  }
  return seen
}

const asRequest = Schema.decodeUnknownSync(Schema.Struct({ query: Schema.String }))

describe("one model on two upstreams", () => {
  it("serves 1,000 requests at concurrency 32 without a failure when one upstream is lost on the way", async () => {
    const both = await pair({ rateLimit: { requests: 100_000 } })
    const { first, second } = both
    const total = 1000
    const concurrency = 32
    const answers: Array<typeof Rerank.Response.Type> = []
    let next = 0
    const worker = async (): Promise<void> => {
      for (let index = next++; index < total; index = next++) {
        if (index === 300) first.always({ fault: "hang" })
        const { body, status } = await ask(both, index)
        expect({ status, body }).toMatchObject({ status: 200 })
        answers[index] = asSuccess(body)
      }
    }
    const work = Promise.all(Array.from({ length: concurrency }, worker))
    // It is lost while it has a request of every worker.
    const waiting = () => (next > 300 ? first.state.requests.length - Object.keys(answers).length : 0)
    await vi.waitFor(() => expect(waiting()).toBe(concurrency), { timeout: 20_000, interval: 5 })
    await first.close()
    await work

    const [atFirst, atSecond] = [seenBy(first), seenBy(second)]
    for (const [index, { provider, usage }] of answers.entries()) {
      const query = queryOf(index)
      const served = provider === "cohere" ? atFirst : atSecond
      // Whoever is billed for it has seen it, exactly once, and its price is charged.
      expect([index, served.get(query), usage?.cost]).toEqual([index, 1, provider === "cohere" ? 0.002 : 0.003])
      // The other one has seen it only if it was lost with it.
      if (provider === "cohere") expect(atSecond.has(query)).toBe(false)
    }
    const providers = answers.map(({ provider }) => provider)
    const served = providers.filter((provider) => provider === "cohere").length
    expect(served).toBeGreaterThan(200)
    expect(first.state.requests).toHaveLength(served + concurrency)
    expect(second.state.requests).toHaveLength(total - served)
    const { data } = asKey(await (await currentKey(both.gateway.origin, both.apiKey)).json())
    expect(data.usage).toBeCloseTo(served * 0.002 + (total - served) * 0.003, 6)
  })

  it("answers with 524 within the limit when both are slow", async () => {
    const both = await pair({ deadlines: { rerank: "2 seconds", rerankAttempt: "500 millis" } })
    const { first, second } = both
    for (const double of [first, second]) double.always({ fault: "hang" })
    const startedAt = performance.now()
    const { body, status } = await ask(both, 0)
    // Far below the 20 seconds and more of the default limits, and no matter how slow the machine is.
    expect(performance.now() - startedAt).toBeLessThan(15_000)
    expect(status).toBe(524)
    expect(asFailure(body).error.metadata.attempts).toEqual([
      { provider: "cohere", outcome: "Timeout" },
      { provider: "second", outcome: "Timeout" }
    ])
    for (const double of [first, second]) expect(seenBy(double)).toEqual(new Map([[queryOf(0), 1]]))
  })

  it("answers with 529 when both refuse", async () => {
    const both = await pair()
    const { first, second } = both
    for (const double of [first, second]) double.always({ status: 429, headers: { "retry-after": "7" }, body: {} })
    const { body, status } = await ask(both, 0)
    expect({ status, body }).toMatchObject({ status: 529, body: { error: { metadata: { retry_after: 7 } } } })
    expect(asFailure(body).error.metadata.attempts.map(({ provider }) => provider)).toEqual(["cohere", "second"])
    for (const double of [first, second]) expect(seenBy(double)).toEqual(new Map([[queryOf(0), 1]]))
  })
})
