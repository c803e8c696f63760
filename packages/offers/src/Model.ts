/**
 * A model as an upstream offers it: its ids, its price and its time limit.
 *
 * Adapters turn these into offers. They come from the built-in catalog or from a settings file.
 *
 * @since 0.1.0
 */
import type { Duration, Schema } from "effect"
import type { PerSearchUnit, PerSecond, PerToken, PerVideo } from "./Pricing.ts"

/** What a model of any kind has. */
interface ModelBase {
  /** The `model` that callers send, such as `cohere/rerank-v3.5`. */
  readonly publicId: string
  /** The model's id at the upstream, such as `rerank-v3.5`. */
  readonly upstreamId: string
  /** Display name. */
  readonly name: string
  /**
   * The longest wait for one call of this offer. Default: the service's limit for the operation.
   */
  readonly timeLimit?: Duration.Duration
  /**
   * What the adapter has to know of the model, such as the resolutions of a video model. Each
   * adapter documents its own. Default: what the adapter says.
   */
  readonly parameters?: Schema.JsonObject
}

/**
 * A model that ranks documents.
 *
 * @category models
 * @since 0.1.0
 */
export interface RerankModel extends ModelBase {
  readonly kind: "rerank"
  readonly pricing: PerSearchUnit | PerToken
}

/**
 * A model that transcribes audio.
 *
 * @category models
 * @since 0.1.0
 */
export interface TranscriptionModel extends ModelBase {
  readonly kind: "transcription"
  readonly pricing: PerSecond | PerToken
}

/**
 * A model that makes videos.
 *
 * @category models
 * @since 0.1.0
 */
export interface VideoModel extends ModelBase {
  readonly kind: "video"
  readonly pricing: PerSecond | PerVideo
}

/**
 * A model of any kind.
 *
 * @category models
 * @since 0.1.0
 */
export type Model = RerankModel | TranscriptionModel | VideoModel
