import { expect } from "vitest"
import { type Entry, failureOf } from "./Entry.ts"

const request = { model: "sandbox/bm25", query: "tea", documents: ["green tea", "coffee"] }

const none = "019ab1c2-0000-7f50-8123-456789abcdef"

const today = () => new Date().toISOString().slice(0, 10)

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "generations.getGeneration",
    expectation: "works",
    run: async ({ clients }) => {
      const ranked = await clients.openrouter.rerank.rerank({ requestBody: request })
      const id = typeof ranked === "string" ? "" : (ranked.id ?? "")
      const { data } = await clients.openrouter.generations.getGeneration({ id })
      expect(data).toMatchObject({
        id,
        apiType: "rerank",
        model: "sandbox/bm25",
        providerName: "sandbox",
        providerResponses: [{ providerName: "sandbox", status: 200, isByok: false }],
        isByok: false,
        totalCost: 0.001,
        usage: 0.001,
        upstreamInferenceCost: null,
        dataRegion: "global",
        cancelled: false
      })
      expect(data.latency).toBeGreaterThanOrEqual(data.generationTime ?? Number.NaN)
      expect(data.createdAt.startsWith(today().slice(0, 4))).toBe(true)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "generations.getGeneration: unknown id",
    expectation: "works",
    run: async ({ clients }) => {
      expect(await failureOf(clients.openrouter.generations.getGeneration({ id: none }))).toMatchObject({
        name: "NotFoundResponseError",
        statusCode: 404
      })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "analytics.getUserActivity",
    expectation: "works",
    run: async ({ clients, management }) => {
      await clients.openrouter.rerank.rerank({ requestBody: request })
      const { data } = await management.openrouter.analytics.getUserActivity({ date: today(), groupBy: "workspace" })
      const item = data.find(({ model }) => model === "sandbox/bm25")
      expect(item).toMatchObject({
        modelPermaslug: "sandbox/bm25",
        providerName: "sandbox",
        byokUsageInference: 0,
        reasoningTokens: 0
      })
      expect(item?.workspaceId).toMatch(/^[\da-f-]{36}$/)
    }
  },
  {
    client: "@openrouter/sdk",
    call: "analytics.getUserActivity: of one key",
    expectation: "works",
    run: async ({ clientsWith, createKey, management }) => {
      const key = await createKey()
      await clientsWith(key).openrouter.rerank.rerank({ requestBody: request })
      const apiKeyHash = await hashOf(key)
      const { data } = await management.openrouter.analytics.getUserActivity({ apiKeyHash })
      expect(data).toMatchObject([{ date: today(), model: "sandbox/bm25", requests: 1, usage: 0.001 }])
    }
  },
  {
    client: "@openrouter/sdk",
    call: "analytics.getUserActivity: of one user",
    expectation: { differs: "400: requests belong to API keys, not to users. Use `apiKeyHash`" },
    run: async ({ management }) => {
      expect(await failureOf(management.openrouter.analytics.getUserActivity({ userId: "u" }))).toMatchObject({
        name: "BadRequestResponseError",
        statusCode: 400
      })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "analytics.getUserActivity: ordinary key",
    expectation: "works",
    run: async ({ clients }) => {
      expect(await failureOf(clients.openrouter.analytics.getUserActivity())).toMatchObject({
        name: "ForbiddenResponseError",
        statusCode: 403
      })
    }
  }
]

/** The hash that names a key: its SHA-256 in hexadecimal digits. */
const hashOf = async (key: string): Promise<string> =>
  Buffer.from(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key))).toString("hex")
