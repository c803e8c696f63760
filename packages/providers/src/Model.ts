/**
 * What the service must know about a model before it calls it: kind, price and limits. Capabilities
 * have the same names as in the response of GET `/models`.
 *
 * @since 0.1.0
 */

import type { AudioFormat } from "@model-gateway/core/Transcription"
import type { AspectRatio, Resolution } from "@model-gateway/core/Video"

/**
 * The price of one unit in integer micro-credits (1 credit = 1,000,000 micro-credits).
 *
 * @since 0.1.0
 */
export interface Pricing {
  readonly unit: "search_unit" | "second"
  readonly microCredits: number
}

interface ModelBase {
  /** The `model` that callers send. */
  readonly id: string
  /** Display name. */
  readonly name: string
  /** The provider that serves it. */
  readonly provider: string
  /** Whether requests count toward the key's daily free requests instead of its credits. */
  readonly free: boolean
}

/**
 * A model that ranks documents.
 *
 * @since 0.1.0
 */
export interface RerankModel extends ModelBase {
  readonly kind: "rerank"
  readonly pricing: Pricing & { readonly unit: "search_unit" }
  readonly capabilities: {
    /** Whether documents may be images. */
    readonly image_documents: boolean
  }
}

/**
 * A model that transcribes audio.
 *
 * @since 0.1.0
 */
export interface TranscriptionModel extends ModelBase {
  readonly kind: "transcription"
  readonly pricing: Pricing & { readonly unit: "second" }
  readonly capabilities: {
    /** The supported audio formats. */
    readonly audio_formats: ReadonlyArray<AudioFormat>
    /** Whether it supports `response_format: "verbose_json"`. */
    readonly verbose: boolean
    /** Whether it returns word timestamps. */
    readonly word_timestamps: boolean
  }
}

/**
 * A model that makes videos.
 *
 * @since 0.1.0
 */
export interface VideoModel extends ModelBase {
  readonly kind: "video"
  readonly pricing: Pricing & { readonly unit: "second" }
  readonly capabilities: {
    readonly resolutions: ReadonlyArray<Resolution>
    readonly aspect_ratios: ReadonlyArray<AspectRatio>
    /** Duration in seconds if the request has none. */
    readonly default_duration: number
    /** Maximum duration in seconds. */
    readonly max_duration: number
    /** Whether images without a prompt are enough. */
    readonly prompt_optional: boolean
    /** Whether it supports `frame_images`. */
    readonly frame_images: boolean
    /** Whether it generates audio by default. */
    readonly generate_audio: boolean
    /**
     * Whether it supports `upscale_factor` and `creativity`, and upscales a given video instead of
     * making one.
     */
    readonly upscale: boolean
  }
}

/**
 * Any model. `kind` and `id` together are unique: one id may name a model of each kind.
 *
 * @since 0.1.0
 */
export type Model = RerankModel | TranscriptionModel | VideoModel

/** @since 0.1.0 */
export type ModelKind = Model["kind"]

/**
 * The search units of a rerank request: 1 for up to 100 documents, and 1 more for each further 100.
 *
 * @example
 * ```ts
 * import { searchUnits } from "@model-gateway/providers/Model"
 *
 * searchUnits(100) // 1
 * searchUnits(101) // 2
 * ```
 *
 * @since 0.1.0
 */
export const searchUnits = (documents: number): number => Math.max(1, Math.ceil(documents / 100))

/**
 * The price of a number of units in integer micro-credits, rounded up.
 *
 * @example
 * ```ts
 * import { cost } from "@model-gateway/providers/Model"
 *
 * cost({ unit: "second", microCredits: 100 }, 1.504) // 151
 * ```
 *
 * @since 0.1.0
 */
export const cost = (pricing: Pricing, units: number): number => {
  // Ignore the float error before rounding up: 0.29 * 100 is slightly above the integer.
  const exact = pricing.microCredits * units
  const nearest = Math.round(exact)
  return Math.abs(exact - nearest) < 1e-6 ? nearest : Math.ceil(exact)
}
