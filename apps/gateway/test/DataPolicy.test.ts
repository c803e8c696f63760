/** What upstreams declare of the data in requests, from a settings file, through the executable. */
import { createClient, NotFound } from "@model-gateway/node/promise"
import { Effect } from "effect"
import { describe, expect, it, onTestFinished } from "vitest"
import { startCohereDouble } from "@model-gateway/test-doubles/CohereDouble"
import { start as startVoyageDouble } from "@model-gateway/test-doubles/plain/Voyage"
import { firstKey, folder, serve } from "./Executable.ts"
import { fileOf, offered, refusal } from "./Loaded.ts"

const key = "co-secret-0123456789"

const request = { model: "acme/rerank", query: "tea", documents: ["coffee", "tea"] }

describe("the data policy of an upstream", () => {
  it("decides which of two upstreams a request may go to, and the client gets the reason of a refusal", async () => {
    const doubles = await Promise.all([startCohereDouble({ keys: [key] }), startVoyageDouble({ keys: [key] })])
    for (const double of doubles) onTestFinished(() => double.close())
    const [first, second] = doubles
    const file = fileOf(
      JSON.stringify({
        upstreams: {
          // Not the public service, so nothing is known of it.
          cohere: { baseUrl: first.url, apiKey: key },
          second: {
            adapter: "voyage",
            baseUrl: `${second.url}/v1`,
            apiKey: key,
            dataPolicy: { training: false, retainsPrompts: true, promptRetentionDays: 7 }
          }
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
    const gateway = await serve(folder(), ["--config", file])
    await using client = await createClient({
      baseUrl: `${gateway.origin}/api/v1`,
      apiKey: await firstKey(gateway)
    })
    expect((await client.rerank(request)).provider).toBe("cohere")
    expect((await client.rerank({ ...request, provider: { data_collection: "deny" } })).provider).toBe("second")
    const refused = client.rerank({ ...request, provider: { zdr: true } })
    await expect(refused).rejects.toBeInstanceOf(NotFound)
    await expect(refused).rejects.toThrow(
      'no provider of the model "acme/rerank" declares zero data retention, as provider.zdr requires'
    )
    expect([first.state.requests.length, second.state.requests.length]).toEqual([1, 1])
    const { data: listed } = await client.listProviders()
    expect(listed.map(({ data_policy, slug }) => [slug, data_policy])).toEqual([
      ["cohere", undefined],
      ["sandbox", { training: false, retains_prompts: false, prompt_retention_days: null }],
      ["second", { training: false, retains_prompts: true, prompt_retention_days: 7 }]
    ])
  })

  it("is that of the catalog at the public service, and nothing at another URL", async () => {
    const policyOf = async (environment: Record<string, string>, upstreams: object = {}) => {
      const { offers } = await Effect.runPromise(offered(fileOf(JSON.stringify({ upstreams })), environment))
      return offers.find(({ provider }) => provider === "cohere")?.dataPolicy
    }
    const documented = { training: true, retainsPrompts: true, promptRetentionDays: 30 }
    expect(await policyOf({ COHERE_API_KEY: key })).toEqual(documented)
    expect(await policyOf({ COHERE_API_KEY: key, COHERE_BASE_URL: "https://rerank.internal" })).toBeUndefined()
    const contract = { training: false, retainsPrompts: false }
    expect(await policyOf({ COHERE_API_KEY: key }, { cohere: { dataPolicy: contract } })).toEqual(contract)
  })

  it("is refused if it is not valid", async () => {
    expect(
      await refusal(fileOf(`{ "upstreams": { "cohere": { "dataPolicy": { "promptRetentionDays": 0 } } } }`))
    ).toMatch(/"upstreams\.cohere\.dataPolicy\.promptRetentionDays" on line 1 of .* is not a number of days above 0\.$/)
  })
})
