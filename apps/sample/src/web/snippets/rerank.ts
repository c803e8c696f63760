import { BrowserGateway } from "@model-gateway/browser"
import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

// On a server this line has NodeGateway.layer.
const layer = BrowserGateway.layer({ tokenEndpoint: "/token" })

export const ranked = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const { results } = yield* gateway.rerank({
    model: "sandbox/bm25",
    query: "capital of France",
    documents: ["Lyon is in France", "Paris is its capital"]
  })
  return results.map(({ document }) => document.text)
}).pipe(Effect.provide(layer))
