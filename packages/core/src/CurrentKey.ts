/**
 * The calling key's information: GET `/key`.
 *
 * Specification: "2. GET /key", "Key record".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { InternalServerError, Unauthorized } from "./GatewayError.ts"
import { Timestamp } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import * as Operation from "./Operation.ts"

/**
 * When a spending limit resets, in UTC: `daily` at 00:00, `weekly` on Monday, `monthly` on the
 * first of the month.
 *
 * @since 0.1.0
 */
export const LimitReset = Schema.Literals(["daily", "weekly", "monthly"])

/** @since 0.1.0 */
export type LimitReset = typeof LimitReset.Type

/**
 * A key's limits and usage. Amounts are in credits (1 credit = 1 USD). The `byok_…` fields count
 * requests that used the caller's own provider key.
 *
 * @since 0.1.0
 */
export const KeyRecord = Schema.Struct({
  /** The key's prefix and its last three characters. */
  label: Schema.String,
  /** Spending limit. Null: only the workspace's credits limit the key. */
  limit: Schema.NullOr(Schema.Finite),
  limit_remaining: Schema.NullOr(Schema.Finite),
  /** Null: the limit never resets. */
  limit_reset: Schema.NullOr(LimitReset),
  include_byok_in_limit: Schema.Boolean,
  usage: Schema.Finite,
  usage_daily: Schema.Finite,
  usage_weekly: Schema.Finite,
  usage_monthly: Schema.Finite,
  byok_usage: Schema.Finite,
  byok_usage_daily: Schema.Finite,
  byok_usage_weekly: Schema.Finite,
  byok_usage_monthly: Schema.Finite,
  is_free_tier: Schema.Boolean,
  is_management_key: Schema.Boolean,
  /** Always the same as `is_management_key`. */
  is_provisioning_key: Schema.Boolean,
  creator_user_id: Schema.NullOr(Schema.String),
  expires_at: Schema.NullOr(Timestamp),
  /** Requests to free models on this UTC day. */
  free_model_daily_requests: Schema.Struct({
    limit: Schema.Int,
    used: Schema.Int,
    remaining: Schema.Int
  }),
  /** Deprecated: read the `RateLimit` response headers instead. */
  rate_limit: Schema.Struct({
    requests: Schema.Int,
    interval: Schema.String,
    note: Schema.String
  })
})

/** @since 0.1.0 */
export type KeyRecord = { [Field in keyof typeof KeyRecord.Type]: (typeof KeyRecord.Type)[Field] }

/**
 * The response: the record under `data`.
 *
 * @since 0.1.0
 */
export const Response = Schema.Struct({ data: KeyRecord })

/** @since 0.1.0 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * GET `/key`: 200, or one of 401 500.
 *
 * @since 0.1.0
 */
export const currentKey = Operation.make("currentKey", "GET", "/key", {
  access: "any key",
  success: Response,
  error: [Unauthorized, InternalServerError]
})

/**
 * The request of {@link currentKey}.
 *
 * @since 0.1.0
 */
export const currentKeyEndpoint = Operation.endpoint(currentKey)

/**
 * The errors of {@link get}.
 *
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof currentKey> | ClientError

/**
 * Returns the calling key's limits, usage and free requests.
 *
 * @since 0.1.0
 */
export const get: Effect.Effect<KeyRecord, Failure, GatewayClient> = Effect.suspend(() => dataOf(call(currentKey, {})))
