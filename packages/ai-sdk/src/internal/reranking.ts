/** The reranking models. */
import type { JSONObject, RerankingModelV4, SharedV4Warning } from "@ai-sdk/provider"
import { GatewayClient } from "@model-gateway/core/GatewayClient"
import * as Rerank from "@model-gateway/core/Rerank"
import * as Effect from "effect/Effect"
import * as Options from "./options.ts"
import type { Runner } from "./runner.ts"

/** A document that the gateway takes as an object: a text, an image, or both. */
const isDocument = (value: JSONObject): boolean => {
  const { image, text, ...others } = value
  return (
    Object.keys(others).length === 0 &&
    (text === undefined || typeof text === "string") &&
    (image === undefined || (typeof image === "string" && /^(?:https:\/\/|data:image\/)/.test(image))) &&
    (text !== undefined || image !== undefined)
  )
}

/** Other objects are sent as JSON text. */
const documentsOf = (
  values: ReadonlyArray<JSONObject>
): { readonly documents: ReadonlyArray<JSONObject | string>; readonly warnings: Array<SharedV4Warning> } => {
  const documents = values.map((value) => (isDocument(value) ? value : JSON.stringify(value)))
  return {
    documents,
    warnings: documents.some((document) => typeof document === "string")
      ? [{ type: "compatibility", feature: "object documents", details: "Objects are ranked by their JSON text." }]
      : []
  }
}

export const make =
  ({ attempts, run }: Runner) =>
  (modelId: string): RerankingModelV4 => {
    const attempt = attempts()
    return {
      specificationVersion: "v4",
      provider: `${Options.name}.reranking`,
      modelId,
      doRerank: ({ abortSignal, documents: given, headers, providerOptions, query, topN }) =>
        run({ path: Rerank.rerankOperation.path, modelId, abortSignal, headers }, (exchange) => {
          const { documents, warnings } =
            given.type === "text" ? { documents: given.values, warnings: [] } : documentsOf(given.values)
          const rest = { ...Options.fields(providerOptions), model: modelId, query, top_n: topN }
          const { idempotencyKey } = exchange
          return attempt({ identity: given, content: rest, idempotencyKey }, (idempotencyKey) =>
            Effect.flatMap(GatewayClient, (client) =>
              client.call(Rerank.rerankOperation, { idempotencyKey, json: { ...rest, documents } })
            )
          ).pipe(
            Effect.map((body) => ({
              ranking: body.results.map(({ index, relevance_score }) => ({ index, relevanceScore: relevance_score })),
              warnings: [...warnings, ...Options.warningsOf(body.warnings)],
              providerMetadata: {
                [Options.name]: {
                  requestId: Options.requestIdOf(exchange),
                  generationId: body.id,
                  provider: body.provider,
                  cost: body.usage?.cost,
                  usage: body.usage
                }
              },
              response: {
                ...(body.id === undefined ? undefined : { id: body.id }),
                modelId: body.model,
                ...Options.headersOf(exchange),
                body
              }
            }))
          )
        })
    }
  }
