/**
 * The types of `providerOptions.modelGateway`: the fields of the gateway's requests that the SDK
 * has no argument for, with their names on the wire. The gateway validates them.
 *
 * @since 0.1.0
 */
import type * as Rerank from "@model-gateway/core/Rerank"
import type * as Transcription from "@model-gateway/core/Transcription"
import type * as Video from "@model-gateway/core/Video"

/**
 * Of `rerank`.
 *
 * @example
 * ```ts
 * import { modelGateway, type ModelGatewayRerankingOptions } from "@model-gateway/ai-sdk"
 * import { rerank } from "ai"
 *
 * const { ranking } = await rerank({
 *   model: modelGateway.reranking("cohere/rerank-v3.5"),
 *   query: "pears",
 *   documents: ["apples", "pears"],
 *   providerOptions: { modelGateway: { provider: { sort: "price" } } satisfies ModelGatewayRerankingOptions }
 * })
 * ```
 *
 * @category options
 * @since 0.1.0
 */
export type ModelGatewayRerankingOptions = Omit<Rerank.Request, "model" | "query" | "documents" | "top_n">

/**
 * Of `transcribe`. `timestamp_granularities` replaces `timestampGranularities` of the SDK. Default
 * for `response_format`: `verbose_json` if a provider of the model supports it, else `json`.
 *
 * @category options
 * @since 0.1.0
 */
export type ModelGatewayTranscriptionOptions = Omit<Transcription.Request, "model" | "input_audio">

/**
 * Of `experimental_generateVideo` and `experimental_startVideo`. A field that the SDK has an
 * argument for replaces it.
 *
 * @category options
 * @since 0.1.0
 */
export type ModelGatewayVideoOptions = Omit<Video.Request, "model" | "prompt">

/**
 * Of `uploadFile`.
 *
 * @category options
 * @since 0.1.0
 */
export interface ModelGatewayFilesOptions {
  /** Free text that says what the file is for. 1 to 64 characters. Default: `user_data`. */
  readonly purpose?: string
}
