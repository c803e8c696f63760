/**
 * The models that can be asked: GET `/models`.
 *
 * Beyond the specification, which names models only by their identifiers.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import {
  BadRequest,
  Forbidden,
  InternalServerError,
  NotFound,
  ServiceUnavailable,
  Unauthorized
} from "./GatewayError.ts"
import * as Operation from "./Operation.ts"
import { AudioFormat } from "./Transcription.ts"
import { AspectRatio, Resolution } from "./Video.ts"

/**
 * Which operation takes the model.
 *
 * @since 0.1.0
 */
export const ModelKind = Schema.Literals(["rerank", "transcription", "video"])

/** @since 0.1.0 */
export type ModelKind = typeof ModelKind.Type

/**
 * Credits a unit; a unit that the model is not priced in is left out.
 *
 * @since 0.1.0
 */
export const Pricing = Schema.Struct({
  /** A rerank request of up to 100 documents, and each further 100. */
  search_unit: Schema.optionalKey(Schema.Finite),
  /** A second of audio or video. */
  second: Schema.optionalKey(Schema.Finite)
})

/** @since 0.1.0 */
export type Pricing = typeof Pricing.Type

/**
 * A model, what it costs at its cheapest provider, and what it can do.
 *
 * @since 0.1.0
 */
export const Model = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  kind: ModelKind,
  /** Costs nothing, and counts against the key's free requests of the day. */
  is_free: Schema.Boolean,
  providers: Schema.Array(Schema.String),
  pricing: Pricing,
  capabilities: Schema.Struct({
    /** Rerank: documents may be images. */
    image_documents: Schema.optionalKey(Schema.Boolean),
    /** Transcription: the containers it takes. */
    audio_formats: Schema.optionalKey(Schema.Array(AudioFormat)),
    /** Transcription: it times words. */
    word_timestamps: Schema.optionalKey(Schema.Boolean),
    resolutions: Schema.optionalKey(Schema.Array(Resolution)),
    aspect_ratios: Schema.optionalKey(Schema.Array(AspectRatio)),
    /** Video: the longest, in seconds. */
    max_duration: Schema.optionalKey(Schema.Finite),
    /** Video: images alone are enough. */
    prompt_optional: Schema.optionalKey(Schema.Boolean),
    /** Video: makes sound unless told otherwise. */
    generate_audio: Schema.optionalKey(Schema.Boolean),
    /** Video: takes `upscale_factor` and `creativity`. */
    upscale: Schema.optionalKey(Schema.Boolean)
  })
})

/** @since 0.1.0 */
export type Model = typeof Model.Type

/** @since 0.1.0 */
export const ListResponse = Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(Model) })

/** @since 0.1.0 */
export type ListResponse = typeof ListResponse.Type

/**
 * GET `/models`: 200, or one of 400 401 403 404 500 503.
 *
 * @since 0.1.0
 */
export const listModels = Operation.make("listModels", "GET", "/models", {
  success: ListResponse,
  error: [BadRequest, Unauthorized, Forbidden, NotFound, InternalServerError, ServiceUnavailable]
})
