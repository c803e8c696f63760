/**
 * Provider keys that callers store ("bring your own key"): `/byok`, for management keys.
 *
 * A request of the workspace then uses the stored key at its provider, and the provider bills the
 * owner of that key. The secret is stored encrypted and never returned.
 *
 * An addition to the specification. Its shapes are those of OpenRouter's API.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient, OffsetPageOptions } from "./GatewayClient.ts"
import { ByokKeyId, OffsetPage, Timestamp, WorkspaceId, WorkspaceScope } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

/**
 * A provider, as in `provider.order` of a request: 1 to 128 characters, such as `cohere`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ProviderName = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(128))

/** A name that people choose. Null: none. */
const KeyName = Schema.NullOr(Schema.String.check(isMaxCharacters(256)))

/** A restriction to some names. Null: no restriction. */
const Allowed = Schema.NullOr(
  Schema.Array(Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(1000)
  )
)

/** The provider's key: 1 to 4096 printable ASCII characters without spaces. */
const Secret = Schema.String.check(
  Schema.isPattern(/^[\x21-\x7e]{1,4096}$/u, {
    expected: "1 to 4096 printable ASCII characters without spaces"
  })
)

/**
 * A stored provider key. It never contains the secret; `label` shows a few of its characters.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ByokKey = Schema.Struct({
  /** Identifier of the stored key: a UUID. */
  id: Schema.String,
  /** The provider that the key is for. */
  provider: Schema.String,
  /** A name that people choose. Null: none. */
  name: Schema.NullOr(Schema.String),
  /** The provider's key with most of its characters hidden. */
  label: Schema.String,
  /** The workspace whose requests use the key. */
  workspace_id: Schema.NullOr(Schema.String),
  /** True if no request uses the key. */
  disabled: Schema.Boolean,
  /** Used after the gateway's own keys instead of before them. */
  is_fallback: Schema.Boolean,
  /** The gateway's own key for the provider is not used for the models that this key is for. */
  is_required: Schema.Boolean,
  /** The gateway's own key for the provider is not used for any model. */
  is_byok_only: Schema.Boolean,
  /** What its owner declares of the account. False: not used for requests with `provider.zdr`. */
  declared_zdr: Schema.NullOr(Schema.Boolean),
  /** The hashes of the API keys that may use it. Null: all of the workspace. */
  allowed_api_key_hashes: Schema.NullOr(Schema.Array(Schema.String)),
  /** The models it is for. Null: all. */
  allowed_models: Schema.NullOr(Schema.Array(Schema.String)),
  /** The users whose API keys may use it. Null: all. */
  allowed_user_ids: Schema.NullOr(Schema.Array(Schema.String)),
  /** Keys for the same provider are tried in ascending order. */
  sort_order: Schema.Int,
  created_at: Timestamp,
  /** When a call with the key ended last, known within a minute. Null: none did. */
  last_used_at: Schema.optionalKey(Schema.NullOr(Timestamp)),
  /**
   * How that call ended: `Success`, or what went wrong, as in the attempts of the request log, such
   * as `Unauthorized`. Null: there was none.
   */
  last_outcome: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** The HTTP status of the provider's error in that call. Null: none. */
  last_status: Schema.optionalKey(Schema.NullOr(Schema.Int))
})

/**
 * @category models
 * @since 0.1.0
 */
export type ByokKey = { [Field in keyof typeof ByokKey.Type]: (typeof ByokKey.Type)[Field] }

const options = {
  /** A name that people choose, at most 256 characters. Null: none. */
  name: Schema.optionalKey(KeyName),
  /** If true, no request uses the key. Default: false. */
  disabled: Schema.optionalKey(Schema.Boolean),
  /**
   * Whether the key is used after the gateway's own keys instead of before them. Cannot be combined
   * with `is_byok_only`. Default: false.
   */
  is_fallback: Schema.optionalKey(Schema.Boolean),
  /**
   * Whether the gateway's own key for the provider is not used for the models that this key is for.
   * Default: false.
   */
  is_required: Schema.optionalKey(Schema.Boolean),
  /** Whether the gateway's own key for the provider is not used for any model. Default: false. */
  is_byok_only: Schema.optionalKey(Schema.Boolean),
  /**
   * Whether the account has zero data retention. False: requests with `provider.zdr` do not use the
   * key. True and null change nothing: what counts is what the provider declares. Default: null.
   */
  declared_zdr: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  /**
   * The hashes of the API keys that may use it, 1 to 1000, all of the organization. Null: all keys.
   */
  allowed_api_key_hashes: Schema.optionalKey(Allowed),
  /** The models it is for, 1 to 1000. Null: all. */
  allowed_models: Schema.optionalKey(Allowed),
  /** The users whose API keys may use it, 1 to 1000. Null: all. */
  allowed_user_ids: Schema.optionalKey(Allowed)
}

/**
 * A key to store.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  ...options,
  provider: ProviderName,
  /** The provider's key. It is encrypted and never returned. */
  key: Secret,
  /** Default: the caller's default workspace. */
  workspace_id: Schema.optionalKey(WorkspaceId)
})

/**
 * @category models
 * @since 0.1.0
 */
export type CreateRequest = { [Field in keyof typeof CreateRequest.Type]: Written<typeof CreateRequest.Type, Field> }

/**
 * The fields to change. Omitted fields keep their values. `key` replaces the secret.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  ...options,
  /** The provider's new key. It is encrypted and never returned. Default: the key stays. */
  key: Schema.optionalKey(Secret),
  /**
   * The place among the keys for the same provider, which are tried in ascending order: 0 to
   * 1,000,000. Of two with the same place, the one that was created first is tried first. A new key
   * is the last.
   */
  sort_order: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })))
})

/**
 * @category models
 * @since 0.1.0
 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/**
 * The stored key.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({ data: ByokKey })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * A page of stored keys.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** The keys of this page, in the order of creation. */
  data: Schema.Array(ByokKey),
  /** The number of keys that match the query, on all pages. */
  total_count: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

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

/**
 * What a call with a key says of it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TestResult = Schema.Struct({
  /**
   * Whether the provider takes the key. False: it refuses it, or the account has no credit. Null:
   * its answer does not say, or no call was made.
   */
  accepted: Schema.NullOr(Schema.Boolean),
  /**
   * `Success`, or what went wrong, as in the attempts of the request log. `NotTried`: no model of
   * the provider is cheap enough, or the key cannot be decrypted.
   */
  outcome: Schema.String,
  /** The HTTP status of the provider's error. Null: none. */
  status: Schema.NullOr(Schema.Int),
  /** What the provider says of the error. Null: nothing. */
  message: Schema.NullOr(Schema.String),
  /** The model that was called. Null: none was. */
  model: Schema.NullOr(Schema.String),
  /** How long it took, in milliseconds. */
  duration_ms: Schema.Finite
})

/**
 * @category models
 * @since 0.1.0
 */
export type TestResult = { [Field in keyof typeof TestResult.Type]: (typeof TestResult.Type)[Field] }

/**
 * What the call says of the key.
 *
 * @category schemas
 * @since 0.1.0
 */
export const TestResponse = Schema.Struct({ data: TestResult })

/**
 * @category models
 * @since 0.1.0
 */
export type TestResponse = { [Field in keyof typeof TestResponse.Type]: (typeof TestResponse.Type)[Field] }

const params = { id: ByokKeyId }

const exampleId = "1c9a5a0e-7d5e-4a51-8e0b-0f9d3c6c2b40"

const exampleKey = () => ({
  id: exampleId,
  provider: "cohere",
  name: "Our Cohere account",
  label: "abc...xyz",
  workspace_id: "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11",
  disabled: false,
  is_fallback: false,
  is_required: false,
  is_byok_only: false,
  declared_zdr: null,
  allowed_api_key_hashes: null,
  allowed_models: ["cohere/rerank-v3.5"],
  allowed_user_ids: null,
  sort_order: 0,
  created_at: "2026-11-20T22:30:00.000Z",
  last_used_at: "2026-11-20T23:02:11.000Z",
  last_outcome: "Success",
  last_status: null
})

/**
 * @category operations
 * @since 0.1.0
 */
export const createByokKeyOperation = Operation.make("createByokKey", "POST", "/byok", {
  access: "management key",
  success: Response.annotate({ httpApiStatus: 201 }),
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const createByokKeyEndpoint = Operation.endpoint(createByokKeyOperation, () => ({
  payload: CreateRequest,
  reference: {
    summary: "Store a provider key",
    example: {
      request: {
        provider: "cohere",
        key: "the-key-that-cohere-gave-you",
        name: "Our Cohere account",
        allowed_models: ["cohere/rerank-v3.5"]
      },
      response: { data: exampleKey() }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listByokKeysOperation = Operation.make("listByokKeys", "GET", "/byok", {
  access: "management key",
  scope: "workspace",
  success: ListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listByokKeysEndpoint = Operation.endpoint(listByokKeysOperation, () => ({
  query: {
    ...WorkspaceScope,
    /** Only the keys for this provider. */
    provider: Schema.optionalKey(ProviderName),
    ...OffsetPage
  },
  reference: {
    summary: "List provider keys",
    example: { query: { provider: "cohere" }, response: { data: [exampleKey()], total_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getByokKeyOperation = Operation.make("getByokKey", "GET", "/byok/:id", {
  access: "management key",
  scope: "workspace",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getByokKeyEndpoint = Operation.endpoint(getByokKeyOperation, () => ({
  params,
  reference: {
    summary: "Get a provider key",
    example: { params: { id: exampleId }, response: { data: exampleKey() } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const updateByokKeyOperation = Operation.make("updateByokKey", "PATCH", "/byok/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const updateByokKeyEndpoint = Operation.endpoint(updateByokKeyOperation, () => ({
  params,
  payload: UpdateRequest,
  reference: {
    summary: "Change a provider key",
    example: {
      params: { id: exampleId },
      request: { disabled: true },
      response: { data: { ...exampleKey(), disabled: true } }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const deleteByokKeyOperation = Operation.make("deleteByokKey", "DELETE", "/byok/:id", {
  access: "management key",
  success: DeleteResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const deleteByokKeyEndpoint = Operation.endpoint(deleteByokKeyOperation, () => ({
  params,
  reference: {
    summary: "Delete a provider key",
    example: { params: { id: exampleId }, response: { deleted: true } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const testByokKeyOperation = Operation.make("testByokKey", "POST", "/byok/:id/test", {
  access: "management key",
  success: TestResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const testByokKeyEndpoint = Operation.endpoint(testByokKeyOperation, () => ({
  params,
  reference: {
    summary: "Test a provider key",
    example: {
      params: { id: exampleId },
      response: {
        data: {
          accepted: false,
          outcome: "Unauthorized",
          status: 401,
          message: "invalid api token",
          model: "cohere/rerank-v3.5",
          duration_ms: 142
        }
      }
    }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getByokKeyOperation> | ClientError

/**
 * Selects the keys to list.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions extends OffsetPageOptions {
  readonly workspace_id?: string | undefined
  readonly provider?: string | undefined
}

/**
 * Stores a key of yours for a provider. Requests of the workspace use it after those that are stored
 * for the provider already.
 *
 * @example
 * ```ts
 * import { Byok } from "@model-gateway/core"
 *
 * declare const key: string
 *
 * const stored = Byok.createByokKey({ provider: "cohere", key, name: "Search team" })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const createByokKey = (request: CreateRequest): Effect.Effect<ByokKey, Failure, GatewayClient> =>
  dataOf(call(createByokKeyOperation, { json: request }))

/**
 * Lists the stored keys in the order of creation.
 *
 * @category calls
 * @since 0.1.0
 */
export const listByokKeys = (options: ListOptions = {}): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listByokKeysOperation, { query: { ...options } })

/**
 * Returns a stored key without its secret.
 *
 * @category calls
 * @since 0.1.0
 */
export const getByokKey = (id: string): Effect.Effect<ByokKey, Failure, GatewayClient> =>
  dataOf(call(getByokKeyOperation, { params: { id } }))

/**
 * Changes a stored key, or replaces its secret.
 *
 * @category calls
 * @since 0.1.0
 */
export const updateByokKey = (id: string, request: UpdateRequest): Effect.Effect<ByokKey, Failure, GatewayClient> =>
  dataOf(call(updateByokKeyOperation, { params: { id }, json: request }))

/**
 * Deletes a stored key. Video jobs that were submitted with it fail.
 *
 * @category calls
 * @since 0.1.0
 */
export const deleteByokKey = (id: string): Effect.Effect<void, Failure, GatewayClient> =>
  Effect.asVoid(call(deleteByokKeyOperation, { params: { id } }))

/**
 * Calls the cheapest model of the provider once with a stored key, also with a disabled one, and
 * returns what the answer says of the key: one short document to rank, or a fifth of a second of
 * silence to transcribe. The provider bills it. The gateway charges nothing.
 *
 * @category calls
 * @since 0.1.0
 */
export const testByokKey = (id: string): Effect.Effect<TestResult, Failure, GatewayClient> =>
  dataOf(call(testByokKeyOperation, { params: { id } }))
