/**
 * What the service needs to know of a model before it sends a request there: its kind, its price, its limits.
 *
 * @since 0.1.0
 */

/**
 * The audio formats of `input_audio.format`.
 *
 * @since 0.1.0
 */
export const audioFormats = ["wav", "mp3", "flac", "m4a", "ogg", "webm", "aac"] as const

/** @since 0.1.0 */
export type AudioFormat = (typeof audioFormats)[number]

/**
 * The resolutions of a video request.
 *
 * @since 0.1.0
 */
export const resolutions = ["480p", "720p", "768p", "1080p", "1K", "2K", "4K"] as const

/** @since 0.1.0 */
export type Resolution = (typeof resolutions)[number]

/**
 * The aspect ratios of a video request.
 *
 * @since 0.1.0
 */
export const aspectRatios = ["16:9", "9:16", "1:1", "4:3", "3:4", "3:2", "2:3", "21:9", "9:21"] as const

/** @since 0.1.0 */
export type AspectRatio = (typeof aspectRatios)[number]

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
    /** Whether documents may be images. */
    readonly images: boolean
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
    readonly formats: ReadonlyArray<AudioFormat>
    /** Whether `response_format: "verbose_json"` is supported. */
    readonly verbose: boolean
    /** Whether word times can be asked for. */
    readonly wordTimestamps: boolean
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
    readonly aspectRatios: ReadonlyArray<AspectRatio>
    /** The length in seconds when a request names none. */
    readonly defaultDuration: number
    /** The greatest length in seconds. */
    readonly maxDuration: number
    readonly promptRequired: boolean
    readonly frameImages: boolean
    readonly generateAudio: boolean
    /** Whether it enlarges a given video (`creativity`, `upscale_factor`) instead of making one. */
    readonly upscaling: boolean
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
