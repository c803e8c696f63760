/** One rerank call with the client of core over `fetch`: what `ai-sdk` is compared with. */
import { GatewayClient, GatewayConfig, Rerank } from "@model-gateway/core"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"

const config = GatewayConfig.layer({ baseUrl: "https://gateway.example/api/v1", credential: Redacted.make("mg_ek_…") })

const program = Rerank.rerank({ model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }).pipe(
  Effect.provide(GatewayClient.layer.pipe(Layer.provide(config), Layer.provide(FetchHttpClient.layer)))
)

void Effect.runPromise(program).then(console.log)
