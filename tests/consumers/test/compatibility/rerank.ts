import { expect } from "vitest"
import { aNumber, aText, type Entry, failureOf } from "./Entry.ts"

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
  },
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank: provider preferences that are null",
    expectation: "works",
    run: async ({ clients }) => {
      const provider = { allowFallbacks: null, ignore: null, only: null, order: null, sort: null, zdr: null }
      const ranked = await clients.openrouter.rerank.rerank({ requestBody: { ...request, provider } })
      expect(ranked).toMatchObject({ provider: "sandbox" })
    }
  },
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank: `maxPrice`",
    expectation: "works",
    run: async ({ clients }) => {
      const within = (maxPrice: { readonly request: string }) =>
        clients.openrouter.rerank.rerank({ requestBody: { ...request, provider: { maxPrice } } })
      expect(await within({ request: "0.001" })).toMatchObject({ provider: "sandbox" })
    }
  },
  {
    client: "cohere-ai",
    call: "CohereClientV2.rerank",
    expectation: "works",
    run: async ({ clients }) => {
      const ranked = await clients.cohere.rerank({ ...request, topN: 1, maxTokensPerDoc: 512 })
      expect(ranked).toEqual({
        id: aText,
        results: [{ index: 1, relevanceScore: aNumber }],
        meta: {
          apiVersion: { version: "2" },
          billedUnits: { searchUnits: 1 },
          tokens: { inputTokens: aNumber },
          // The sandbox does not cut documents.
          warnings: ["max_tokens_per_doc: the provider sandbox takes none, so it was ignored."]
        }
      })
    }
  },
  {
    client: "cohere-ai",
    call: "CohereClient.rerank",
    expectation: "works",
    run: async ({ clients }) => {
      const documents = [{ title: "Billing" }, { title: "Help", text: "Reset a forgotten password" }]
      const ranked = await clients.cohereV1.rerank({
        ...request,
        documents,
        rankFields: ["title", "text"],
        returnDocuments: true,
        topN: 1
      })
      expect(ranked).toMatchObject({
        id: aText,
        results: [{ index: 1, relevanceScore: aNumber, document: documents[1] }],
        meta: { apiVersion: { version: "1" }, billedUnits: { searchUnits: 1 } }
      })
    }
  },
  {
    client: "cohere-ai",
    call: "CohereClient.rerank: without a model",
    expectation: { differs: "400: this gateway has no default model" },
    run: async ({ clients }) => {
      const error = await failureOf(clients.cohereV1.rerank(question))
      expect(error).toMatchObject({ statusCode: 400, body: { error: { metadata: { issues: [{ path: "model" }] } } } })
    }
  },
  {
    client: "cohere-ai",
    call: "CohereClient.rerank: `maxChunksPerDoc`",
    expectation: { differs: "400: no model takes it. Use `CohereClientV2` and `maxTokensPerDoc`" },
    run: async ({ clients }) => {
      const error = await failureOf(clients.cohereV1.rerank({ ...request, maxChunksPerDoc: 1 }))
      expect(error).toMatchObject({
        statusCode: 400,
        body: { error: { metadata: { issues: [{ path: "max_chunks_per_doc" }] } } }
      })
    }
  }
]
