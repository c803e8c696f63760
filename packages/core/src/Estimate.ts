/**
 * What a request would cost, before it is sent.
 *
 * An addition to the specification, which does not describe this operation.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import {
  BadRequest,
  Forbidden,
  InternalServerError,
  NotFound,
  PayloadTooLarge,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized
} from "./GatewayError.ts"
import { call, dataOf } from "./internal/call.ts"
import * as Operation from "./Operation.ts"
import * as Rerank from "./Rerank.ts"
import * as Transcription from "./Transcription.ts"
import * as Video from "./Video.ts"

/**
 * A transcription request with the length of its audio in place of the audio, which need not be
 * sent.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TranscriptionRequest = Schema.Struct({
  ...Struct.omit(Transcription.Request.fields, ["input_audio"]),
  /** The length of the audio in seconds, at most 1,000,000. */
  seconds: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })),
  /** The format of the audio. Default: any, so that no offer is left out because of it. */
  format: Schema.optionalKey(Transcription.AudioFormat)
})

/**
 * A request to estimate, as it would be sent to its operation.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Request = Schema.Union([
  Schema.Struct({
    /** POST `/rerank`. */
    operation: Schema.Literal("rerank"),
    request: Rerank.Request
  }),
  Schema.Struct({
    /** POST `/audio/transcriptions`. */
    operation: Schema.Literal("transcription"),
    request: TranscriptionRequest
  }),
  Schema.Struct({
    /** POST `/videos`. */
    operation: Schema.Literal("video"),
    request: Video.Request
  })
]).annotate({ expected: 'an object whose operation is "rerank", "transcription" or "video"' })

/**
 * @category models
 * @since 0.1.0
 */
export type Request = typeof Request.Encoded

/**
 * What the request would cost at one provider.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Offer = Schema.Struct({
  /** The provider. */
  provider: Schema.String,
  /** The provider's id of the model. */
  upstream_model: Schema.String,
  /**
   * The most that the request can cost there, in credits, unless the provider bills more than its
   * prices say. With a provider key it is billed by the provider, and no credits are charged.
   */
  max_cost: Schema.Finite,
  /** Whether it would be called with a provider key of the caller. */
  is_byok: Schema.Boolean,
  /** What it ignores of the request, a sentence for each. Absent: nothing. */
  warnings: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Offer = { [Field in keyof typeof Offer.Type]: (typeof Offer.Type)[Field] }

/**
 * What a request would cost at most, and who would serve it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Estimate = Schema.Struct({
  /** The model that the request names. */
  model: Schema.String,
  /**
   * The credits that would be reserved for the request: the most that it can cost at any of the
   * offers with a credential of the gateway. Zero if there are provider keys only. A key of the
   * free tier may use only what costs nothing.
   */
  max_cost: Schema.Finite,
  /** The offers that would serve the request, in the order in which they would be tried. */
  offers: Schema.Array(Offer)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Estimate = { [Field in keyof typeof Estimate.Type]: (typeof Estimate.Type)[Field] }

/**
 * The response with the estimate.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** The estimate. */
  data: Estimate
})

/**
 * @category operations
 * @since 0.1.0
 */
export const estimateOperation = Operation.make("estimate", "POST", "/estimate", {
  access: "any key",
  role: "viewer",
  idempotency: "always",
  bodyLimit: { json: "videos" },
  success: Response,
  error: [
    BadRequest,
    Unauthorized,
    Forbidden,
    NotFound,
    PayloadTooLarge,
    TooManyRequests,
    InternalServerError,
    ServiceUnavailable
  ]
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const estimateEndpoint = Operation.endpoint(estimateOperation, () => ({
  payload: Request,
  reference: {
    summary: "Estimate a request",
    example: {
      request: {
        operation: "rerank",
        request: { model: "sandbox/bm25", query: "pears", documents: ["apples", "pears"] }
      },
      response: {
        data: {
          model: "sandbox/bm25",
          max_cost: 0.001,
          offers: [{ provider: "sandbox", upstream_model: "sandbox/bm25", max_cost: 0.001, is_byok: false }]
        }
      }
    }
  }
}))

/**
 * The errors of {@link estimate}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof estimateOperation> | ClientError

/**
 * Returns the most that a request can cost, at each offer that would serve it. No provider is
 * called, and nothing is reserved. The checks are those of the operation itself, so a request that
 * it would refuse for its model, its guardrail or its parameters is refused here too. Whether the
 * key can pay is not checked: neither its credits, nor whether a key of the free tier may use the
 * model.
 *
 * @example
 * ```ts
 * import { Estimate } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const most = Estimate.estimate({
 *   operation: "video",
 *   request: { model: "sandbox/title-card", prompt: "Dawn over the harbor", duration: 8 }
 * }).pipe(Effect.map(({ max_cost }) => `up to ${max_cost} credits`))
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const estimate = (request: Request): Effect.Effect<Estimate, Failure, GatewayClient> =>
  dataOf(call(estimateOperation, { json: request }))
