/**
 * API keys: `/keys`, for management keys, and `/keys/ephemeral`, where an ordinary key creates
 * short-lived keys.
 *
 * An addition to the specification, which does not say how keys are issued.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { LimitReset } from "./CurrentKey.ts"
import { type CallOptions, GatewayClient } from "./GatewayClient.ts"
import { BadRequest, Forbidden, InternalServerError, TooManyRequests, Unauthorized } from "./GatewayError.ts"
import { idempotencyHeaders } from "./internal/idempotencyHeaders.ts"
import { BooleanText, KeyHash, Name, OffsetPage, Page, Role, Timestamp, WorkspaceId } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { EphemeralRequest } from "./internal/ephemeralRequest.ts"
import { open, orNull } from "./internal/open.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

/**
 * A spending limit in credits: from 0 to 1,000,000,000, with at most six decimal places. Null means
 * no limit.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SpendingLimit = Schema.NullOr(
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))
)

/**
 * An API key's record. `hash` identifies the key. The key's secret text is returned only once, when
 * the key is created or rotated. Amounts are in credits (1 credit = 1 USD). Days, weeks and months
 * are UTC periods: a week starts on Monday.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Key = Schema.Struct({
  /**
   * Identifies the key: the SHA-256 of the text that it was created with, in 64 hexadecimal digits.
   * It stays when the key is rotated.
   */
  hash: Schema.String,
  /** The name that people chose for it. */
  name: Schema.String,
  /** The prefix and the last three characters of the key's newest text, such as `mg_sk_…a1Z`. */
  label: Schema.String,
  /** The key's workspace, whose credits it spends. */
  workspace_id: Schema.String,
  /** Whether the key is switched off. A request with it is a 401. */
  disabled: Schema.Boolean,
  /** Whether this is a management key, which manages and cannot spend. */
  is_management_key: Schema.Boolean,
  /** Only on a management key: what it may do. */
  role: Schema.optionalKey(Role),
  /** Only on a management key: the workspaces that it sees and changes. Null: all. */
  workspace_ids: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  /** Whether the key is in the free tier, which uses free models only and spends no credits. */
  is_free_tier: Schema.Boolean,
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
   * The UTC day on which the key's last paid request was admitted, such as `2026-11-20`. Requests
   * to free models count. Null: there was none.
   */
  last_used_on: Schema.NullOr(Schema.String),
  /** The guardrail that the key is assigned to. Null: none. */
  guardrail_id: Schema.NullOr(Schema.String),
  /**
   * The identifier of the user who created the key: the user of the management key that made it.
   * Null: unknown.
   */
  creator_user_id: Schema.NullOr(Schema.String),
  /** The identifier of the end user whom the key was created for. Null: none was given. */
  external_user: Schema.NullOr(Schema.String),
  /** When the key was created. */
  created_at: Timestamp,
  /** When the key was last changed. */
  updated_at: Timestamp,
  /** When the key expires. Null: never. */
  expires_at: Schema.NullOr(Timestamp),
  /**
   * Only on an ephemeral key: the hash of its parent, the key that created it. Name, limits, usage,
   * guardrail and workspace are the parent's.
   */
  parent_hash: Schema.optionalKey(Schema.String),
  /** Only on an ephemeral key with restricted operations: the identifiers of those it may call. */
  operations: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Only on an ephemeral key: whether it sees only its own files, video jobs and requests. */
  own_files: Schema.optionalKey(Schema.Boolean),
  /** Only on an ordinary key: the number of its ephemeral keys that have not expired. */
  ephemeral_keys: Schema.optionalKey(Schema.Int)
})

/**
 * A service that is not this one may leave out what has no value, give times another offset than
 * `Z`, and know more periods.
 */
const DecodedKey = Schema.Struct({
  ...Key.fields,
  limit: orNull(Schema.Finite),
  limit_remaining: orNull(Schema.Finite),
  limit_reset: orNull(open<LimitReset>()),
  role: Schema.optionalKey(open<Role>()),
  workspace_ids: orNull(Schema.Array(Schema.String)),
  last_used_on: orNull(Schema.String),
  guardrail_id: orNull(Schema.String),
  creator_user_id: orNull(Schema.String),
  external_user: orNull(Schema.String),
  created_at: Schema.String,
  updated_at: Schema.String,
  expires_at: orNull(Schema.String)
})

/**
 * A key as the client returns it, from this service or another one. Its `limit_reset` may be a
 * period that this version does not know.
 *
 * @category models
 * @since 0.1.0
 */
export type Key = { [Field in keyof typeof DecodedKey.Type]: (typeof DecodedKey.Type)[Field] }

/**
 * The end user whom a key is created for, as the caller's own system names it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ExternalIdentity = Schema.Struct({
  /** The end user's identifier: 1 to 256 characters. The key's record shows it. */
  user: Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256)),
  /** Not supported: the service makes the text of every key. A request that has it is a 400. */
  api_key: Schema.optionalKey(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ExternalIdentity = {
  [Field in keyof typeof ExternalIdentity.Type]: Written<typeof ExternalIdentity.Type, Field>
}

/**
 * The workspaces that a management key sees and changes: 1 to 100 UUIDs. Null: all of its
 * organization.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ManagedWorkspaces = Schema.NullOr(
  Schema.Array(WorkspaceId).check(Schema.isMinLength(1), Schema.isMaxLength(100))
)

/**
 * The properties of a new key.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  /** The key's name: 1 to 256 characters. Names need not be unique. */
  name: Name,
  /** The key's workspace: a UUID. Default: the caller's default workspace. */
  workspace_id: Schema.optionalKey(WorkspaceId),
  /**
   * If true, the key can manage keys, guardrails and workspaces but cannot spend. Default: false.
   */
  is_management_key: Schema.optionalKey(Schema.Boolean),
  /**
   * What a management key may do: `viewer`, `operator` or `admin`, at most what the calling key may
   * do. For another key it is a 400. Default: `admin`.
   */
  role: Schema.optionalKey(Role),
  /**
   * The workspaces that a management key of the role `viewer` or `operator` sees and changes: 1 to
   * 100 UUIDs, of those that the calling key sees. For another key it is a 400. Default: null, all.
   */
  workspace_ids: Schema.optionalKey(ManagedWorkspaces),
  /**
   * If true, the key is in the free tier: it uses models whose price is 0 and the caller's own
   * provider keys, any other model is a 402, and its requests to such models count toward its free
   * requests of the day. A management key cannot be one: 400. Default: false.
   */
  is_free_tier: Schema.optionalKey(Schema.Boolean),
  /**
   * Spending limit in credits: 0 to 1,000,000,000, with at most six decimal places. Default: null,
   * no limit.
   */
  limit: Schema.optionalKey(SpendingLimit),
  /** The period after which the limit resets. Default: null, it never resets. */
  limit_reset: Schema.optionalKey(Schema.NullOr(LimitReset)),
  /** Whether usage of the caller's provider keys counts toward `limit`. Default: false. */
  include_byok_in_limit: Schema.optionalKey(Schema.Boolean),
  /** When the key expires: a time in the future, in UTC with `Z`. Default: null, never. */
  expires_at: Schema.optionalKey(Schema.NullOr(Timestamp)),
  /**
   * The identifier of the user who creates the key: 1 to 256 characters, or null. Default: the user
   * of the calling management key. If that key has a user, another value is a 400.
   */
  creator_user_id: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256)))),
  external: Schema.optionalKey(ExternalIdentity)
})

/**
 * @category models
 * @since 0.1.0
 */
export type CreateRequest = { [Field in keyof typeof CreateRequest.Type]: Written<typeof CreateRequest.Type, Field> }

/** Plain text in a response, and hidden from logs and JSON in a program. */
const Secret = Schema.RedactedFromValue(Schema.String)

/**
 * The new key and its secret text, which is never returned again.
 *
 * @remarks Read `key` with `Redacted.value`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateResponse = Schema.Struct({
  /** The new key's record. */
  data: Key,
  /** The secret text, `mg_sk_…` or `mg_mk_…`. It is never returned again. */
  key: Secret
})

/**
 * The new key as {@link createKey} returns it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreatedKey = CreateResponse.annotate({ httpApiStatus: 201 })

const DecodedCreateResponse = Schema.Struct({ ...CreateResponse.fields, data: DecodedKey })

/**
 * @category models
 * @since 0.1.0
 */
export type CreateResponse = {
  [Field in keyof typeof DecodedCreateResponse.Type]: (typeof DecodedCreateResponse.Type)[Field]
}

/**
 * How to rotate a key.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RotateRequest = Schema.Struct({
  /**
   * For how many seconds the present secret is still accepted beside the new one: from 0 to 2592000
   * (30 days). Default: 86400 (24 hours). With 0 it ends at once, which is right for one that
   * leaked.
   */
  grace_seconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2_592_000 })))
})

/**
 * @category models
 * @since 0.1.0
 */
export type RotateRequest = { [Field in keyof typeof RotateRequest.Type]: Written<typeof RotateRequest.Type, Field> }

/**
 * The key and its new secret text, which is never returned again.
 *
 * @remarks Read `key` with `Redacted.value`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RotateResponse = Schema.Struct({
  /** The key's record. Only `label` and `updated_at` have changed. */
  data: Key,
  /** The new secret text, `mg_sk_…` or `mg_mk_…`. It is never returned again. */
  key: Secret,
  /** Until when the secret before it is accepted. Null: it has ended. */
  previous_expires_at: Schema.NullOr(Timestamp)
})

const DecodedRotateResponse = Schema.Struct({
  ...RotateResponse.fields,
  data: DecodedKey,
  previous_expires_at: orNull(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type RotateResponse = {
  [Field in keyof typeof DecodedRotateResponse.Type]: (typeof DecodedRotateResponse.Type)[Field]
}

/**
 * The fields to change. Omitted fields keep their values.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  /** The new name: 1 to 256 characters. */
  name: Schema.optionalKey(Name),
  /** True switches the key and its ephemeral keys off, false switches them on again. */
  disabled: Schema.optionalKey(Schema.Boolean),
  /**
   * What the management key may do: `viewer`, `operator` or `admin`, at most what the calling key
   * may do. For another key it is a 400.
   */
  role: Schema.optionalKey(Role),
  /**
   * The workspaces that the management key sees and changes: 1 to 100 UUIDs, of those that the
   * calling key sees. Null: all. For another key, and with the role `admin`, a list is a 400.
   */
  workspace_ids: Schema.optionalKey(ManagedWorkspaces),
  /**
   * True moves the key and its ephemeral keys to the free tier, false out of it. True for a
   * management key is a 400. Video jobs that were accepted before keep their price.
   */
  is_free_tier: Schema.optionalKey(Schema.Boolean),
  /**
   * The new spending limit in credits: 0 to 1,000,000,000, with at most six decimal places. Null
   * removes the limit.
   */
  limit: Schema.optionalKey(SpendingLimit),
  /** The new period after which the limit resets. Null: it never resets. */
  limit_reset: Schema.optionalKey(Schema.NullOr(LimitReset)),
  /** Whether usage of the caller's provider keys counts toward `limit`. */
  include_byok_in_limit: Schema.optionalKey(Schema.Boolean),
  /** When the key expires: a time in the future, in UTC with `Z`. Null: never. */
  expires_at: Schema.optionalKey(Schema.NullOr(Timestamp))
})

/**
 * @category models
 * @since 0.1.0
 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/**
 * The key.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** The key's record. */
  data: Key
})

const DecodedResponse = Schema.Struct({ ...Response.fields, data: DecodedKey })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof DecodedResponse.Type]: (typeof DecodedResponse.Type)[Field] }

/**
 * The order of a list of keys. `created`: newest first. `name`: from a to z. `usage`: what has
 * spent most first. `last_used`: what was used last first.
 *
 * @category schemas
 * @since 0.1.0
 */
export const KeySort = Schema.Literals(["created", "name", "usage", "last_used"])

/**
 * @category models
 * @since 0.1.0
 */
export type KeySort = typeof KeySort.Type

/**
 * A page of keys.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** The keys of the page. */
  data: Schema.Array(Key),
  /** Whether more keys follow the page. */
  has_more: Schema.Boolean,
  /** The number of keys on all pages. */
  total_count: Schema.Int
})

const DecodedListResponse = Schema.Struct({
  ...ListResponse.fields,
  data: Schema.Array(DecodedKey),
  total_count: Schema.optionalKey(Schema.Int)
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = {
  [Field in keyof typeof DecodedListResponse.Type]: (typeof DecodedListResponse.Type)[Field]
}

/**
 * The confirmation that the key was deleted.
 *
 * @category schemas
 * @since 0.1.0
 */
export const DeleteResponse = Schema.Struct({
  /** Always true. */
  deleted: Schema.Literal(true)
})

/**
 * @category models
 * @since 0.1.0
 */
export type DeleteResponse = { [Field in keyof typeof DeleteResponse.Type]: (typeof DeleteResponse.Type)[Field] }

export { type EphemeralOperation, ephemeralOperations, EphemeralRequest } from "./internal/ephemeralRequest.ts"

/**
 * The new ephemeral key. The response contains no secret of the parent key, so a server can pass it
 * to a page. `expires_at` is never later than the parent's expiry.
 *
 * @remarks Encode it with this schema, because `JSON.stringify` hides the key.
 *
 * @example
 * ```ts
 * import { Keys } from "@model-gateway/core"
 * import { Effect } from "effect"
 * import { HttpServerResponse } from "effect/http"
 *
 * const respond = HttpServerResponse.schemaJson(Keys.EphemeralResponse)
 * const token = Effect.flatMap(Keys.createEphemeralKey(), respond)
 * ```
 *
 * @category schemas
 * @since 0.1.0
 */
export const EphemeralResponse = Schema.Struct({
  /** The secret text, `mg_ek_…`. It is never returned again. */
  key: Secret,
  /** When the key expires: `expires_in` seconds from now, or earlier with its parent. */
  expires_at: Timestamp
})

/**
 * The new ephemeral key as {@link createEphemeralKey} returns it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreatedEphemeralKey = EphemeralResponse.annotate({ httpApiStatus: 201 })

const DecodedEphemeralResponse = Schema.Struct({ ...EphemeralResponse.fields, expires_at: Schema.String })

/**
 * @category models
 * @since 0.1.0
 */
export type EphemeralResponse = {
  [Field in keyof typeof DecodedEphemeralResponse.Type]: (typeof DecodedEphemeralResponse.Type)[Field]
}

const key = {
  /** The hash that identifies the key. */
  hash: KeyHash
}

const exampleHash = { hash: "9b74c9897bac770ffc029102a200c5de5d1b0d1a6a5f4d7b0e6d3b6f2c8a1e44" }

/** The new ordinary key of the examples. */
const exampleOf = () =>
  ({
    ...exampleHash,
    name: "search",
    label: "mg_sk_…a1Z",
    workspace_id: "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10",
    disabled: false,
    is_management_key: false,
    is_free_tier: false,
    limit: 10,
    limit_remaining: 10,
    limit_reset: "monthly",
    include_byok_in_limit: false,
    usage: 0,
    usage_daily: 0,
    usage_weekly: 0,
    usage_monthly: 0,
    byok_usage: 0,
    byok_usage_daily: 0,
    byok_usage_weekly: 0,
    byok_usage_monthly: 0,
    last_used_on: null,
    guardrail_id: null,
    creator_user_id: null,
    external_user: "customer-17",
    created_at: "2026-11-20T22:30:00.000Z",
    updated_at: "2026-11-20T22:30:00.000Z",
    expires_at: null,
    ephemeral_keys: 0
  }) satisfies typeof Key.Encoded

/**
 * @category operations
 * @since 0.1.0
 */
export const createKeyOperation = Operation.make("createKey", "POST", "/keys", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  needsRecentSignIn: true,
  idempotency: "by key",
  success: DecodedCreateResponse.annotate({ httpApiStatus: 201 }),
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const createKeyEndpoint = Operation.endpoint(createKeyOperation, () => ({
  success: CreatedKey,
  headers: idempotencyHeaders,
  payload: CreateRequest,
  reference: {
    summary: "Create a key",
    example: {
      request: { name: "search", limit: 10, limit_reset: "monthly", external: { user: "customer-17" } },
      response: { data: exampleOf(), key: "mg_sk_…" }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const createEphemeralKeyOperation = Operation.make("createEphemeralKey", "POST", "/keys/ephemeral", {
  access: "ordinary key",
  idempotency: "always",
  unknownFields: "refused",
  success: DecodedEphemeralResponse.annotate({ httpApiStatus: 201 }),
  error: [BadRequest, Unauthorized, Forbidden, TooManyRequests, InternalServerError]
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const createEphemeralKeyEndpoint = Operation.endpoint(createEphemeralKeyOperation, () => ({
  success: CreatedEphemeralKey,
  // Null: the request may have no body.
  payload: [EphemeralRequest, Schema.Null],
  reference: {
    summary: "Create an ephemeral key",
    example: {
      request: { expires_in: 300, operations: ["rerank"] },
      response: { key: "mg_ek_…", expires_at: "2026-11-20T22:35:00.000Z" }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const createEphemeralKeyForOperation = Operation.make("createEphemeralKeyFor", "POST", "/keys/:hash/ephemeral", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  idempotency: "always",
  success: DecodedEphemeralResponse.annotate({ httpApiStatus: 201 }),
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const createEphemeralKeyForEndpoint = Operation.endpoint(createEphemeralKeyForOperation, () => ({
  success: CreatedEphemeralKey,
  params: key,
  // Null: the request may have no body.
  payload: [EphemeralRequest, Schema.Null],
  reference: {
    summary: "Create an ephemeral key of another key",
    example: {
      params: exampleHash,
      request: { expires_in: 300, operations: ["rerank"] },
      response: { key: "mg_ek_…", expires_at: "2026-11-20T22:35:00.000Z" }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listKeysOperation = Operation.make("listKeys", "GET", "/keys", {
  access: "management key",
  scope: "workspace",
  success: DecodedListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listKeysEndpoint = Operation.endpoint(listKeysOperation, () => ({
  success: ListResponse,
  query: {
    /** List only the keys of this workspace: a UUID. Default: those of all workspaces. */
    workspace_id: Schema.optionalKey(WorkspaceId),
    /** Whether disabled keys are listed too: `true` or `false`. Default: `false`. */
    include_disabled: Schema.optionalKey(BooleanText),
    /** List only the unexpired ephemeral keys of this parent. Not with `search` or `sort`: 400. */
    parent_hash: Schema.optionalKey(KeyHash),
    /**
     * List only keys whose name or label has this text: 1 to 256 characters. Capital and small
     * letters from a to z are the same. It finds keys among the newest 10,000 of the list.
     */
    search: Schema.optionalKey(Name),
    /**
     * The order of the list. Default: `created`. Any other order has the newest 10,000 keys of the
     * list only.
     */
    sort: Schema.optionalKey(KeySort),
    /** The number of keys to skip: 0 to 1,000,000. Default: 0. */
    offset: OffsetPage.offset,
    /** The number of keys on the page: 1 to 1000. Default: 100. */
    limit: Page.limit
  },
  reference: {
    summary: "List keys",
    example: {
      query: { include_disabled: "true", limit: "100" },
      response: { data: [exampleOf()], has_more: false, total_count: 1 }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getKeyOperation = Operation.make("getKey", "GET", "/keys/:hash", {
  access: "management key",
  scope: "workspace",
  success: DecodedResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getKeyEndpoint = Operation.endpoint(getKeyOperation, () => ({
  success: Response,
  params: {
    /** The hash that identifies the key, or the SHA-256 of any text that it has had since. */
    hash: KeyHash
  },
  reference: {
    summary: "Get a key",
    example: { params: exampleHash, response: { data: exampleOf() } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const updateKeyOperation = Operation.make("updateKey", "PATCH", "/keys/:hash", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  needsRecentSignIn: true,
  success: DecodedResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const updateKeyEndpoint = Operation.endpoint(updateKeyOperation, () => ({
  success: Response,
  params: key,
  payload: UpdateRequest,
  reference: {
    summary: "Change a key",
    example: {
      params: exampleHash,
      request: { disabled: true },
      response: { data: { ...exampleOf(), disabled: true } }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const rotateKeyOperation = Operation.make("rotateKey", "POST", "/keys/:hash/rotate", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  needsRecentSignIn: true,
  idempotency: "by key",
  success: DecodedRotateResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const rotateKeyEndpoint = Operation.endpoint(rotateKeyOperation, () => ({
  success: RotateResponse,
  params: key,
  headers: idempotencyHeaders,
  // Null: the request may have no body.
  payload: [RotateRequest, Schema.Null],
  reference: {
    summary: "Rotate a key",
    example: {
      params: exampleHash,
      request: { grace_seconds: 3600 },
      response: {
        data: { ...exampleOf(), label: "mg_sk_…b2Y", updated_at: "2026-11-28T12:00:00.000Z" },
        key: "mg_sk_…",
        previous_expires_at: "2026-11-28T13:00:00.000Z"
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const deleteKeyOperation = Operation.make("deleteKey", "DELETE", "/keys/:hash", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  success: DeleteResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const deleteKeyEndpoint = Operation.endpoint(deleteKeyOperation, () => ({
  params: key,
  reference: {
    summary: "Delete a key",
    example: { params: exampleHash, response: { deleted: true } }
  }
}))

/**
 * The errors of {@link createEphemeralKey}.
 *
 * @category errors
 * @since 0.1.0
 */
export type EphemeralFailure = Operation.ErrorOf<typeof createEphemeralKeyOperation> | ClientError

/**
 * The errors of the other functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof createKeyOperation> | ClientError

/**
 * Creates a key (`mg_ek_…`) that is valid for at most 15 minutes, for use where a secret cannot be
 * kept, such as in a web page. It has the parent key's permissions, unless the request restricts it
 * to some operations or to its own files. It spends from the parent's budget, counts toward the
 * parent's spending limit and rate limit, obeys the parent's guardrail, and stops working when the
 * parent does. Ephemeral keys and management keys cannot create ephemeral keys: 403.
 *
 * @remarks
 * A server calls this and passes the response to a page: see {@link EphemeralResponse}. If the
 * response to an attempt is lost, its key stays unused until it expires.
 *
 * @category calls
 * @since 0.1.0
 */
export const createEphemeralKey = (
  request: EphemeralRequest = {}
): Effect.Effect<EphemeralResponse, EphemeralFailure, GatewayClient> =>
  call(createEphemeralKeyOperation, { json: request })

/**
 * Creates a key. Only this response contains its secret text. Supports `Idempotency-Key`: a
 * repeated request returns the same key.
 *
 * @remarks
 * A call with the same idempotency key and the same request within 24 hours returns the same key.
 *
 * @category calls
 * @since 0.1.0
 */
export const createKey = (
  request: CreateRequest,
  options?: CallOptions
): Effect.Effect<CreateResponse, Failure, GatewayClient> => call(createKeyOperation, { ...options, json: request })

/**
 * Selects the keys to list.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions {
  /** Default: the workspace of the configuration, or else all workspaces. */
  readonly workspace_id?: string | undefined
  /** Whether disabled keys are listed too. Default: false. */
  readonly include_disabled?: boolean | undefined
  /** List only the unexpired ephemeral keys of this parent. */
  readonly parent_hash?: string | undefined
  /** List only keys whose name or label has this text, among the newest 10,000. */
  readonly search?: string | undefined
  /** The order. Default: `created`. Any other order has the newest 10,000 keys only. */
  readonly sort?: KeySort | undefined
  /** The number of keys to skip. Default: 0. */
  readonly offset?: number | undefined
  /** 1 to 1000. Default: 100. */
  readonly limit?: number | undefined
}

/**
 * Lists keys, newest first by default. Disabled keys are listed only with `include_disabled`,
 * ephemeral keys only when `parent_hash` names their parent.
 *
 * @category calls
 * @since 0.1.0
 */
export const listKeys = (options?: ListOptions): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  Effect.flatMap(GatewayClient, ({ workspaceId }) =>
    call(listKeysOperation, {
      query: {
        ...options,
        include_disabled: options?.include_disabled?.toString(),
        workspace_id: options?.workspace_id ?? workspaceId
      }
    })
  )

/**
 * Returns a key's record, without its secret text. It finds the key by its hash, and by the SHA-256
 * of any text that it has had since it was rotated.
 *
 * @category calls
 * @since 0.1.0
 */
export const getKey = (hash: string): Effect.Effect<Key, Failure, GatewayClient> =>
  dataOf(call(getKeyOperation, { params: { hash } }))

/**
 * Changes the given fields of a key. Changing an ephemeral key is a 400: its properties come from
 * its parent.
 *
 * @category calls
 * @since 0.1.0
 */
export const updateKey = (hash: string, request: UpdateRequest): Effect.Effect<Key, Failure, GatewayClient> =>
  dataOf(call(updateKeyOperation, { params: { hash }, json: request }))

/**
 * Gives a key a new secret text, which only this response contains. The key keeps its hash, usage,
 * limits, guardrail, files and ephemeral keys. The present secret is accepted until the grace ends,
 * and any earlier one ends at once. Rotating an ephemeral key is a 400. Supports
 * `Idempotency-Key`: a repeated request returns the same secret.
 *
 * @remarks
 * A key that rotates itself with a grace of 0 cannot repeat a request whose response was lost.
 *
 * @example
 * ```ts
 * import { Gateway } from "@model-gateway/core"
 * import { Effect, Redacted } from "effect"
 *
 * const renewed = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   const { key } = yield* gateway.rotateKey("9b74c9897bac770f…", { grace_seconds: 3600 })
 *   return Redacted.value(key)
 * })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const rotateKey = (
  hash: string,
  request: RotateRequest = {},
  options?: CallOptions
): Effect.Effect<RotateResponse, Failure, GatewayClient> =>
  call(rotateKeyOperation, { ...options, params: { hash }, json: request })

/**
 * Creates an ephemeral key of an ordinary key, without the secret of that key: the management key
 * must see its workspace. It acts and spends as the ordinary key does, as one of
 * {@link createEphemeralKey}. A management key, an ephemeral key and one that is disabled or has
 * expired cannot have any: 400.
 *
 * @example
 * ```ts
 * import { Gateway } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const trial = Effect.gen(function*() {
 *   const gateway = yield* Gateway.Gateway
 *   return yield* gateway.createEphemeralKeyFor("9b74c9897bac770f…", { expires_in: 300, operations: ["rerank"] })
 * })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const createEphemeralKeyFor = (
  hash: string,
  request: EphemeralRequest = {}
): Effect.Effect<EphemeralResponse, Failure, GatewayClient> =>
  call(createEphemeralKeyForOperation, { params: { hash }, json: request })

/**
 * Deletes a key permanently. The key and its ephemeral keys stop working at once.
 *
 * @category calls
 * @since 0.1.0
 */
export const deleteKey = (hash: string): Effect.Effect<void, Failure, GatewayClient> =>
  Effect.asVoid(call(deleteKeyOperation, { params: { hash } }))
