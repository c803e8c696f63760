import { expect } from "vitest"
import { aNumber, aText, type Entry } from "./Entry.ts"

const question = { query: "how do I reset my password", documents: ["Billing", "Reset a forgotten password"] }
const request = { model: "sandbox/bm25", ...question }

const red = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mO4IycHRAwQCgAhpgRhpxvThgAAAABJRU5ErkJggg=="
const blue = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mPQqPgARAwQCgAorgZB5oZKJwAAAABJRU5ErkJggg=="

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank",
    expectation: "works",
    run: async ({ clients }) => {
      const ranked = await clients.openrouter.rerank.rerank({
        requestBody: { ...request, topN: 1, user: "user-1", sessionId: "session-1", trace: { traceId: "trace-1" } }
      })
      expect(ranked).toEqual({
        id: aText,
        model: "sandbox/bm25",
        provider: "sandbox",
        results: [{ index: 1, relevanceScore: aNumber, document: { text: "Reset a forgotten password" } }],
        usage: { searchUnits: 1, cost: 0.001, totalTokens: aNumber }
      })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank: images",
    expectation: "works",
    run: async ({ clients }) => {
      const images = [red, blue].map((data) => ({ image: `data:image/png;base64,${data}` }))
      const ranked = await clients.openrouter.rerank.rerank({
        requestBody: { model: "sandbox/colors", query: "a blue sky", documents: images }
      })
      expect(ranked).toMatchObject({ results: [{ index: 1, document: images[1] }, { index: 0 }] })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank: provider preferences",
    expectation: "works",
    run: async ({ clients }) => {
      const ranked = await clients.openrouter.rerank.rerank({
        requestBody: { ...request, provider: { order: ["sandbox"], allowFallbacks: false, sort: "price" } }
      })
      expect(ranked).toMatchObject({ provider: "sandbox" })
    }
  }
]
