import { BrowserGateway } from "@model-gateway/browser"
import { Gateway } from "@model-gateway/core"
import { Effect } from "effect"

export const ranked = Effect.gen(function* () {
  const gateway = yield* Gateway.Gateway
  const { results } = yield* gateway.rerank({
    model: "sandbox/bm25",
    query: "capital of France",
    documents: ["Berlin is in Germany", "Paris is the capital of France"]
  })
  return results.map(({ document, relevance_score }) => [relevance_score, document.text])
}).pipe(Effect.provide(BrowserGateway.layer({ tokenEndpoint: "/token" })))
