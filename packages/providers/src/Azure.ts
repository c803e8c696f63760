/**
 * Transcription and rerank models of Azure: those of OpenAI and of Cohere in Microsoft Foundry,
 * under the names of one's own deployments.
 *
 * Protocol of transcriptions: https://learn.microsoft.com/en-us/azure/foundry/openai/reference (by
 * deployment and version) and https://learn.microsoft.com/en-us/azure/foundry/openai/latest
 * (`/openai/v1`). Of rerank: https://docs.cohere.com/docs/cohere-on-microsoft-azure. The requests and
 * responses are those of OpenAI and Cohere.
 *
 * @since 0.1.0
 */
import { Effect, Schema } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import type { HttpClient } from "effect/http"
import { type Adapter, InvalidModel } from "@model-gateway/offers/Adapter"
import * as Catalog from "./Catalog.ts"
import * as Cohere from "./Cohere.ts"
import type { TranscriptionModel } from "@model-gateway/offers/Model"
import * as OpenAi from "./OpenAi.ts"

const ApiVersion = Schema.String.check(
  Schema.isPattern(/^\d{4}-\d\d-\d\d(?:-preview)?$/, { expected: "a version such as 2024-10-21" })
)

/**
 * What `parameters` of a transcription model may say.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Parameters = Schema.Struct({
  ...OpenAi.Parameters.fields,
  /**
   * The `api-version` of a call by deployment, such as `2024-10-21` or `2025-04-01-preview`.
   * Default: none, and the call goes to `/openai/v1`, which has no versions.
   */
  apiVersion: Schema.optionalKey(ApiVersion)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Parameters = typeof Parameters.Type

const isApiVersion = Schema.is(ApiVersion)

/** The path of the operation, and the model as OpenAI's adapter knows it. */
const pathOf = Effect.fnUntraced(function* (model: TranscriptionModel) {
  const { apiVersion, ...parameters } = model.parameters ?? {}
  if (apiVersion === undefined) return { path: "openai/v1/audio/transcriptions", model }
  if (!isApiVersion(apiVersion)) {
    const message = "has invalid parameters: apiVersion must be a version such as 2024-10-21"
    return yield* new InvalidModel({ model, message })
  }
  const deployment = encodeURIComponent(model.upstreamId)
  return {
    path: `openai/deployments/${deployment}/audio/transcriptions?api-version=${apiVersion}`,
    model: { ...model, parameters }
  }
})

/**
 * Azure: `AZURE_OPENAI_API_KEY`, and `AZURE_OPENAI_ENDPOINT`, the URL of a resource, such as
 * `https://acme.openai.azure.com` or `https://acme.services.ai.azure.com`. There are no built-in
 * models: the id of a model at the upstream is the name of a deployment.
 *
 * `parameters` of a transcription model: {@link Parameters}. Of a rerank model: as those of Cohere.
 *
 * @category adapters
 * @since 0.1.0
 */
export const adapter: Adapter<HttpClient.HttpClient | SecureRandom> = {
  name: "azure",
  title: "Azure",
  variables: { apiKey: "AZURE_OPENAI_API_KEY", baseUrl: "AZURE_OPENAI_ENDPOINT" },
  defaultBaseUrl: undefined,
  credential: "required",
  kinds: ["rerank", "transcription"],
  ...Catalog.of("azure"),
  offers: Effect.fnUntraced(function* (upstream, models) {
    const offers = yield* Effect.forEach(
      models,
      Effect.fnUntraced(function* (model) {
        if (model.kind === "rerank") {
          const baseUrl = `${upstream.baseUrl.replace(/\/$/, "")}/providers/cohere`
          // All models of Cohere score from 0 to 1.
          const parameters = Object.assign({ scores: "probability" }, model.parameters)
          return yield* Cohere.adapter.offers({ ...upstream, baseUrl }, [{ ...model, parameters }])
        }
        if (model.kind !== "transcription") {
          return yield* new InvalidModel({ model, message: "must be a rerank or transcription model" })
        }
        const { model: deployed, path } = yield* pathOf(model)
        return yield* OpenAi.offers({
          path,
          authentication: { header: "api-key" },
          documented: ["chunking_strategy", "include", "language", "prompt", "temperature"],
          reasonOf: OpenAi.reasonOf
        })(upstream, [deployed])
      })
    )
    return offers.flat()
  })
}
