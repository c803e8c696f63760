import { BrowserClient } from "@model-gateway/browser"
import { Rerank } from "@model-gateway/core"
import { Effect } from "effect"

// On a server: NodeGateway.layer.
const layer = BrowserClient.layer({ tokenEndpoint: "/token" })

export const ranked = Effect.gen(function* () {
  const { results } = yield* Rerank.rerank({
    model: "sandbox/bm25",
    query: "capital of France",
    documents: ["Lyon is in France", "Paris is its capital"]
  })
  return results.map(({ document }) => document.text)
}).pipe(Effect.provide(layer))
