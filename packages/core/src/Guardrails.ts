/**
 * Guardrails: POST `/guardrails/{id}/assignments/keys`, and creating, listing, reading, updating
 * and deleting guardrails.
 *
 * Specification: "6. POST /guardrails/{id}/assignments/keys", "Guardrail key
 * assignment result".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { LimitReset } from "./CurrentKey.ts"
import type { GatewayClient, PageOptions } from "./GatewayClient.ts"
import { GuardrailId, KeyHash, Name, Page, Timestamp } from "./Identifiers.ts"
import { isMaxItems } from "./internal/bounds.ts"
import { call, dataOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { SpendingLimit } from "./Keys.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

const guardrail = { id: GuardrailId }

const Description = Schema.NullOr(Schema.String.check(isMaxCharacters(2048)))
const AllowList = Schema.NullOr(
  Schema.Array(Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))).check(isMaxItems(10_000))
)

/**
 * Limits what its keys may spend and which models and providers they may use. If a list is null,
 * all are allowed.
 *
 * @since 0.1.0
 */
export const Guardrail = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  description: Schema.NullOr(Schema.String),
  /** Credits that all its keys together may spend in a period. Null: no limit. */
  limit: Schema.NullOr(Schema.Finite),
  limit_reset: Schema.NullOr(LimitReset),
  allowed_models: Schema.NullOr(Schema.Array(Schema.String)),
  allowed_providers: Schema.NullOr(Schema.Array(Schema.String)),
  created_at: Timestamp,
  updated_at: Timestamp
})

/** @since 0.1.0 */
export type Guardrail = { [Field in keyof typeof Guardrail.Type]: (typeof Guardrail.Type)[Field] }

/** @since 0.1.0 */
export const CreateRequest = Schema.Struct({
  name: Name,
  description: Schema.optionalKey(Description),
  limit: Schema.optionalKey(SpendingLimit),
  limit_reset: Schema.optionalKey(Schema.NullOr(LimitReset)),
  allowed_models: Schema.optionalKey(AllowList),
  allowed_providers: Schema.optionalKey(AllowList)
})

/** @since 0.1.0 */
export type CreateRequest = { [Field in keyof typeof CreateRequest.Type]: Written<typeof CreateRequest.Type, Field> }

/**
 * The fields to change. Omitted fields keep their values.
 *
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  name: Schema.optionalKey(Name),
  description: Schema.optionalKey(Description),
  limit: Schema.optionalKey(SpendingLimit),
  limit_reset: Schema.optionalKey(Schema.NullOr(LimitReset)),
  allowed_models: Schema.optionalKey(AllowList),
  allowed_providers: Schema.optionalKey(AllowList)
})

/** @since 0.1.0 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/** @since 0.1.0 */
export const Response = Schema.Struct({ data: Guardrail })

/** @since 0.1.0 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/** @since 0.1.0 */
export const ListResponse = Schema.Struct({ data: Schema.Array(Guardrail), has_more: Schema.Boolean })

/** @since 0.1.0 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/** @since 0.1.0 */
export const DeleteResponse = Schema.Struct({ deleted: Schema.Literal(true) })

/** @since 0.1.0 */
export type DeleteResponse = { [Field in keyof typeof DeleteResponse.Type]: (typeof DeleteResponse.Type)[Field] }

/**
 * The keys to assign: 1 to 10,000 hashes.
 *
 * @since 0.1.0
 */
export const AssignRequest = Schema.Struct({ key_hashes: Schema.NonEmptyArray(KeyHash).check(isMaxItems(10_000)) })

/** @since 0.1.0 */
export type AssignRequest = { [Field in keyof typeof AssignRequest.Type]: Written<typeof AssignRequest.Type, Field> }

/**
 * The result of an assignment. `assigned_count` counts each known hash of the caller's organization
 * once, including keys that were assigned already.
 *
 * @since 0.1.0
 */
export const AssignResponse = Schema.Struct({
  assigned_count: Schema.Int,
  /** Hashes that match no key of the organization. */
  not_found: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Keys that were assigned to another guardrail before. */
  replaced: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        key_hash: Schema.String,
        previous_guardrail_id: Schema.String
      })
    )
  )
})

/** @since 0.1.0 */
export type AssignResponse = { [Field in keyof typeof AssignResponse.Type]: (typeof AssignResponse.Type)[Field] }

/** @since 0.1.0 */
export const UnassignResponse = Schema.Struct({ unassigned_count: Schema.Int })

/** @since 0.1.0 */
export type UnassignResponse = { [Field in keyof typeof UnassignResponse.Type]: (typeof UnassignResponse.Type)[Field] }

/** @since 0.1.0 */
export const AssignmentList = Schema.Struct({
  data: Schema.Array(
    Schema.Struct({
      key_hash: Schema.String,
      key_name: Schema.String,
      key_label: Schema.String,
      guardrail_id: Schema.String
    })
  ),
  has_more: Schema.Boolean
})

/** @since 0.1.0 */
export type AssignmentList = { [Field in keyof typeof AssignmentList.Type]: (typeof AssignmentList.Type)[Field] }

/**
 * POST `/guardrails/{id}/assignments/keys`: 200, or one of 400 401 403 404 500. A key has at most
 * one guardrail: a new assignment replaces the old one. Management keys only, like all of
 * `/guardrails`.
 *
 * @since 0.1.0
 */
export const assignKeys = Operation.make("assignKeys", "POST", "/guardrails/:id/assignments/keys", {
  access: "management key",
  idempotency: "always",
  success: AssignResponse,
  error: managementErrors
})

/**
 * The request of {@link assignKeys}.
 *
 * @since 0.1.0
 */
export const assignKeysEndpoint = Operation.endpoint(assignKeys, () => ({ params: guardrail, payload: AssignRequest }))

/**
 * POST `/guardrails/{id}/assignments/keys/remove`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const unassignKeys = Operation.make("unassignKeys", "POST", "/guardrails/:id/assignments/keys/remove", {
  access: "management key",
  idempotency: "always",
  success: UnassignResponse,
  error: managementErrors
})

/**
 * The request of {@link unassignKeys}.
 *
 * @since 0.1.0
 */
export const unassignKeysEndpoint = Operation.endpoint(unassignKeys, () => ({
  params: guardrail,
  payload: AssignRequest
}))

/**
 * GET `/guardrails/{id}/assignments/keys`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const listAssignments = Operation.make("listAssignments", "GET", "/guardrails/:id/assignments/keys", {
  access: "management key",
  success: AssignmentList,
  error: managementErrors
})

/**
 * The request of {@link listAssignments}.
 *
 * @since 0.1.0
 */
export const listAssignmentsEndpoint = Operation.endpoint(listAssignments, () => ({ params: guardrail, query: Page }))

/**
 * POST `/guardrails`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const createGuardrail = Operation.make("createGuardrail", "POST", "/guardrails", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link createGuardrail}.
 *
 * @since 0.1.0
 */
export const createGuardrailEndpoint = Operation.endpoint(createGuardrail, () => ({ payload: CreateRequest }))

/**
 * GET `/guardrails`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const listGuardrails = Operation.make("listGuardrails", "GET", "/guardrails", {
  access: "management key",
  success: ListResponse,
  error: managementErrors
})

/**
 * The request of {@link listGuardrails}.
 *
 * @since 0.1.0
 */
export const listGuardrailsEndpoint = Operation.endpoint(listGuardrails, () => ({ query: Page }))

/**
 * GET `/guardrails/{id}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const getGuardrail = Operation.make("getGuardrail", "GET", "/guardrails/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link getGuardrail}.
 *
 * @since 0.1.0
 */
export const getGuardrailEndpoint = Operation.endpoint(getGuardrail, () => ({ params: guardrail }))

/**
 * PATCH `/guardrails/{id}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const updateGuardrail = Operation.make("updateGuardrail", "PATCH", "/guardrails/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link updateGuardrail}.
 *
 * @since 0.1.0
 */
export const updateGuardrailEndpoint = Operation.endpoint(updateGuardrail, () => ({
  params: guardrail,
  payload: UpdateRequest
}))

/**
 * DELETE `/guardrails/{id}`: 200, or one of 400 401 403 404 500. Its keys have no guardrail
 * afterwards.
 *
 * @since 0.1.0
 */
export const deleteGuardrail = Operation.make("deleteGuardrail", "DELETE", "/guardrails/:id", {
  access: "management key",
  success: DeleteResponse,
  error: managementErrors
})

/**
 * The request of {@link deleteGuardrail}.
 *
 * @since 0.1.0
 */
export const deleteGuardrailEndpoint = Operation.endpoint(deleteGuardrail, () => ({ params: guardrail }))

/**
 * The errors of the functions of this module.
 *
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof assignKeys> | ClientError

/**
 * Assigns keys, named by their hashes, to a guardrail. It replaces the guardrail that a key had
 * before. Management keys only.
 *
 * @since 0.1.0
 */
export const assign = (
  guardrailId: string,
  request: AssignRequest
): Effect.Effect<AssignResponse, Failure, GatewayClient> =>
  call(assignKeys, { params: { id: guardrailId }, json: request })

/**
 * Removes keys from a guardrail.
 *
 * @since 0.1.0
 */
export const unassign = (
  guardrailId: string,
  request: AssignRequest
): Effect.Effect<UnassignResponse, Failure, GatewayClient> =>
  call(unassignKeys, { params: { id: guardrailId }, json: request })

/**
 * Lists the keys of a guardrail.
 *
 * @since 0.1.0
 */
export const assignments = (
  guardrailId: string,
  options?: PageOptions
): Effect.Effect<AssignmentList, Failure, GatewayClient> =>
  call(listAssignments, { params: { id: guardrailId }, query: { ...options } })

/** @since 0.1.0 */
export const create = (request: CreateRequest): Effect.Effect<Guardrail, Failure, GatewayClient> =>
  dataOf(call(createGuardrail, { json: request }))

/** @since 0.1.0 */
export const list = (options?: PageOptions): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listGuardrails, { query: { ...options } })

/** @since 0.1.0 */
export const get = (id: string): Effect.Effect<Guardrail, Failure, GatewayClient> =>
  dataOf(call(getGuardrail, { params: { id } }))

/** @since 0.1.0 */
export const update = (id: string, request: UpdateRequest): Effect.Effect<Guardrail, Failure, GatewayClient> =>
  dataOf(call(updateGuardrail, { params: { id }, json: request }))

/** @since 0.1.0 */
export const remove = (id: string): Effect.Effect<void, Failure, GatewayClient> =>
  Effect.asVoid(call(deleteGuardrail, { params: { id } }))
