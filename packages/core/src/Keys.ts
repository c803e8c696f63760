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
import { type CallOptions, GatewayClient, type PageOptions } from "./GatewayClient.ts"
import { BadRequest, Forbidden, InternalServerError, TooManyRequests, Unauthorized } from "./GatewayError.ts"
import { idempotencyHeaders } from "./Idempotency.ts"
import { KeyHash, Name, Page, Timestamp, WorkspaceId, WorkspaceScope } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { EphemeralRequest } from "./internal/ephemeralRequest.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

/**
 * A spending limit in credits, at least 0, with at most six decimal places. Null means no limit.
 *
 * @since 0.1.0
 */
export const SpendingLimit = Schema.NullOr(
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))
)

/**
 * An API key's record. `hash` identifies the key. The key's secret text is returned only once, when
 * the key is created.
 *
 * @since 0.1.0
 */
export const Key = Schema.Struct({
  hash: Schema.String,
  name: Schema.String,
  label: Schema.String,
  workspace_id: Schema.String,
  disabled: Schema.Boolean,
  is_management_key: Schema.Boolean,
  limit: Schema.NullOr(Schema.Finite),
  limit_remaining: Schema.NullOr(Schema.Finite),
  limit_reset: Schema.NullOr(LimitReset),
  include_byok_in_limit: Schema.Boolean,
  usage: Schema.Finite,
  guardrail_id: Schema.NullOr(Schema.String),
  creator_user_id: Schema.NullOr(Schema.String),
  created_at: Timestamp,
  updated_at: Timestamp,
  expires_at: Schema.NullOr(Timestamp),
  /**
   * Only on an ephemeral key: the hash of its parent, the key that created it. Name, limits, usage,
   * guardrail and workspace are the parent's.
   */
  parent_hash: Schema.optionalKey(Schema.String),
  /** Only on an ephemeral key with restricted operations: the identifiers of those it may call. */
  operations: Schema.optionalKey(Schema.Array(Schema.String)),
  /**
   * Only on an ephemeral key: whether it sees only the files and video jobs that it created itself.
   */
  own_files: Schema.optionalKey(Schema.Boolean),
  /** Only on an ordinary key: the number of its ephemeral keys that have not expired. */
  ephemeral_keys: Schema.optionalKey(Schema.Int)
})

/** @since 0.1.0 */
export type Key = { [Field in keyof typeof Key.Type]: (typeof Key.Type)[Field] }

/**
 * The properties of a new key.
 *
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  name: Name,
  /** Default: the caller's default workspace. */
  workspace_id: Schema.optionalKey(WorkspaceId),
  /**
   * If true, the key can manage keys, guardrails and workspaces but cannot spend. Default: false.
   */
  is_management_key: Schema.optionalKey(Schema.Boolean),
  limit: Schema.optionalKey(SpendingLimit),
  limit_reset: Schema.optionalKey(Schema.NullOr(LimitReset)),
  include_byok_in_limit: Schema.optionalKey(Schema.Boolean),
  expires_at: Schema.optionalKey(Schema.NullOr(Timestamp))
})

/** @since 0.1.0 */
export type CreateRequest = { [Field in keyof typeof CreateRequest.Type]: Written<typeof CreateRequest.Type, Field> }

/** Plain text in a response, and hidden from logs and JSON in a program. */
const Secret = Schema.RedactedFromValue(Schema.String)

/**
 * The new key. `key` is its secret text, which is never returned again. Read it with
 * `Redacted.value`.
 *
 * @since 0.1.0
 */
export const CreateResponse = Schema.Struct({ data: Key, key: Secret })

/** @since 0.1.0 */
export type CreateResponse = { [Field in keyof typeof CreateResponse.Type]: (typeof CreateResponse.Type)[Field] }

/**
 * The fields to change. Omitted fields keep their values.
 *
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  name: Schema.optionalKey(Name),
  disabled: Schema.optionalKey(Schema.Boolean),
  limit: Schema.optionalKey(SpendingLimit),
  limit_reset: Schema.optionalKey(Schema.NullOr(LimitReset)),
  include_byok_in_limit: Schema.optionalKey(Schema.Boolean),
  expires_at: Schema.optionalKey(Schema.NullOr(Timestamp))
})

/** @since 0.1.0 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/** @since 0.1.0 */
export const Response = Schema.Struct({ data: Key })

/** @since 0.1.0 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/** @since 0.1.0 */
export const ListResponse = Schema.Struct({ data: Schema.Array(Key), has_more: Schema.Boolean })

/** @since 0.1.0 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/** @since 0.1.0 */
export const DeleteResponse = Schema.Struct({ deleted: Schema.Literal(true) })

/** @since 0.1.0 */
export type DeleteResponse = { [Field in keyof typeof DeleteResponse.Type]: (typeof DeleteResponse.Type)[Field] }

export { type EphemeralOperation, ephemeralOperations, EphemeralRequest } from "./internal/ephemeralRequest.ts"

/**
 * The new ephemeral key. The response contains no secret of the parent key, so a server can pass it
 * to a page: encoded with this schema, because `JSON.stringify` hides the key. `expires_at` is
 * never later than the parent's expiry.
 *
 * @example
 * ```ts
 * import { Keys } from "@model-gateway/core"
 * import { Effect } from "effect"
 * import { HttpServerResponse } from "effect/http"
 *
 * const respond = HttpServerResponse.schemaJson(Keys.EphemeralResponse)
 * const token = Effect.flatMap(Keys.createEphemeral(), respond)
 * ```
 *
 * @since 0.1.0
 */
export const EphemeralResponse = Schema.Struct({
  /** The secret text, `mg_ek_…`. It is never returned again. */
  key: Secret,
  expires_at: Timestamp
})

/** @since 0.1.0 */
export type EphemeralResponse = {
  [Field in keyof typeof EphemeralResponse.Type]: (typeof EphemeralResponse.Type)[Field]
}

const key = { hash: KeyHash }

/**
 * POST `/keys`: 200, or one of 400 401 403 404 500. Management keys only, like all of `/keys`
 * except `/keys/ephemeral`. Supports `Idempotency-Key`: a repeated request returns the same key.
 *
 * @since 0.1.0
 */
export const createKey = Operation.make("createKey", "POST", "/keys", {
  access: "management key",
  idempotency: "by key",
  success: CreateResponse,
  error: managementErrors
})

/**
 * The request of {@link createKey}.
 *
 * @since 0.1.0
 */
export const createKeyEndpoint = Operation.endpoint(createKey, () => ({
  headers: idempotencyHeaders,
  payload: CreateRequest
}))

/**
 * POST `/keys/ephemeral`: 200, or one of 400 401 403 429 500. Any ordinary key.
 *
 * Creates a key (`mg_ek_…`) that lives for at most 15 minutes, for use where a secret cannot be
 * kept, such as in a web page. It has the parent key's permissions, unless the request restricts it
 * to some operations or to its own files. It spends from the parent's budget, counts towards the
 * parent's spending limit and rate limit, obeys the parent's guardrail, and stops working when the
 * parent does. Ephemeral keys and management keys cannot create ephemeral keys: 403.
 *
 * @since 0.1.0
 */
export const createEphemeralKey = Operation.make("createEphemeralKey", "POST", "/keys/ephemeral", {
  access: "ordinary key",
  idempotency: "always",
  success: EphemeralResponse,
  error: [BadRequest, Unauthorized, Forbidden, TooManyRequests, InternalServerError]
})

/**
 * The request of {@link createEphemeralKey}.
 *
 * @since 0.1.0
 */
export const createEphemeralKeyEndpoint = Operation.endpoint(createEphemeralKey, () => ({
  // Null: the request may have no body.
  payload: [EphemeralRequest, Schema.Null]
}))

/**
 * GET `/keys`: 200, or one of 400 401 403 404 500. Newest first. Ephemeral keys are listed only
 * when `parent_hash` names their parent.
 *
 * @since 0.1.0
 */
export const listKeys = Operation.make("listKeys", "GET", "/keys", {
  access: "management key",
  success: ListResponse,
  error: managementErrors
})

/**
 * The request of {@link listKeys}.
 *
 * @since 0.1.0
 */
export const listKeysEndpoint = Operation.endpoint(listKeys, () => ({
  query: {
    ...WorkspaceScope,
    ...Page,
    /** List only the unexpired ephemeral keys of this parent. */
    parent_hash: Schema.optionalKey(KeyHash)
  }
}))

/**
 * GET `/keys/{hash}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const getKey = Operation.make("getKey", "GET", "/keys/:hash", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link getKey}.
 *
 * @since 0.1.0
 */
export const getKeyEndpoint = Operation.endpoint(getKey, () => ({ params: key }))

/**
 * PATCH `/keys/{hash}`: 200, or one of 400 401 403 404 500. Changing an ephemeral key is a 400: its
 * properties come from its parent.
 *
 * @since 0.1.0
 */
export const updateKey = Operation.make("updateKey", "PATCH", "/keys/:hash", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link updateKey}.
 *
 * @since 0.1.0
 */
export const updateKeyEndpoint = Operation.endpoint(updateKey, () => ({ params: key, payload: UpdateRequest }))

/**
 * DELETE `/keys/{hash}`: 200, or one of 400 401 403 404 500. The key and its ephemeral keys stop
 * working at once.
 *
 * @since 0.1.0
 */
export const deleteKey = Operation.make("deleteKey", "DELETE", "/keys/:hash", {
  access: "management key",
  success: DeleteResponse,
  error: managementErrors
})

/**
 * The request of {@link deleteKey}.
 *
 * @since 0.1.0
 */
export const deleteKeyEndpoint = Operation.endpoint(deleteKey, () => ({ params: key }))

/**
 * The errors of {@link createEphemeral}.
 *
 * @since 0.1.0
 */
export type EphemeralFailure = Operation.ErrorOf<typeof createEphemeralKey> | ClientError

/**
 * The errors of the other functions of this module.
 *
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof createKey> | ClientError

/**
 * Creates a key that lives for at most 15 minutes and spends from the calling key's budget. A
 * server calls this and passes the response to a page, which cannot keep a secret: see
 * {@link EphemeralResponse}. `expires_in` is in seconds, from 1 to 900 (default: 900). Management
 * keys and ephemeral keys fail with `Forbidden`. If the response to an attempt is lost, its key
 * stays unused until it expires.
 *
 * @since 0.1.0
 */
export const createEphemeral = (
  request: EphemeralRequest = {}
): Effect.Effect<EphemeralResponse, EphemeralFailure, GatewayClient> => call(createEphemeralKey, { json: request })

/**
 * Creates a key. Only this response contains its secret text. A call with the same idempotency key
 * and the same request within 24 hours returns it again. Management keys only, like all functions
 * below.
 *
 * @since 0.1.0
 */
export const create = (
  request: CreateRequest,
  options?: CallOptions
): Effect.Effect<CreateResponse, Failure, GatewayClient> => call(createKey, { ...options, json: request })

/**
 * Lists keys, newest first. With `parent_hash`: that key's unexpired ephemeral keys.
 *
 * @since 0.1.0
 */
export const list = (
  options?: PageOptions & {
    readonly workspace_id?: string | undefined
    readonly parent_hash?: string | undefined
  }
): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  Effect.flatMap(GatewayClient, ({ workspaceId }) =>
    call(listKeys, { query: { ...options, workspace_id: options?.workspace_id ?? workspaceId } })
  )

/** @since 0.1.0 */
export const get = (hash: string): Effect.Effect<Key, Failure, GatewayClient> =>
  dataOf(call(getKey, { params: { hash } }))

/** @since 0.1.0 */
export const update = (hash: string, request: UpdateRequest): Effect.Effect<Key, Failure, GatewayClient> =>
  dataOf(call(updateKey, { params: { hash }, json: request }))

/** @since 0.1.0 */
export const remove = (hash: string): Effect.Effect<void, Failure, GatewayClient> =>
  Effect.asVoid(call(deleteKey, { params: { hash } }))
