/**
 * The available models: GET `/models`.
 *
 * An addition to the specification, which refers to models only by their identifiers.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import {
  BadRequest,
  Forbidden,
  InternalServerError,
  NotFound,
  ServiceUnavailable,
  Unauthorized
} from "./GatewayError.ts"
import { call, dataOf } from "./internal/call.ts"
import * as Operation from "./Operation.ts"
import { AudioFormat } from "./Transcription.ts"
import { AspectRatio, Resolution } from "./Video.ts"

/**
 * The operation that a model serves.
 *
 * @since 0.1.0
 */
export const ModelKind = Schema.Literals(["rerank", "transcription", "video"])

/** @since 0.1.0 */
export type ModelKind = typeof ModelKind.Type

/**
 * Prices in credits per unit. Units that the model does not charge by are omitted.
 *
 * @since 0.1.0
 */
export const Pricing = Schema.Struct({
  /** Per search unit: one unit for up to 100 documents, and one for each further 100. */
  search_unit: Schema.optionalKey(Schema.Finite),
  /** Per second of audio or video. */
  second: Schema.optionalKey(Schema.Finite),
  /** Per input token. `provider.max_price` takes it per million. */
  prompt: Schema.optionalKey(Schema.Finite),
  /** Per output token. `provider.max_price` takes it per million. */
  completion: Schema.optionalKey(Schema.Finite),
  /** Per request: a video model that has one price for a whole video. */
  request: Schema.optionalKey(Schema.Finite)
})

/** @since 0.1.0 */
export type Pricing = { [Field in keyof typeof Pricing.Type]: (typeof Pricing.Type)[Field] }

/**
 * A model with its capabilities and its price at the cheapest provider.
 *
 * @since 0.1.0
 */
export const Model = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  kind: ModelKind,
  /** Whether requests cost nothing and count towards the key's daily free requests. */
  is_free: Schema.Boolean,
  providers: Schema.Array(Schema.String),
  pricing: Pricing,
  capabilities: Schema.Struct({
    /** Rerank: accepts images as documents. */
    image_documents: Schema.optionalKey(Schema.Boolean),
    /** Transcription: the audio formats that it accepts. */
    audio_formats: Schema.optionalKey(Schema.Array(AudioFormat)),
    /** Transcription: returns a timestamp for each word. */
    word_timestamps: Schema.optionalKey(Schema.Boolean),
    resolutions: Schema.optionalKey(Schema.Array(Resolution)),
    aspect_ratios: Schema.optionalKey(Schema.Array(AspectRatio)),
    /** Video: the longest duration, in seconds. */
    max_duration: Schema.optionalKey(Schema.Finite),
    /** Video: works from images alone, without a prompt. */
    prompt_optional: Schema.optionalKey(Schema.Boolean),
    /** Video: generates audio unless the request sets `generate_audio` to false. */
    generate_audio: Schema.optionalKey(Schema.Boolean),
    /** Video: accepts `upscale_factor` and `creativity`. */
    upscale: Schema.optionalKey(Schema.Boolean)
  })
})

/** @since 0.1.0 */
export type Model = { [Field in keyof typeof Model.Type]: (typeof Model.Type)[Field] }

/** @since 0.1.0 */
export const ListResponse = Schema.Struct({ object: Schema.Literal("list"), data: Schema.Array(Model) })

/** @since 0.1.0 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * GET `/models`: 200, or one of 400 401 403 404 500 503.
 *
 * @since 0.1.0
 */
export const listModels = Operation.make("listModels", "GET", "/models", {
  access: "any key",
  success: ListResponse,
  error: [BadRequest, Unauthorized, Forbidden, NotFound, InternalServerError, ServiceUnavailable]
})

/**
 * The request of {@link listModels}.
 *
 * @since 0.1.0
 */
export const listModelsEndpoint = Operation.endpoint(listModels, () => ({
  query: { kind: Schema.optionalKey(ModelKind) }
}))

/**
 * The errors of {@link list}.
 *
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listModels> | ClientError

/**
 * Lists the models that the key may use.
 *
 * @since 0.1.0
 */
export const list = (options?: {
  readonly kind?: ModelKind | undefined
}): Effect.Effect<ReadonlyArray<Model>, Failure, GatewayClient> =>
  dataOf(call(listModels, { query: { kind: options?.kind } }))
