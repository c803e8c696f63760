/**
 * Acme's rerank models.
 *
 * Protocol: https://acme.example/docs/rank. Prices: https://acme.example/pricing.
 */
import { type Adapter, InvalidModel } from "@model-gateway/offers/Adapter"
import * as Ranking from "@model-gateway/offers/Ranking"
import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
import { Effect, Schema } from "effect"
import { HttpClientRequest } from "effect/http"

const Response = Schema.Struct({
  ranking: Schema.Array(Schema.Struct({ position: Schema.Natural, score: Schema.Finite })),
  tokens: Schema.optionalKey(Ranking.Tokens)
})

export const adapter: Adapter = {
  name: "acme",
  title: "Acme",
  variables: { apiKey: "ACME_API_KEY", baseUrl: "ACME_BASE_URL" },
  defaultBaseUrl: "https://api.acme.example/v1",
  credential: "required",
  kinds: ["rerank"],
  models: [
    {
      kind: "rerank",
      publicId: "acme/ranker-1",
      upstreamId: "ranker-1",
      name: "Acme Ranker 1",
      pricing: { unit: "token", inputMicroCredits: 50_000, outputMicroCredits: 0 }
    }
  ],
  offers: Effect.fnUntraced(function* (upstream, models) {
    const http = yield* UpstreamHttp.make({ baseUrl: upstream.baseUrl, timeLimit: upstream.timeLimit })
    return yield* Effect.forEach(
      models,
      Effect.fnUntraced(function* (model) {
        if (model.kind !== "rerank") return yield* new InvalidModel({ model, message: "must be a rerank model" })
        const limits = yield* Ranking.limitsOf(model, { documentsPerCall: 500, scores: "probability" })
        return Ranking.offer({
          upstream,
          model,
          limits,
          maxTokens: { query: 1000, pair: 8000 },
          call: ({ query }, { documents, top_n }, credential) => {
            const body = { model: model.upstreamId, query, texts: documents, limit: top_n }
            const request = HttpClientRequest.bodyJsonUnsafe(HttpClientRequest.post("rank"), body)
            return Effect.map(
              http.json({ request, credential, model: model.upstreamId }, Response),
              ({ ranking, tokens }) => ({
                results: ranking.map(({ position, score }) => ({ index: position, relevance_score: score })),
                total_tokens: tokens
              })
            )
          }
        })
      })
    )
  })
}
