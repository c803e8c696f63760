/**
 * API keys, managed by a management key: `/keys`; and the short-lived ones that an
 * ordinary key makes of itself: `/keys/ephemeral`.
 *
 * Beyond the specification, which leaves open how keys are issued.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { LimitReset } from "./CurrentKey.ts"
import { BadRequest, Forbidden, InternalServerError, NotFound, TooManyRequests, Unauthorized } from "./GatewayError.ts"
import { Timestamp, WorkspaceId } from "./Identifiers.ts"
import { isMaxItems } from "./internal/bounds.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import * as Operation from "./Operation.ts"

const Name = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))

/**
 * A spending limit: credits from 0, in steps of a millionth; null for none.
 *
 * @since 0.1.0
 */
export const SpendingLimit = Schema.NullOr(
  Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))
)

/**
 * A key as management sees it. `hash` names it; the key itself is shown once, on
 * creation.
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
   * Only on an ephemeral key: the hash of the key that it was made from. Name, limits, usage,
   * guardrail and workspace are then that key's.
   */
  parent_hash: Schema.optionalKey(Schema.String),
  /** Only on an ephemeral key that is limited to some operations: their identifiers. */
  operations: Schema.optionalKey(Schema.Array(Schema.String)),
  /**
   * Only on an ephemeral key: whether it sees only the files and video jobs that it made itself.
   */
  own_files: Schema.optionalKey(Schema.Boolean),
  /** Only on an ordinary key: how many ephemeral keys made from it have not expired. */
  ephemeral_keys: Schema.optionalKey(Schema.Int)
})

/** @since 0.1.0 */
export type Key = typeof Key.Type

/**
 * What a new key is to be.
 *
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  name: Name,
  /** The caller's default workspace unless told. */
  workspace_id: Schema.optionalKey(WorkspaceId),
  /** True: the key manages and cannot spend; false unless told. */
  is_management_key: Schema.optionalKey(Schema.Boolean),
  limit: Schema.optionalKey(SpendingLimit),
  limit_reset: Schema.optionalKey(Schema.NullOr(LimitReset)),
  include_byok_in_limit: Schema.optionalKey(Schema.Boolean),
  expires_at: Schema.optionalKey(Schema.NullOr(Timestamp))
})

/** @since 0.1.0 */
export type CreateRequest = typeof CreateRequest.Type

/**
 * The new key: `key` is shown this once.
 *
 * @since 0.1.0
 */
export const CreateResponse = Schema.Struct({ data: Key, key: Schema.String })

/** @since 0.1.0 */
export type CreateResponse = typeof CreateResponse.Type

/**
 * What to change; fields left out stay as they are.
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
export type UpdateRequest = typeof UpdateRequest.Type

/** @since 0.1.0 */
export const Response = Schema.Struct({ data: Key })

/** @since 0.1.0 */
export type Response = typeof Response.Type

/** @since 0.1.0 */
export const ListResponse = Schema.Struct({ data: Schema.Array(Key), has_more: Schema.Boolean })

/** @since 0.1.0 */
export type ListResponse = typeof ListResponse.Type

/** @since 0.1.0 */
export const DeleteResponse = Schema.Struct({ deleted: Schema.Literal(true) })

/** @since 0.1.0 */
export type DeleteResponse = typeof DeleteResponse.Type

/**
 * The operations that an ephemeral key can be limited to: all that an ordinary key may call,
 * but for making further ephemeral keys.
 *
 * @since 0.1.0
 */
export const ephemeralOperations = [
  "deleteFile",
  "uploadFile",
  "listFiles",
  "getFile",
  "getFileContent",
  "currentKey",
  "rerank",
  "transcribe",
  "submitVideo",
  "getVideo",
  "getVideoContent",
  "cancelVideo",
  "listModels"
] as const

/** @since 0.1.0 */
export type EphemeralOperation = (typeof ephemeralOperations)[number]

const isEphemeralOperation = (name: string): name is EphemeralOperation =>
  ephemeralOperations.some((operation) => operation === name)

/** A `Literals` would not say which name is unknown. */
const EphemeralOperation = Schema.String.check(
  Schema.makeFilter(
    (name: string) =>
      isEphemeralOperation(name) ||
      `Expected one of ${ephemeralOperations.join(", ")}; ${JSON.stringify(name.slice(0, 64))} is not an operation that an ephemeral key may call`,
    {
      ...Schema.isPattern(new RegExp(`^(?:${ephemeralOperations.join("|")})$`)).annotations,
      toJsonSchema: () => ({ enum: [...ephemeralOperations] })
    },
    true
  )
).pipe(Schema.refine(isEphemeralOperation))

/**
 * How long the new ephemeral key is to live and what it may do. Every field is optional.
 *
 * @since 0.1.0
 */
export const EphemeralRequest = Schema.Struct({
  /** Seconds from 1 to 900. Default: 900, which is 15 minutes. */
  expires_in: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 900 }))),
  /**
   * The operations that the key may call, by their identifiers, such as `rerank`: 1 to 64 of those
   * in {@link ephemeralOperations}. Any other is a 403, except GET `/key`, which every key may
   * call. Default: all that the parent may call.
   */
  operations: Schema.optionalKey(Schema.NonEmptyArray(EphemeralOperation).check(isMaxItems(64))),
  /**
   * True: of the workspace's files and video jobs, the key sees only those that it made itself; any
   * other is a 404. Default: false.
   */
  own_files: Schema.optionalKey(Schema.Boolean)
})

/** @since 0.1.0 */
export type EphemeralRequest = typeof EphemeralRequest.Type

/**
 * The new ephemeral key. It holds nothing of the key that it was made from, so that
 * a server may hand it on to a page as it is. `expires_at` is never later than the
 * end of that key.
 *
 * @since 0.1.0
 */
export const EphemeralResponse = Schema.Struct({
  /** `mg_ek_…`, shown this once. */
  key: Schema.String,
  expires_at: Timestamp
})

/** @since 0.1.0 */
export type EphemeralResponse = typeof EphemeralResponse.Type

const error = [BadRequest, Unauthorized, Forbidden, NotFound, InternalServerError] as const

/**
 * POST `/keys`: 200, or one of 400 401 403 404 500. Management keys only, as all of `/keys`.
 *
 * @since 0.1.0
 */
export const createKey = Operation.make("createKey", "POST", "/keys", { success: CreateResponse, error })

/**
 * POST `/keys/ephemeral`: 200, or one of 400 401 403 429 500. Any ordinary key.
 *
 * Makes a key (`mg_ek_…`) that lives for at most 15 minutes, for places that cannot
 * keep a secret, such as a page. It may do what the key that it was made from may do, unless the
 * request limits it to some operations or to files of its own. It spends that key's
 * budget under its limits, its rate and its guardrail, and ends with it. It cannot make
 * another, nor can a management key: 403.
 *
 * @since 0.1.0
 */
export const createEphemeralKey = Operation.make("createEphemeralKey", "POST", "/keys/ephemeral", {
  success: EphemeralResponse,
  error: [BadRequest, Unauthorized, Forbidden, TooManyRequests, InternalServerError]
})

/**
 * GET `/keys`: 200, or one of 400 401 403 404 500. Newest first. Ephemeral keys are not
 * among them, unless `parent_hash` asks for those of one key.
 *
 * @since 0.1.0
 */
export const listKeys = Operation.make("listKeys", "GET", "/keys", { success: ListResponse, error })

/**
 * GET `/keys/{hash}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const getKey = Operation.make("getKey", "GET", "/keys/:hash", { success: Response, error })

/**
 * PATCH `/keys/{hash}`: 200, or one of 400 401 403 404 500. An ephemeral key follows the
 * key that it was made from and cannot be changed: 400.
 *
 * @since 0.1.0
 */
export const updateKey = Operation.make("updateKey", "PATCH", "/keys/:hash", { success: Response, error })

/**
 * DELETE `/keys/{hash}`: 200, or one of 400 401 403 404 500. The key stops at once, and
 * the ephemeral keys made from it with it.
 *
 * @since 0.1.0
 */
export const deleteKey = Operation.make("deleteKey", "DELETE", "/keys/:hash", { success: DeleteResponse, error })
