import { describe, expect, it, onTestFinished } from "vitest"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { firstKey, folder, serve, type Served } from "./Executable.ts"

const apiKey = "co-secret-0123456789"

const ask = async (gateway: Served, path: string, body?: unknown): Promise<unknown> => {
  const key = await firstKey(gateway)
  const response = await fetch(`http://127.0.0.1:${gateway.port}/api/v1${path}`, {
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
  })
  return response.json()
}

describe("the offers of the executable", () => {
  it("include Cohere's models if there is a key, at its price", async () => {
    const double = await startCohereDouble({ keys: [apiKey] })
    onTestFinished(() => double.close())
    const gateway = await serve(folder(), [], { COHERE_API_KEY: apiKey, COHERE_BASE_URL: double.url })
    expect(
      await ask(gateway, "/rerank", { model: "cohere/rerank-v3.5", query: "tea", documents: ["a", "tea"] })
    ).toMatchObject({
      model: "cohere/rerank-v3.5",
      provider: "cohere",
      results: [{ index: 1, document: { text: "tea" } }, { index: 0 }],
      usage: { search_units: 1, cost: 0.002 }
    })
    expect(double.state.requests[0]?.headers["authorization"]).toBe(`Bearer ${apiKey}`)
    expect(JSON.stringify(await ask(gateway, "/models"))).toContain('"id":"cohere/rerank-v3.5"')
    gateway.signal("SIGTERM")
    const { code, stderr, stdout } = await gateway.ended
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain(apiKey)
  })

  it("include Cohere's models for a workspace that stored a provider key, which goes to the operator's URL", async () => {
    const own = "co-of-a-caller"
    const double = await startCohereDouble({ keys: [own] })
    onTestFinished(() => double.close())
    const gateway = await serve(folder(), [], { COHERE_BASE_URL: double.url })
    const [, management = ""] = await gateway.prints(/management key +(mg_mk_\w{38})/)
    const request = { model: "cohere/rerank-v3.5", query: "tea", documents: ["a", "tea"] }
    const refused = await ask(gateway, "/rerank", request)
    expect(refused).toMatchObject({ error: { code: 404 } })
    expect(JSON.stringify(refused)).toContain("Store a provider key for cohere")
    expect(JSON.stringify(await ask(gateway, "/models"))).not.toContain("cohere/")
    const store = (body: object) =>
      fetch(`${gateway.origin}/api/v1/byok`, {
        method: "POST",
        headers: { authorization: `Bearer ${management}`, "content-type": "application/json", connection: "close" },
        body: JSON.stringify({ provider: "cohere", key: own, ...body })
      })
    // A caller does not choose where a key is sent.
    expect((await store({ base_url: "http://127.0.0.1:1" })).status).toBe(400)
    const stored = await store({})
    expect(stored.status).toBe(201)
    expect(await ask(gateway, "/rerank", request)).toMatchObject({ provider: "cohere" })
    expect(double.state.requests[0]?.headers["authorization"]).toBe(`Bearer ${own}`)
    expect(JSON.stringify(await ask(gateway, "/models"))).toContain('"id":"cohere/rerank-v3.5"')
    gateway.signal("SIGTERM")
    const { stderr, stdout } = await gateway.ended
    expect(stdout + stderr).not.toContain(own)
  })

  it("do not include Cohere's models without a key", async () => {
    const gateway = await serve(folder(), [], { COHERE_API_KEY: "" })
    expect(
      await ask(gateway, "/rerank", { model: "cohere/rerank-v3.5", query: "tea", documents: ["a"] })
    ).toMatchObject({
      error: { code: 404 }
    })
    expect(JSON.stringify(await ask(gateway, "/models"))).not.toContain("cohere/")
  })

  it("include the model of a Text Embeddings Inference server by its URL alone, even if it is down", async () => {
    const gateway = await serve(folder(), [], { TEI_BASE_URL: "http://127.0.0.1:9" })
    expect(JSON.stringify(await ask(gateway, "/models"))).toContain('"id":"tei/*"')
    const rerank = { model: "tei/any/model", query: "tea", documents: ["a", "tea"] }
    expect(await ask(gateway, "/rerank", rerank)).toMatchObject({ error: { code: 502 } })
  })
})
