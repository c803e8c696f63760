import { describe, expect, it, onTestFinished } from "vitest"
import { startCohereDouble } from "../../../packages/providers/test/support/CohereDouble.mjs"
import { folder, serve, type Served } from "./Executable.ts"

const apiKey = "co-secret-0123456789"

const ask = async (gateway: Served, path: string, body?: unknown): Promise<unknown> => {
  const [, key = ""] = await gateway.prints(/API key +(mg_sk_\w{38})/)
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

  it("do not include Cohere's models without a key", async () => {
    const gateway = await serve(folder(), [], { COHERE_API_KEY: "" })
    expect(
      await ask(gateway, "/rerank", { model: "cohere/rerank-v3.5", query: "tea", documents: ["a"] })
    ).toMatchObject({
      error: { code: 404 }
    })
  })

  it("include the model of a Text Embeddings Inference server by its URL alone, even if it is down", async () => {
    const gateway = await serve(folder(), [], { TEI_BASE_URL: "http://127.0.0.1:9" })
    expect(JSON.stringify(await ask(gateway, "/models"))).toContain('"id":"tei/*"')
    const rerank = { model: "tei/any/model", query: "tea", documents: ["a", "tea"] }
    expect(await ask(gateway, "/rerank", rerank)).toMatchObject({ error: { code: 502 } })
  })
})
