import { expect } from "vitest"
import type { Entry } from "./Entry.ts"

const request = {
  model: "sandbox/bm25",
  query: "how do I reset my password",
  documents: ["Billing", "Reset a forgotten password"]
}

export const entries: ReadonlyArray<Entry> = [
  {
    client: "@openrouter/sdk",
    call: "rerank.rerank",
    expectation: "works",
    run: async ({ clients }) => {
      const ranked = await clients.openrouter.rerank.rerank({ requestBody: { ...request, topN: 1 } })
      expect(ranked).toMatchObject({
        model: "sandbox/bm25",
        results: [{ index: 1, document: { text: "Reset a forgotten password" } }],
        usage: { searchUnits: 1, cost: 0.001 }
      })
    }
  }
]
