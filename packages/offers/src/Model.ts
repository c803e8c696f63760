/**
 * A model as an upstream offers it: its ids, its price and its time limit.
 *
 * Adapters turn these into offers. They come from the built-in catalog or from a settings file.
 *
 * @since 0.1.0
 */
import type { Duration, Schema } from "effect"
import type { PerSearchUnit, PerSecond, PerToken, PerVideo, Pricing } from "./Pricing.ts"

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
  /** The day on which the model ends at its provider: `2027-02-26`. Default: none is known. */
  readonly expiresOn?: string
  /** Whether the price was read elsewhere than at the provider. Default: false. */
  readonly hasUnconfirmedPrice?: boolean
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

/**
 * What a model has beside its kind and its price.
 *
 * @category models
 * @since 0.1.0
 */
export interface Description extends ModelBase {}

/**
 * The model. Undefined if a model of its kind cannot have this price.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = (kind: Model["kind"], description: Description, pricing: Pricing): Model | undefined => {
  switch (kind) {
    case "rerank":
      return pricing.unit === "search_unit" || pricing.unit === "token" ? { ...description, kind, pricing } : undefined
    case "transcription":
      return pricing.unit === "token" || (pricing.unit === "second" && !("prices" in pricing))
        ? { ...description, kind, pricing }
        : undefined
    case "video":
      return pricing.unit === "search_unit" || pricing.unit === "token" ? undefined : { ...description, kind, pricing }
  }
}

/**
 * The units that a model of each kind may charge by, for messages.
 *
 * @category constants
 * @since 0.1.0
 */
export const units: Readonly<Record<Model["kind"], string>> = {
  rerank: `"search_unit", or "input_tokens" and "output_tokens"`,
  transcription: `"second", or "input_tokens" and "output_tokens"`,
  video: `"second", "video" or "video_tokens"`
}
