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
import { generationFields } from "../dialect/generationFields.ts"
import { Timestamp } from "../Identifiers.ts"
import * as Operation from "../Operation.ts"
import { Known } from "../Trace.ts"

/**
 * How a request ended. `cancelled`: the caller cancelled the video job, or disconnected. `expired`:
 * the video job's time limit passed. Only a completed request is charged.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Status = Schema.Literals(["completed", "failed", "cancelled", "expired"])

/**
 * @category models
 * @since 0.1.0
 */
export type Status = typeof Status.Type

/**
 * One attempt at one provider.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ProviderAttempt = Schema.Struct({
  /** The provider that was tried. */
  provider: Schema.String,
  /** `Success`, what went wrong, or `CircuitOpen` if the provider was not called. */
  outcome: Schema.String,
  /** The HTTP status of a provider's error. */
  status: Schema.optionalKey(Schema.Int),
  /** How long it took, in seconds. */
  seconds: Schema.Finite,
  /**
   * Whether the provider bills it: `yes`, `no`, or `unknown` if its answer was lost or it accepted
   * a video job that was not completed.
   */
  billed: Schema.String,
  /** True if it was made with the caller's provider key. Otherwise absent. */
  is_byok: Schema.optionalKey(Schema.Boolean),
  /** When it began. Only the attempts of video jobs have it. */
  started_at: Schema.optionalKey(Timestamp)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ProviderAttempt = { [Field in keyof typeof ProviderAttempt.Type]: (typeof ProviderAttempt.Type)[Field] }

/** Values that may be null. */
export const orNull = { string: Schema.NullOr(Schema.String), number: Schema.NullOr(Schema.Finite) }

/**
 * One attempt at one provider, as in OpenRouter's API. `attempts` says more.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ProviderResponse = Schema.Struct({
  /** The provider that was tried. */
  provider_name: Schema.optionalKey(Schema.String),
  /** The provider's HTTP status: 200 if it served the request, null if it did not answer. */
  status: Schema.NullOr(Schema.Int),
  /** How long it took, in milliseconds. */
  latency: Schema.optionalKey(Schema.Finite),
  /** Whether the caller's provider key was used. */
  is_byok: Schema.optionalKey(Schema.Boolean)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ProviderResponse = { [Field in keyof typeof ProviderResponse.Type]: (typeof ProviderResponse.Type)[Field] }

/**
 * What one paid request cost, who served it, and how long it took.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Generation = Schema.Struct({
  /** The generation id: the `id` of a rerank response, the `generation_id` of a video job. */
  id: Schema.String,
  /** `rerank`, `stt` (transcription) or `video`. */
  api_type: orNull.string,
  /** When the request was admitted, in ISO 8601, UTC. */
  created_at: Timestamp,
  /** The model of the request. */
  model: Schema.String,
  /** The provider that served it, or the last one that was tried. Null if none was. */
  provider_name: orNull.string,
  /** The attempts at providers, in the order in which they were made. */
  provider_responses: Schema.NullOr(Schema.Array(ProviderResponse)),
  /** Whether the caller's provider key was used. */
  is_byok: Schema.Boolean,
  /** What it cost, in credits. If `is_byok`, the caller's provider account was billed. */
  total_cost: Schema.Finite,
  /** The same as `total_cost`, in credits. */
  usage: Schema.Finite,
  /** Milliseconds from admission to answer. */
  latency: orNull.number,
  /** How long the provider that served it took, in milliseconds. Null for a video job. */
  generation_time: orNull.number,
  /** Whether the caller canceled it. */
  cancelled: Schema.NullOr(Schema.Boolean),
  /** Tokens that were read. Null if the provider does not report them. */
  tokens_prompt: orNull.number,
  /** Tokens that were written. Null if the provider does not report them. */
  tokens_completion: orNull.number,
  /** The same as `tokens_prompt`: tokens as the provider counts them. */
  native_tokens_prompt: orNull.number,
  /** The same as `tokens_completion`. */
  native_tokens_completion: orNull.number,
  /** The workspace that was charged. */
  workspace_id: orNull.string,
  /** The `x-request-id` of the response to the request. Null: not known. */
  request_id: Schema.optionalKey(orNull.string),
  /** The end user whom the request names in its `user`. Null: none. */
  external_user: orNull.string,
  /** See `trace` in the list of requests. */
  trace: Schema.optionalKey(Schema.NullOr(Known)),
  /** What the caller's provider account was billed, in credits. Null unless `is_byok`. */
  upstream_inference_cost: orNull.number,
  ...generationFields,
  /** How it ended. */
  status: Status,
  /** The HTTP status of the error that the caller got; 499 if the caller disconnected. */
  error_status: Schema.NullOr(Schema.Int),
  /** See `error_message` in the list of requests. */
  error_message: Schema.optionalKey(orNull.string),
  /** The attempts at providers as the request log has them. */
  attempts: Schema.Array(ProviderAttempt)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Generation = { [Field in keyof typeof Generation.Type]: (typeof Generation.Type)[Field] }

/**
 * The fields that have the same value for every request, with these values.
 *
 * @category constants
 * @since 0.1.0
 */
export const fixed = Schema.Struct(generationFields).make({})

/**
 * One entry of the request log.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({ data: Generation })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const getGenerationOperation = Operation.make("getGeneration", "GET", "/generation", {
  access: "any key",
  success: Response,
  error: [BadRequest, Unauthorized, Forbidden, NotFound, InternalServerError, ServiceUnavailable]
})
