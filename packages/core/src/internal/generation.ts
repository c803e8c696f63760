/**
 * GET `/generation`. It has a file of its own because ephemeral keys may call it: their request
 * lists it, and the client, which `Generations` needs, imports that.
 */
import * as Schema from "effect/Schema"
import {
  BadRequest,
  Forbidden,
  InternalServerError,
  NotFound,
  ServiceUnavailable,
  Unauthorized
} from "../GatewayError.ts"
import { Timestamp } from "../Identifiers.ts"
import * as Operation from "../Operation.ts"

/**
 * How a request ended. `cancelled`: the caller cancelled the video job, or disconnected. `expired`:
 * the video job's time limit passed. Only a completed request is charged.
 *
 * @since 0.1.0
 */
export const Status = Schema.Literals(["completed", "failed", "cancelled", "expired"])

/** @since 0.1.0 */
export type Status = typeof Status.Type

/**
 * One attempt at one provider.
 *
 * @since 0.1.0
 */
export const Attempt = Schema.Struct({
  provider: Schema.String,
  /** `Success`, what went wrong, or `CircuitOpen` if the provider was not called. */
  outcome: Schema.String,
  /** The HTTP status of a provider's error. */
  status: Schema.optionalKey(Schema.Int),
  seconds: Schema.Finite,
  /**
   * Whether the provider bills it: `yes`, `no`, or `unknown` if its answer was lost or it accepted
   * a video job that was not completed.
   */
  billed: Schema.String,
  /** True if it was made with a provider key of the caller. Otherwise absent. */
  is_byok: Schema.optionalKey(Schema.Boolean),
  /** When it began. Only the attempts of video jobs have it. */
  started_at: Schema.optionalKey(Timestamp)
})

/** @since 0.1.0 */
export type Attempt = { [Field in keyof typeof Attempt.Type]: (typeof Attempt.Type)[Field] }

/** Values that may be null. */
export const orNull = { string: Schema.NullOr(Schema.String), number: Schema.NullOr(Schema.Finite) }

/**
 * What one paid request cost, who served it, and how long it took.
 *
 * @since 0.1.0
 */
export const Generation = Schema.Struct({
  id: Schema.String,
  /** `rerank`, `stt` (transcription) or `video`. */
  api_type: orNull.string,
  created_at: Timestamp,
  model: Schema.String,
  provider_name: orNull.string,
  /** The attempts at providers. `latency` is in milliseconds. */
  provider_responses: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        provider_name: Schema.optionalKey(Schema.String),
        /** The provider's HTTP status. Null if it did not answer. */
        status: Schema.NullOr(Schema.Int),
        latency: Schema.optionalKey(Schema.Finite),
        is_byok: Schema.optionalKey(Schema.Boolean)
      })
    )
  ),
  is_byok: Schema.Boolean,
  /** Credits. */
  total_cost: Schema.Finite,
  /** Credits; the same as `total_cost`. */
  usage: Schema.Finite,
  /** Milliseconds from admission to answer. */
  latency: orNull.number,
  /** Milliseconds that the provider took which served it. Null for a video job. */
  generation_time: orNull.number,
  /** Whether the caller cancelled it. */
  cancelled: Schema.NullOr(Schema.Boolean),
  finish_reason: orNull.string,
  tokens_prompt: orNull.number,
  tokens_completion: orNull.number,
  native_tokens_prompt: orNull.number,
  native_tokens_completion: orNull.number,
  workspace_id: orNull.string,
  /** `global`. */
  data_region: Schema.String,
  /** Empty. */
  origin: Schema.String,
  streamed: Schema.NullOr(Schema.Boolean),
  app_id: orNull.number,
  cache_discount: orNull.number,
  external_user: orNull.string,
  http_referer: orNull.string,
  moderation_latency: orNull.number,
  native_finish_reason: orNull.string,
  native_tokens_cached: orNull.number,
  native_tokens_completion_images: orNull.number,
  native_tokens_reasoning: orNull.number,
  num_fetches: orNull.number,
  num_input_audio_prompt: orNull.number,
  num_media_completion: orNull.number,
  num_media_prompt: orNull.number,
  num_search_results: orNull.number,
  preset_id: orNull.string,
  router: orNull.string,
  service_tier: orNull.string,
  upstream_id: orNull.string,
  upstream_inference_cost: orNull.number,
  user_agent: orNull.string,
  web_search_engine: orNull.string,
  /** How it ended. */
  status: Status,
  /** The HTTP status of the error that the caller got; 499 if the caller disconnected. */
  error_status: Schema.NullOr(Schema.Int),
  attempts: Schema.Array(Attempt)
})

/** @since 0.1.0 */
export type Generation = { [Field in keyof typeof Generation.Type]: (typeof Generation.Type)[Field] }

/** @since 0.1.0 */
export const Response = Schema.Struct({ data: Generation })

/** @since 0.1.0 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * GET `/generation?id=`: 200, or one of 400 401 403 404 500 503.
 *
 * @since 0.1.0
 */
export const getGeneration = Operation.make("getGeneration", "GET", "/generation", {
  access: "any key",
  success: Response,
  error: [BadRequest, Unauthorized, Forbidden, NotFound, InternalServerError, ServiceUnavailable]
})
