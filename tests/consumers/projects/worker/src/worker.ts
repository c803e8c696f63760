/**
 * A worker as Cloudflare's runtime wants it: one rerank call for each request, over the runtime's
 * own `fetch`.
 */
import { Gateway, GatewayConfig } from "@model-gateway/core"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"

interface Bindings {
  readonly MODEL_GATEWAY_BASE_URL: string
  readonly MODEL_GATEWAY_API_KEY: string
}

const layer = (bindings: Bindings) =>
  Gateway.layer.pipe(
    Layer.provide(
      GatewayConfig.layer({
        baseUrl: bindings.MODEL_GATEWAY_BASE_URL,
        credential: Redacted.make(bindings.MODEL_GATEWAY_API_KEY)
      })
    ),
    Layer.provide(FetchHttpClient.layer)
  )

const best = (query: string) =>
  Effect.gen(function* () {
    const gateway = yield* Gateway.Gateway
    const { results } = yield* gateway.rerank({
      model: "sandbox/bm25",
      query,
      documents: ["Billing", "Reset a forgotten password"],
      top_n: 1
    })
    return new Response(results[0]?.document.text ?? "nothing found")
  }).pipe(Effect.catch((error) => Effect.succeed(new Response(`${error._tag}: ${error.message}`, { status: 502 }))))

export default {
  fetch: (request: Request, bindings: Bindings): Promise<Response> => {
    const query = new URL(request.url).searchParams.get("q") ?? ""
    return Effect.runPromise(best(query).pipe(Effect.provide(layer(bindings))))
  }
}
