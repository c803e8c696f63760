/**
 * One model on two upstreams, from a settings file, through the executable: what callers get when
 * an upstream is lost, slow or refusing, and what the gateway records of it.
 */
import * as Generations from "@model-gateway/core/Generations"
import * as Rerank from "@model-gateway/core/Rerank"
import { Schema } from "effect"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { start as startVoyageDouble } from "@model-gateway/test-doubles/plain/Voyage"
import { currentKey, firstKey, folder, serve, type Served } from "./Executable.ts"
import { fileOf } from "./Loaded.ts"

const key = "co-secret-0123456789"

type Double = Awaited<ReturnType<typeof startCohereDouble>>

interface Pair {
  readonly gateway: Served
  readonly apiKey: string
  readonly managementKey: string
  readonly first: Double
  readonly second: Double
}

/** A gateway with one model on the doubles of two adapters. */
const pair = async (settings: Readonly<Record<string, unknown>> = {}): Promise<Pair> => {
  const doubles = await Promise.all([startCohereDouble({ keys: [key] }), startVoyageDouble({ keys: [key] })])
  for (const double of doubles) onTestFinished(() => double.close())
  const [first, second] = doubles
  const file = fileOf(
    JSON.stringify({
      ...settings,
      upstreams: {
        cohere: { baseUrl: first.url, apiKey: { env: "FIRST_KEY" } },
        second: { adapter: "voyage", baseUrl: `${second.url}/v1`, apiKey: { env: "FIRST_KEY" } }
      },
      models: {
        "acme/rerank": {
          offers: [
            { upstream: "cohere", model: "rerank-v3.5", price: { search_unit: 0.002 } },
            { upstream: "second", model: "rerank-2.5", price: { input_tokens: 5 } }
          ]
        }
      }
    })
  )
  const gateway = await serve(folder(), ["--config", file], { FIRST_KEY: key })
  const apiKey = await firstKey(gateway)
  const [, managementKey = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
  return { gateway, apiKey, managementKey, first, second }
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

const asEntries = Schema.decodeUnknownSync(Generations.ListResponse)

/** The whole request log, newest first. */
const recorded = async ({ gateway, managementKey }: Pair): Promise<ReadonlyArray<Generations.Entry>> => {
  const entries: Array<Generations.Entry> = []
  let after: string | null = ""
  while (after !== null) {
    const page = after === "" ? "" : `&after=${encodeURIComponent(after)}`
    const response = await fetch(`${gateway.origin}/api/v1/generations?limit=1000${page}`, {
      headers: { authorization: `Bearer ${managementKey}` }
    })
    const { data, next } = asEntries(await response.json())
    entries.push(...data)
    after = next
  }
  return entries
}

/** Which upstreams have seen a request, as its attempts say. */
const reached = ({ attempts }: Generations.Entry): ReadonlyArray<string> =>
  attempts
    .filter(({ outcome }) => outcome !== "CircuitOpen" && outcome !== "Unavailable")
    .map(({ provider }) => provider)

/** The log has the failure as the caller got it, and each upstream has seen the request once. */
const expectFailure = async (both: Pair, status: number, body: unknown): Promise<void> => {
  for (const double of [both.first, both.second]) expect(seenBy(double)).toEqual(new Map([[queryOf(0), 1]]))
  const [entry, ...others] = await recorded(both)
  expect(others).toEqual([])
  expect(entry).toMatchObject({ error_status: status, cost: 0 })
  expect(entry?.attempts).toMatchObject(asFailure(body).error.metadata.attempts)
}

describe("one model on two upstreams", () => {
  it("serves 1,000 requests at concurrency 32 without a failure when one upstream is lost on the way, and records what each upstream saw [spec A1]", async () => {
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
    const entries = new Map((await recorded(both)).map((entry) => [entry.id, entry]))
    expect(entries.size).toBe(total)
    for (const [index, { id, provider, usage }] of answers.entries()) {
      const entry = entries.get(id)
      if (entry === undefined) throw new Error(`request ${index} is not in the log`)
      const query = queryOf(index)
      const seen = [
        ...Array.from({ length: atFirst.get(query) ?? 0 }, () => "cohere"),
        ...Array.from({ length: atSecond.get(query) ?? 0 }, () => "second")
      ]
      expect([index, reached(entry)]).toEqual([index, seen])
      expect(entry).toMatchObject({ status: "completed", error_status: null, provider, cost: usage?.cost })
      const last = entry.attempts.at(-1)
      expect(last).toMatchObject({ provider, outcome: "Success", billed: "yes" })
      expect(seen.at(-1)).toBe(provider)
    }
    const served = answers.filter(({ provider }) => provider === "cohere").length
    expect(served).toBeGreaterThan(200)
    expect(first.state.requests).toHaveLength(served + concurrency)
    expect(second.state.requests).toHaveLength(total - served)
    const { data } = asKey(await (await currentKey(both.gateway.origin, both.apiKey)).json())
    expect(data.usage).toBeCloseTo(
      answers.reduce((sum, { usage }) => sum + (usage?.cost ?? 0), 0),
      6
    )
  })

  it("answers with 524 within the limit when both are slow", async () => {
    const both = await pair({ deadlines: { rerank: "2 seconds", rerankAttempt: "500 millis" } })
    const { first, second } = both
    for (const double of [first, second]) double.always({ fault: "hang" })
    const startedAt = performance.now()
    const { body, status } = await ask(both, 0)
    // Far below the default limits of 20 seconds and more, however slow the machine is.
    expect(performance.now() - startedAt).toBeLessThan(15_000)
    expect(status).toBe(524)
    expect(asFailure(body).error.metadata.attempts).toEqual([
      { provider: "cohere", outcome: "Timeout" },
      { provider: "second", outcome: "Timeout" }
    ])
    await expectFailure(both, status, body)
  })

  it("answers with 529 when both refuse", async () => {
    const both = await pair()
    const { first, second } = both
    for (const double of [first, second]) double.always({ status: 429, headers: { "retry-after": "7" }, body: {} })
    const { body, status } = await ask(both, 0)
    expect({ status, body }).toMatchObject({ status: 529, body: { error: { metadata: { retry_after: 7 } } } })
    expect(asFailure(body).error.metadata.attempts.map(({ provider }) => provider)).toEqual(["cohere", "second"])
    await expectFailure(both, status, body)
  })
})
