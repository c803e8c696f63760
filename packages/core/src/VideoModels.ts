/**
 * Lists the available video models, with what a video may be.
 *
 * An addition to the specification.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { call } from "./internal/call.ts"
import { rateLimitedErrors } from "./internal/errorSets.ts"
import { Capabilities, Price, Pricing } from "./Models.ts"
import * as Operation from "./Operation.ts"
import { AspectRatio, FrameType, Resolution } from "./Video.ts"

/**
 * A video model, with what it can do and its price at the cheapest provider.
 *
 * @category schemas
 * @since 0.1.0
 */
export const VideoModel = Schema.Struct({
  /** What requests send as `model`. */
  id: Schema.String,
  /** The entry of the catalog: the same as `id`. */
  canonical_slug: Schema.String,
  /** Display name. */
  name: Schema.String,
  /** Always 0: the service does not know when a model was published. Unix time in seconds. */
  created: Schema.Int,
  /** Always empty: the service has no descriptions. */
  description: Schema.String,
  /** The resolutions that it generates. */
  supported_resolutions: Schema.Array(Resolution),
  /** The aspect ratios that it generates. */
  supported_aspect_ratios: Schema.Array(AspectRatio),
  /**
   * The sizes in pixels that a request may have as `size`. Null if they are not listed: then any
   * that matches a resolution and an aspect ratio of the model.
   */
  supported_sizes: Schema.NullOr(Schema.Array(Schema.String)),
  /** The durations in seconds. Null: every whole second up to `capabilities.max_duration`. */
  supported_durations: Schema.NullOr(Schema.Array(Schema.Int)),
  /** The frames that a request may give as images. Empty if none. */
  supported_frame_images: Schema.Array(FrameType),
  /** Whether it generates audio unless the request sets `generate_audio` to false. */
  generate_audio: Schema.Boolean,
  /**
   * Whether it takes a `seed`. Otherwise a seed is ignored, and `warnings` of the job says so. The
   * same seed need not give the same video.
   */
  seed: Schema.NullOr(Schema.Boolean),
  /** Always null: upscaling models accept any number in a range, not certain levels. */
  creativity: Schema.Null,
  /** The range of `upscale_factor`: `min` and `max`. Null if the model does not upscale. */
  upscale_factor: Schema.NullOr(
    Schema.Struct({
      /** The least factor. Absent or null: not known. */
      min: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
      /** The greatest factor. Absent or null: not known. */
      max: Schema.optionalKey(Schema.NullOr(Schema.Finite))
    })
  ),
  /** The parameters in `provider.options` that are known to work. */
  allowed_passthrough_parameters: Schema.Array(Schema.String),
  /**
   * Prices in credits, as decimal text. `duration_seconds` is per second of video and `generate`
   * per video. A price for some videos only has that in its name: `duration_seconds_with_audio`,
   * `duration_seconds_720p`, `duration_seconds_without_audio_1080p`.
   */
  pricing_skus: Schema.Record(Schema.String, Price),
  pricing: Pricing,
  /**
   * Seconds of a video whose request has no `duration`. 0: the model chooses, or as long as the
   * video to upscale.
   */
  default_duration: Schema.Finite,
  /** Whether requests cost nothing and count toward the key's daily free requests. */
  is_free: Schema.Boolean,
  /** The names of the providers that offer the model, as `provider.order` takes them. */
  providers: Schema.Array(Schema.String),
  /** What the model can do at its cheapest provider. */
  capabilities: Capabilities
})

/**
 * @category models
 * @since 0.1.0
 */
export type VideoModel = { [Field in keyof typeof VideoModel.Type]: (typeof VideoModel.Type)[Field] }

/**
 * Video models, in the order of the catalog.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** Every video model of GET `/models`. */
  data: Schema.Array(VideoModel)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const listVideoModelsOperation = Operation.make("listVideoModels", "GET", "/videos/models", {
  access: "any key",
  success: ListResponse,
  error: rateLimitedErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listVideoModelsEndpoint = Operation.endpoint(listVideoModelsOperation, () => ({
  reference: {
    summary: "List video models",
    example: {
      response: {
        data: [
          {
            id: "replicate/google/veo-3.1-fast",
            canonical_slug: "replicate/google/veo-3.1-fast",
            name: "Veo 3.1 Fast on Replicate",
            created: 0,
            description: "",
            supported_resolutions: ["720p", "1080p"],
            supported_aspect_ratios: ["16:9", "9:16"],
            supported_sizes: ["1280x720", "720x1280", "1920x1080", "1080x1920"],
            supported_durations: [4, 6, 8],
            supported_frame_images: ["first_frame", "last_frame"],
            generate_audio: true,
            seed: true,
            creativity: null,
            upscale_factor: null,
            allowed_passthrough_parameters: ["negative_prompt"],
            pricing_skus: { duration_seconds_with_audio: "0.15", duration_seconds_without_audio: "0.1" },
            pricing: { prompt: "0", completion: "0", second: "0.15" },
            default_duration: 8,
            is_free: false,
            providers: ["replicate"],
            capabilities: {
              resolutions: ["720p", "1080p"],
              aspect_ratios: ["16:9", "9:16"],
              max_duration: 8,
              prompt_optional: false,
              generate_audio: true,
              upscale: false
            }
          }
        ]
      }
    }
  }
}))

/**
 * The errors of {@link listVideoModels}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listVideoModelsOperation> | ClientError

/**
 * Lists the video models of GET `/models`.
 *
 * @category calls
 * @since 0.1.0
 */
export const listVideoModels: Effect.Effect<ListResponse, Failure, GatewayClient> = Effect.suspend(() =>
  call(listVideoModelsOperation, {})
)
