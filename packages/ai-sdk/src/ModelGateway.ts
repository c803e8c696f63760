/**
 * The provider: models and files of a gateway for the functions of the AI SDK.
 *
 * @since 0.1.0
 */
import {
  type EmbeddingModelV4,
  type Experimental_VideoModelV4,
  type FilesV4,
  type ImageModelV4,
  type LanguageModelV4,
  NoSuchModelError,
  type ProviderV4,
  type RerankingModelV4,
  type TranscriptionModelV4
} from "@ai-sdk/provider"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Files from "./internal/files.ts"
import * as Reranking from "./internal/reranking.ts"
import * as Runner from "./internal/runner.ts"
import * as Transcription from "./internal/transcription.ts"
import * as Video from "./internal/video.ts"
import type { ModelGatewayClientSettings, ModelGatewayProviderSettings } from "./ModelGatewayProviderSettings.ts"

/**
 * A provider of the AI SDK. Its methods need no `this`, so that a provider can be spread and its
 * methods be passed on. Models are identified as GET `/models` lists them, such as
 * `cohere/rerank-v3.5`.
 *
 * @category models
 * @since 0.1.0
 */
export interface ModelGatewayProvider extends ProviderV4 {
  /** For `rerank`. */
  readonly reranking: (modelId: string) => RerankingModelV4
  /** The same as `reranking`: the SDK's registry calls it. */
  readonly rerankingModel: (modelId: string) => RerankingModelV4
  /** For `transcribe`. */
  readonly transcription: (modelId: string) => TranscriptionModelV4
  /** The same as `transcription`: the SDK's registry calls it. */
  readonly transcriptionModel: (modelId: string) => TranscriptionModelV4
  /**
   * For `experimental_generateVideo`, `experimental_startVideo` and
   * `experimental_getVideoStatus`.
   */
  readonly video: (modelId: string) => Experimental_VideoModelV4
  /** The same as `video`: the SDK's registry calls it. */
  readonly videoModel: (modelId: string) => Experimental_VideoModelV4
  /** For `uploadFile`: the files that the gateway stores. */
  readonly files: () => FilesV4
  /** Throws `NoSuchModelError`: a gateway has no such models. */
  readonly languageModel: (modelId: string) => LanguageModelV4
  /** Throws `NoSuchModelError`: a gateway has no such models. */
  readonly embeddingModel: (modelId: string) => EmbeddingModelV4
  /** Throws `NoSuchModelError`: a gateway has no such models. */
  readonly imageModel: (modelId: string) => ImageModelV4
}

const none =
  (modelType: "languageModel" | "embeddingModel" | "imageModel") =>
  (modelId: string): never => {
    throw new NoSuchModelError({ modelId, modelType })
  }

const make = (settings: ModelGatewayClientSettings, client: Effect.Effect<HttpClient.HttpClient>) => {
  const runner = Runner.make(settings, client)
  const reranking = Reranking.make(runner)
  const transcription = Transcription.make(runner)
  const video = Video.make(runner)
  const files = Files.make(runner)
  return {
    specificationVersion: "v4",
    reranking,
    rerankingModel: reranking,
    transcription,
    transcriptionModel: transcription,
    video,
    videoModel: video,
    files: () => files,
    languageModel: none("languageModel"),
    embeddingModel: none("embeddingModel"),
    imageModel: none("imageModel")
  } satisfies ModelGatewayProvider
}

/**
 * Makes a provider. Nothing is sent, and no setting is read from the environment, before the first
 * call of a model.
 *
 * @example
 * ```ts
 * import { createModelGateway } from "@model-gateway/ai-sdk"
 * import { rerank } from "ai"
 *
 * const gateway = createModelGateway({
 *   baseURL: "https://gateway.example/api/v1",
 *   apiKey: "mg_sk_…"
 * })
 *
 * const { rerankedDocuments } = await rerank({
 *   model: gateway.reranking("cohere/rerank-v3.5"),
 *   query: "talk about rain",
 *   documents: ["sunny day at the beach", "rainy afternoon in the city"]
 * })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const createModelGateway = (settings: ModelGatewayProviderSettings = {}): ModelGatewayProvider => {
  const client = Effect.provide(HttpClient.HttpClient, FetchHttpClient.layer)
  return make(
    settings,
    settings.fetch === undefined ? client : Effect.provideService(client, FetchHttpClient.Fetch, settings.fetch)
  )
}

/**
 * Makes a provider over an `HttpClient` of Effect, instead of `fetch`: that of
 * `@model-gateway/node`, with its pool of connections and its proxies, or the scripted gateway of
 * `@model-gateway/testing` in a test.
 *
 * @example
 * ```ts
 * import { fromHttpClient } from "@model-gateway/ai-sdk"
 * import { Effect } from "effect"
 * import { FetchHttpClient, HttpClient } from "effect/http"
 *
 * const gateway = Effect.map(HttpClient.HttpClient, (client) => fromHttpClient(client, { apiKey: "mg_sk_…" })).pipe(
 *   Effect.provide(FetchHttpClient.layer)
 * )
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const fromHttpClient = (
  client: HttpClient.HttpClient,
  settings: ModelGatewayClientSettings = {}
): ModelGatewayProvider => make(settings, Effect.succeed(client))

/**
 * The provider that is configured by the environment: `MODEL_GATEWAY_API_KEY`,
 * `MODEL_GATEWAY_BASE_URL`, `MODEL_GATEWAY_WORKSPACE_ID` and `MODEL_GATEWAY_WIRE_NAMES`, which are
 * read by the first call.
 *
 * @example
 * ```ts
 * import { modelGateway } from "@model-gateway/ai-sdk"
 * import { transcribe } from "ai"
 *
 * declare const audio: Uint8Array
 *
 * const { text } = await transcribe({ model: modelGateway.transcription("openai/whisper-1"), audio })
 * ```
 *
 * @category constructors
 * @since 0.1.0
 */
export const modelGateway: ModelGatewayProvider = createModelGateway()
