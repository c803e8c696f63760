/**
 * Reads the calling key's information.
 *
 * Specification: "GET /key", "Key record".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { InternalServerError, Unauthorized } from "./GatewayError.ts"
import { Role, Timestamp } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { open, orNull } from "./internal/open.ts"
import * as Operation from "./Operation.ts"

/**
 * When a spending limit resets, in UTC: `daily` at 00:00, `weekly` on Monday, `monthly` on the
 * first of the month.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LimitReset = Schema.Literals(["daily", "weekly", "monthly"])

/**
 * @category models
 * @since 0.1.0
 */
export type LimitReset = typeof LimitReset.Type

/**
 * The key's requests to free models on this UTC day.
 *
 * @category schemas
 * @since 0.1.0
 */
export const FreeRequests = Schema.Struct({
  /** The number of requests to free models that the key may make per UTC day. */
  limit: Schema.Int,
  /** The number that it has made today. */
  used: Schema.Int,
  /** The number that is left today, at least 0. */
  remaining: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type FreeRequests = { [Field in keyof typeof FreeRequests.Type]: (typeof FreeRequests.Type)[Field] }

/**
 * Deprecated: the same for every key. Read the `RateLimit` response headers instead.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeprecatedRateLimit = Schema.Struct({
  /** Always -1. */
  requests: Schema.Int,
  /** Always `10s`. */
  interval: Schema.String,
  /** Says that the object is deprecated. */
  note: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type DeprecatedRateLimit = {
  [Field in keyof typeof DeprecatedRateLimit.Type]: (typeof DeprecatedRateLimit.Type)[Field]
}

/**
 * A key's limits and usage. Amounts are in credits (1 credit = 1 USD). The `byok_…` fields count
 * requests that used the caller's provider key. Days, weeks and months are UTC periods: a week
 * starts on Monday.
 *
 * @category schemas
 * @since 0.1.0
 */
export const KeyRecord = Schema.Struct({
  /** The key's prefix and its last three characters, such as `mg_sk_…a1Z`. */
  label: Schema.String,
  /** Spending limit in credits. Null: only the workspace's credits limit the key. */
  limit: Schema.NullOr(Schema.Finite),
  /** The credits of `limit` that are left in the current period, at least 0. Null: no limit. */
  limit_remaining: Schema.NullOr(Schema.Finite),
  /** The period after which the limit resets. Null: it never resets. */
  limit_reset: Schema.NullOr(LimitReset),
  /** Whether usage of the caller's provider keys counts toward `limit`. */
  include_byok_in_limit: Schema.Boolean,
  /** Credits that the key has spent since it was created. */
  usage: Schema.Finite,
  /** Credits that the key has spent on this UTC day. */
  usage_daily: Schema.Finite,
  /** Credits that the key has spent in this UTC week. */
  usage_weekly: Schema.Finite,
  /** Credits that the key has spent in this UTC month. */
  usage_monthly: Schema.Finite,
  /**
   * What requests with the caller's provider keys would have cost since the key was created, in
   * credits.
   */
  byok_usage: Schema.Finite,
  /** As `byok_usage`, on this UTC day. */
  byok_usage_daily: Schema.Finite,
  /** As `byok_usage`, in this UTC week. */
  byok_usage_weekly: Schema.Finite,
  /** As `byok_usage`, in this UTC month. */
  byok_usage_monthly: Schema.Finite,
  /**
   * Whether the key is in the free tier: it uses models whose price is 0 and the caller's own
   * provider keys, and any other model is a 402.
   */
  is_free_tier: Schema.Boolean,
  /** Whether this is a management key, which manages and cannot spend. */
  is_management_key: Schema.Boolean,
  /** Always the same as `is_management_key`. */
  is_provisioning_key: Schema.Boolean,
  /** Only on a management key: what it may do. */
  role: Schema.optionalKey(Role),
  /** Only on a management key: the workspaces that it sees and changes. Null: all. */
  workspace_ids: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  /**
   * The identifier of the user who created the key: the user of the management key that made it. An
   * ephemeral key has that of its parent. Null: unknown.
   */
  creator_user_id: Schema.NullOr(Schema.String),
  /** When the key expires. Null: never. */
  expires_at: Schema.NullOr(Timestamp),
  /** The key's workspace, whose credits it spends. Never null from this gateway. */
  workspace_id: Schema.NullOr(Schema.String),
  /** The organization that the workspace belongs to. Never null from this gateway. */
  organization_id: Schema.NullOr(Schema.String),
  /** The regions that may process the key's data. Always empty: any region may. */
  allowed_data_regions: Schema.Array(Schema.String),
  free_model_daily_requests: FreeRequests,
  rate_limit: DeprecatedRateLimit
})

/**
 * The client requires only what the specification lists for every key. A service that is not this
 * one may also leave out what has no value, give `expires_at` another offset than `Z`, and know
 * more periods.
 */
const DecodedRecord = Schema.Struct({
  ...KeyRecord.fields,
  limit: orNull(Schema.Finite),
  limit_remaining: orNull(Schema.Finite),
  limit_reset: orNull(open<LimitReset>()),
  role: Schema.optionalKey(open<Role>()),
  creator_user_id: orNull(Schema.String),
  expires_at: orNull(Schema.String),
  workspace_id: Schema.optionalKey(KeyRecord.fields.workspace_id),
  organization_id: Schema.optionalKey(KeyRecord.fields.organization_id),
  allowed_data_regions: Schema.optionalKey(KeyRecord.fields.allowed_data_regions),
  rate_limit: Schema.optionalKey(DeprecatedRateLimit)
})

/**
 * A key as the client returns it, from this service or another one. This service sends every field.
 *
 * @category models
 * @since 0.1.0
 */
export type KeyRecord = { [Field in keyof typeof DecodedRecord.Type]: (typeof DecodedRecord.Type)[Field] }

/**
 * The response: the record under `data`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** The calling key. */
  data: KeyRecord
})

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

const Decoded = Schema.Struct({ data: DecodedRecord })

/**
 * @category operations
 * @since 0.1.0
 */
export const currentKeyOperation = Operation.make("currentKey", "GET", "/key", {
  access: "any key",
  success: Decoded,
  error: [Unauthorized, InternalServerError]
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const currentKeyEndpoint = Operation.endpoint(currentKeyOperation, () => ({
  success: Response,
  reference: {
    summary: "Get the calling key",
    example: {
      response: {
        data: {
          label: "mg_sk_…a1Z",
          limit: 10,
          limit_remaining: 7.5,
          limit_reset: "monthly",
          include_byok_in_limit: false,
          usage: 12.5,
          usage_daily: 0.25,
          usage_weekly: 1,
          usage_monthly: 2.5,
          byok_usage: 0,
          byok_usage_daily: 0,
          byok_usage_weekly: 0,
          byok_usage_monthly: 0,
          is_free_tier: false,
          is_management_key: false,
          is_provisioning_key: false,
          creator_user_id: null,
          expires_at: null,
          workspace_id: "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10",
          organization_id: "2f1c7a9e-8a6b-4c53-9e1d-5b7f0c2d4e68",
          allowed_data_regions: [],
          free_model_daily_requests: { limit: 200, used: 3, remaining: 197 },
          rate_limit: { requests: -1, interval: "10s", note: "This field is deprecated and safe to ignore." }
        }
      }
    }
  }
}))

/**
 * The errors of {@link currentKey}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof currentKeyOperation> | ClientError

/**
 * Returns the limits, the usage and the free requests of the key that the request is made with. An
 * ephemeral key sees those of its parent.
 *
 * @category calls
 * @since 0.1.0
 */
export const currentKey: Effect.Effect<KeyRecord, Failure, GatewayClient> = Effect.suspend(() =>
  dataOf(call(currentKeyOperation, {}))
)
