/**
 * What the service needs to know of a model before it sends a request there: its kind, its price, its limits.
 * Capabilities are named as in the answer of GET `/models`.
 *
 * @since 0.1.0
 */

import type { AudioFormat } from "@model-gateway/core/Transcription"
import type { AspectRatio, Resolution } from "@model-gateway/core/Video"

/**
 * What one unit costs, in integer micro-credits (1 credit = 1 000 000 micro-credits).
 *
 * @since 0.1.0
 */
export interface Pricing {
  readonly unit: "search_unit" | "second"
  readonly microCredits: number
}

interface ModelBase {
  /** As callers write it in `model`. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** The provider that serves it. */
  readonly provider: string
  /** Counts against the key's free requests a day instead of its credits. */
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
    /** Documents may be images. */
    readonly image_documents: boolean
  }
}

/**
 * A model that turns audio into text.
 *
 * @since 0.1.0
 */
export interface TranscriptionModel extends ModelBase {
  readonly kind: "transcription"
  readonly pricing: Pricing & { readonly unit: "second" }
  readonly capabilities: {
    /** The containers it takes. */
    readonly audio_formats: ReadonlyArray<AudioFormat>
    /** It can answer `response_format: "verbose_json"`. */
    readonly verbose: boolean
    /** It times words. */
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
    /** Seconds when a request names none. */
    readonly default_duration: number
    /** The longest, in seconds. */
    readonly max_duration: number
    /** Images alone are enough. */
    readonly prompt_optional: boolean
    /** It takes `frame_images`. */
    readonly frame_images: boolean
    /** It makes sound unless told otherwise. */
    readonly generate_audio: boolean
    /** It takes `upscale_factor` and `creativity`, and enlarges a given video instead of making one. */
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
  // A product such as 0.29 * 100 lands a hair above the integer; that hair must not cost a micro-credit.
  const exact = pricing.microCredits * units
  const nearest = Math.round(exact)
  return Math.abs(exact - nearest) < 1e-6 ? nearest : Math.ceil(exact)
}
