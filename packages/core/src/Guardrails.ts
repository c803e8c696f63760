/**
 * Guardrails: creates, lists, reads, updates and deletes them, and assigns keys to them.
 *
 * Specification: "POST /guardrails/{id}/assignments/keys".
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { guardrailFields, guardrailRequestFields } from "./dialect/guardrailFields.ts"
import { LimitReset } from "./CurrentKey.ts"
import type { GatewayClient, OffsetPageOptions } from "./GatewayClient.ts"
import { GuardrailId, KeyHash, Name, OffsetPage, Timestamp, WorkspaceId } from "./Identifiers.ts"
import { isMaxItems, isMaxJsonBytes } from "./internal/bounds.ts"
import { call, dataOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { SpendingLimit } from "./Keys.ts"
import { open, orNull } from "./internal/open.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

const guardrail = {
  /** The guardrail's identifier: a UUID. */
  id: GuardrailId
}

const Description = Schema.NullOr(Schema.String.check(isMaxCharacters(2048)))

/** A page has up to 100 guardrails, which keep other requests waiting while they are encoded. */
const Names = Schema.NullOr(
  Schema.Array(Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))).check(
    isMaxItems(1000),
    isMaxJsonBytes(65_536)
  )
)

/**
 * A key of a guardrail.
 *
 * @category schemas
 * @since 0.1.0
 */
export const GuardrailKey = Schema.Struct({
  /** The hash of the key. */
  hash: Schema.String,
  /** The name of the key. */
  name: Schema.String,
  /** The key's prefix and its last three characters, such as `mg_sk_…a1Z`. */
  label: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type GuardrailKey = { [Field in keyof typeof GuardrailKey.Type]: (typeof GuardrailKey.Type)[Field] }

/**
 * Limits what its keys may spend and which models and providers they may use.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Guardrail = Schema.Struct({
  /** The guardrail's identifier: a UUID. */
  id: Schema.String,
  /** The name, 1 to 256 characters. */
  name: Schema.String,
  /** What the guardrail is for. Null: no description. */
  description: Schema.NullOr(Schema.String),
  /**
   * The workspace that the guardrail is listed in. It has no effect on which keys the guardrail can
   * be assigned to. Null: none, for example because the workspace was deleted.
   */
  workspace_id: Schema.NullOr(Schema.String),
  /**
   * The credits (1 credit = 1 USD) that all its keys together may spend in one `reset_interval`.
   * Null: no limit.
   */
  limit_usd: Schema.NullOr(Schema.Finite),
  /** The UTC period after which the limit resets. Null: it never resets. */
  reset_interval: Schema.NullOr(LimitReset),
  /** When the limit resets next. Null: it never resets. */
  resets_at: Schema.NullOr(Timestamp),
  /**
   * The credits of `limit_usd` that are left, without what requests in progress have reserved; 0 or
   * more. Null: no limit.
   */
  limit_remaining: Schema.NullOr(Schema.Finite),
  /** The credits that its keys have spent with it in all. */
  usage: Schema.Finite,
  /** The credits that its keys have spent with it today, in UTC. */
  usage_daily: Schema.Finite,
  /** The credits that its keys have spent with it this week, in UTC from Monday. */
  usage_weekly: Schema.Finite,
  /** The credits that its keys have spent with it this month, in UTC. */
  usage_monthly: Schema.Finite,
  /** The keys that were assigned to it first, at most 10. {@link listAssignments} lists all. */
  keys: Schema.Array(GuardrailKey),
  /** The number of all its keys. */
  key_count: Schema.Int,
  /**
   * The only models that its keys may use. An entry is a model's id, or a prefix that ends in `/*`,
   * such as `cohere/*`. Null: all models.
   */
  allowed_models: Schema.NullOr(Schema.Array(Schema.String)),
  /**
   * The models that its keys may not use, even if `allowed_models` has them. Entries as in
   * `allowed_models`. Null: none.
   */
  ignored_models: Schema.NullOr(Schema.Array(Schema.String)),
  /** The only providers that may serve its keys, such as `cohere`. Null: all providers. */
  allowed_providers: Schema.NullOr(Schema.Array(Schema.String)),
  /**
   * The providers that may not serve its keys, even if `allowed_providers` has them. Null: none.
   */
  ignored_providers: Schema.NullOr(Schema.Array(Schema.String)),
  ...guardrailFields,
  /** When the guardrail was created. */
  created_at: Timestamp,
  /** When the guardrail was last changed. */
  updated_at: Timestamp
})

/**
 * A service that is not this one may leave out what has no value, give times another offset than
 * `Z`, and know more periods.
 */
const DecodedGuardrail = Schema.Struct({
  ...Guardrail.fields,
  description: orNull(Schema.String),
  workspace_id: orNull(Schema.String),
  limit_usd: orNull(Schema.Finite),
  reset_interval: orNull(open<LimitReset>()),
  resets_at: orNull(Schema.String),
  limit_remaining: orNull(Schema.Finite),
  // Null if the service does not say.
  usage: orNull(Schema.Finite),
  usage_daily: orNull(Schema.Finite),
  usage_weekly: orNull(Schema.Finite),
  usage_monthly: orNull(Schema.Finite),
  keys: Schema.Array(GuardrailKey).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))),
  key_count: orNull(Schema.Int),
  allowed_models: orNull(Guardrail.fields.allowed_models.members[0]),
  ignored_models: orNull(Guardrail.fields.ignored_models.members[0]),
  allowed_providers: orNull(Guardrail.fields.allowed_providers.members[0]),
  ignored_providers: orNull(Guardrail.fields.ignored_providers.members[0]),
  created_at: Schema.String,
  updated_at: Schema.String
})

/**
 * A guardrail as the client returns it, from this service or another one. Its `reset_interval` may
 * be a period that this version does not know.
 *
 * @category models
 * @since 0.1.0
 */
export type Guardrail = { [Field in keyof typeof DecodedGuardrail.Type]: (typeof DecodedGuardrail.Type)[Field] }

/**
 * The fields of a guardrail that this gateway does not support, with the values that every
 * guardrail has.
 *
 * @category constants
 * @since 0.1.0
 */
export const fixed = Schema.Struct(guardrailFields).make({})

const options = {
  /** What the guardrail is for: at most 2048 characters. Null: no description. */
  description: Schema.optionalKey(Description),
  /**
   * The credits (1 credit = 1 USD) that all its keys together may spend in one `reset_interval`: 0
   * to 1,000,000,000, with at most six decimal places. Null: no limit.
   */
  limit_usd: Schema.optionalKey(SpendingLimit),
  /**
   * The UTC period after which the limit resets: a day, a week from Monday or a month. Null:
   * it never resets.
   */
  reset_interval: Schema.optionalKey(Schema.NullOr(LimitReset)),
  /**
   * The only models that its keys may use: at most 1,000 ids of 1 to 256 characters, 64 KiB as
   * JSON. An entry that ends in `/*`, such as `cohere/*`, stands for every model whose id begins
   * so. A request for another model is a 403. An empty list allows none. Null: all models.
   */
  allowed_models: Schema.optionalKey(Names),
  /**
   * The models that its keys may not use, even if `allowed_models` has them. Entries and bounds as
   * in `allowed_models`. Null: none.
   */
  ignored_models: Schema.optionalKey(Names),
  /**
   * The only providers that may serve its keys, such as `cohere`: at most 1,000 names of 1 to 256
   * characters, 64 KiB as JSON. A request that no provider may serve is a 403, and so is one for
   * files at a provider that may not. An empty list allows none. Null: all providers.
   */
  allowed_providers: Schema.optionalKey(Names),
  /**
   * The providers that may not serve its keys, even if `allowed_providers` has them. Bounds as in
   * `allowed_providers`. Null: none.
   */
  ignored_providers: Schema.optionalKey(Names),
  ...guardrailRequestFields
}

/**
 * A new guardrail. A restriction that this gateway cannot enforce is refused with a 400, so that
 * nobody relies on it. Omitted fields are null.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  /** The name, 1 to 256 characters. */
  name: Name,
  /**
   * The workspace to list the guardrail in. It has no effect on which keys the guardrail can be
   * assigned to. Default: the organization's default workspace.
   */
  workspace_id: Schema.optionalKey(WorkspaceId),
  ...options
})

/**
 * @category models
 * @since 0.1.0
 */
export type CreateRequest = { [Field in keyof typeof CreateRequest.Type]: Written<typeof CreateRequest.Type, Field> }

/**
 * The fields to change. Omitted fields keep their values.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  /** The name, 1 to 256 characters. */
  name: Schema.optionalKey(Name),
  ...options
})

/**
 * @category models
 * @since 0.1.0
 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/**
 * A guardrail.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** The guardrail. */
  data: Guardrail
})

/**
 * The new guardrail as {@link createGuardrail} returns it.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreatedGuardrail = Response.annotate({ httpApiStatus: 201 })

const DecodedResponse = Schema.Struct({ ...Response.fields, data: DecodedGuardrail })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof DecodedResponse.Type]: (typeof DecodedResponse.Type)[Field] }

/**
 * A page of guardrails.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** The guardrails of the page, newest first. */
  data: Schema.Array(Guardrail),
  /** The number of guardrails on all pages. */
  total_count: Schema.Int
})

const DecodedListResponse = Schema.Struct({ ...ListResponse.fields, data: Schema.Array(DecodedGuardrail) })

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = {
  [Field in keyof typeof DecodedListResponse.Type]: (typeof DecodedListResponse.Type)[Field]
}

/**
 * The guardrail was deleted.
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
 * The keys to assign or to remove.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AssignRequest = Schema.Struct({
  /** The hashes of the keys: 1 to 10,000. */
  key_hashes: Schema.NonEmptyArray(KeyHash).check(isMaxItems(10_000))
})

/**
 * @category models
 * @since 0.1.0
 */
export type AssignRequest = { [Field in keyof typeof AssignRequest.Type]: Written<typeof AssignRequest.Type, Field> }

/**
 * A key that had another guardrail before.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ReplacedAssignment = Schema.Struct({
  /** The hash of the key. */
  key_hash: Schema.String,
  /** The guardrail that the key had before. */
  previous_guardrail_id: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type ReplacedAssignment = {
  [Field in keyof typeof ReplacedAssignment.Type]: (typeof ReplacedAssignment.Type)[Field]
}

/**
 * The result of an assignment.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AssignResponse = Schema.Struct({
  /**
   * The number of keys of the organization among the hashes. Each counts once, also if it was
   * assigned already.
   */
  assigned_count: Schema.Int,
  /** The hashes that match no key of the organization. */
  not_found: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The keys that were assigned to another guardrail before. */
  replaced: Schema.optionalKey(Schema.Array(ReplacedAssignment))
})

/** The specification lists `assigned_count` alone, so the client requires nothing else. */
const DecodedAssignResponse = Schema.Struct({
  ...AssignResponse.fields,
  replaced: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        key_hash: Schema.optionalKey(Schema.String),
        previous_guardrail_id: Schema.optionalKey(Schema.String)
      })
    )
  )
})

/**
 * The result of an assignment as the client returns it, from this service or another one.
 *
 * @category models
 * @since 0.1.0
 */
export type AssignResponse = {
  [Field in keyof typeof DecodedAssignResponse.Type]: (typeof DecodedAssignResponse.Type)[Field]
}

/**
 * The result of removing keys from a guardrail.
 *
 * @category schemas
 * @since 0.1.0
 */
export const UnassignResponse = Schema.Struct({
  /** The number of keys that had the guardrail and now have none. */
  unassigned_count: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type UnassignResponse = { [Field in keyof typeof UnassignResponse.Type]: (typeof UnassignResponse.Type)[Field] }

/**
 * The assignment of a guardrail to a key. A key has at most one.
 *
 * @category schemas
 * @since 0.1.0
 */
export const KeyAssignment = Schema.Struct({
  /**
   * Identifies the assignment: the guardrail's id and the key's hash, with a colon between them.
   */
  id: Schema.String,
  /** The hash of the key. */
  key_hash: Schema.String,
  /** The name of the key. */
  key_name: Schema.String,
  /** The key's prefix and its last three characters, such as `mg_sk_…a1Z`. */
  key_label: Schema.String,
  /** The guardrail of the key. */
  guardrail_id: Schema.String,
  /** The identifier of the user whose management key made the assignment. Null: unknown. */
  assigned_by: Schema.NullOr(Schema.String),
  /** When the key was assigned. */
  created_at: Timestamp
})

const DecodedAssignment = Schema.Struct({
  ...KeyAssignment.fields,
  assigned_by: orNull(Schema.String),
  created_at: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type KeyAssignment = { [Field in keyof typeof DecodedAssignment.Type]: (typeof DecodedAssignment.Type)[Field] }

/**
 * A page of assignments.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AssignmentList = Schema.Struct({
  /** The assignments of the page, oldest first. */
  data: Schema.Array(KeyAssignment),
  /** The number of assignments on all pages. */
  total_count: Schema.Int
})

const DecodedAssignmentList = Schema.Struct({ ...AssignmentList.fields, data: Schema.Array(DecodedAssignment) })

/**
 * @category models
 * @since 0.1.0
 */
export type AssignmentList = {
  [Field in keyof typeof DecodedAssignmentList.Type]: (typeof DecodedAssignmentList.Type)[Field]
}

const example = {
  guardrail: {
    id: "c1b9a3f2-6f0e-4c57-8d5b-2f6f0a7e9b31",
    name: "Interns",
    description: "Cheap rerank models only",
    workspace_id: "7d9d1f9e-3a55-4f0c-9a35-0e4d1b9f6a10",
    limit_usd: 5,
    reset_interval: "daily",
    resets_at: "2026-11-21T00:00:00.000Z",
    limit_remaining: 3.75,
    usage: 1.25,
    usage_daily: 1.25,
    usage_weekly: 1.25,
    usage_monthly: 1.25,
    keys: [
      {
        hash: "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
        name: "Intern 1",
        label: "mg_sk_…a1Z"
      }
    ],
    key_count: 1,
    allowed_models: ["cohere/*"],
    ignored_models: ["cohere/rerank-v4.0-pro"],
    allowed_providers: null,
    ignored_providers: null,
    ...fixed,
    created_at: "2026-11-20T22:30:00.000Z",
    updated_at: "2026-11-20T22:30:00.000Z"
  },
  assignment: {
    id: "c1b9a3f2-6f0e-4c57-8d5b-2f6f0a7e9b31:5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
    key_hash: "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9",
    key_name: "Intern 1",
    key_label: "mg_sk_…a1Z",
    guardrail_id: "c1b9a3f2-6f0e-4c57-8d5b-2f6f0a7e9b31",
    assigned_by: null,
    created_at: "2026-11-20T22:31:00.000Z"
  },
  keys: { key_hashes: ["5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"] }
} as const

const params = () => ({ id: example.guardrail.id })

/**
 * @category operations
 * @since 0.1.0
 */
export const assignKeysOperation = Operation.make("assignKeys", "POST", "/guardrails/:id/assignments/keys", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  idempotency: "always",
  unknownFields: "ignored",
  success: DecodedAssignResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const assignKeysEndpoint = Operation.endpoint(assignKeysOperation, () => ({
  success: AssignResponse,
  params: guardrail,
  payload: AssignRequest,
  reference: {
    summary: "Assign keys to a guardrail",
    example: { params: params(), request: example.keys, response: { assigned_count: 1, not_found: [], replaced: [] } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const unassignKeysOperation = Operation.make("unassignKeys", "POST", "/guardrails/:id/assignments/keys/remove", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  idempotency: "always",
  success: UnassignResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const unassignKeysEndpoint = Operation.endpoint(unassignKeysOperation, () => ({
  params: guardrail,
  payload: AssignRequest,
  reference: {
    summary: "Remove keys from a guardrail",
    example: { params: params(), request: example.keys, response: { unassigned_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listAssignmentsOperation = Operation.make("listAssignments", "GET", "/guardrails/:id/assignments/keys", {
  access: "management key",
  scope: "workspace",
  success: DecodedAssignmentList,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listAssignmentsEndpoint = Operation.endpoint(listAssignmentsOperation, () => ({
  success: AssignmentList,
  params: guardrail,
  query: OffsetPage,
  reference: {
    summary: "List the keys of a guardrail",
    example: { params: params(), response: { data: [example.assignment], total_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listAllAssignmentsOperation = Operation.make("listAllAssignments", "GET", "/guardrails/assignments/keys", {
  access: "management key",
  scope: "workspace",
  success: DecodedAssignmentList,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listAllAssignmentsEndpoint = Operation.endpoint(listAllAssignmentsOperation, () => ({
  success: AssignmentList,
  query: OffsetPage,
  reference: {
    summary: "List the keys of all guardrails",
    example: { response: { data: [example.assignment], total_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const createGuardrailOperation = Operation.make("createGuardrail", "POST", "/guardrails", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  success: DecodedResponse.annotate({ httpApiStatus: 201 }),
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const createGuardrailEndpoint = Operation.endpoint(createGuardrailOperation, () => ({
  success: CreatedGuardrail,
  payload: CreateRequest,
  reference: {
    summary: "Create a guardrail",
    example: {
      request: {
        name: "Interns",
        description: "Cheap rerank models only",
        limit_usd: 5,
        reset_interval: "daily",
        allowed_models: ["cohere/*"],
        ignored_models: ["cohere/rerank-v4.0-pro"]
      },
      response: { data: example.guardrail }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listGuardrailsOperation = Operation.make("listGuardrails", "GET", "/guardrails", {
  access: "management key",
  scope: "workspace",
  success: DecodedListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listGuardrailsEndpoint = Operation.endpoint(listGuardrailsOperation, () => ({
  success: ListResponse,
  query: {
    /** List only the guardrails of this workspace. Default: those of the organization. */
    workspace_id: Schema.optionalKey(WorkspaceId),
    ...OffsetPage
  },
  reference: {
    summary: "List guardrails",
    example: { response: { data: [example.guardrail], total_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getGuardrailOperation = Operation.make("getGuardrail", "GET", "/guardrails/:id", {
  access: "management key",
  scope: "workspace",
  success: DecodedResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getGuardrailEndpoint = Operation.endpoint(getGuardrailOperation, () => ({
  success: Response,
  params: guardrail,
  reference: {
    summary: "Get a guardrail",
    example: { params: params(), response: { data: example.guardrail } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const updateGuardrailOperation = Operation.make("updateGuardrail", "PATCH", "/guardrails/:id", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  success: DecodedResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const updateGuardrailEndpoint = Operation.endpoint(updateGuardrailOperation, () => ({
  success: Response,
  params: guardrail,
  payload: UpdateRequest,
  reference: {
    summary: "Change a guardrail",
    example: {
      params: params(),
      request: { limit_usd: 10, ignored_models: null },
      response: {
        data: {
          ...example.guardrail,
          limit_usd: 10,
          limit_remaining: 8.75,
          ignored_models: null,
          updated_at: "2026-11-21T08:00:00.000Z"
        }
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const deleteGuardrailOperation = Operation.make("deleteGuardrail", "DELETE", "/guardrails/:id", {
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
export const deleteGuardrailEndpoint = Operation.endpoint(deleteGuardrailOperation, () => ({
  params: guardrail,
  reference: {
    summary: "Delete a guardrail",
    example: { params: params(), response: { deleted: true as const } }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof assignKeysOperation> | ClientError

/**
 * Assigns keys, named by their hashes, to a guardrail. A key has at most one guardrail: a new
 * assignment replaces the old one.
 *
 * @category calls
 * @since 0.1.0
 */
export const assignKeys = (
  guardrailId: string,
  request: AssignRequest
): Effect.Effect<AssignResponse, Failure, GatewayClient> =>
  call(assignKeysOperation, { params: { id: guardrailId }, json: request })

/**
 * Removes keys, named by their hashes, from a guardrail. Keys that do not have it stay as they are.
 *
 * @category calls
 * @since 0.1.0
 */
export const unassignKeys = (
  guardrailId: string,
  request: AssignRequest
): Effect.Effect<UnassignResponse, Failure, GatewayClient> =>
  call(unassignKeysOperation, { params: { id: guardrailId }, json: request })

/**
 * Lists the keys of one guardrail, in the order of their assignment.
 *
 * @category calls
 * @since 0.1.0
 */
export const listAssignments = (
  guardrailId: string,
  options?: OffsetPageOptions
): Effect.Effect<AssignmentList, Failure, GatewayClient> =>
  call(listAssignmentsOperation, { params: { id: guardrailId }, query: { ...options } })

/**
 * Lists the keys of all guardrails of the organization, in the order of their assignment.
 *
 * @category calls
 * @since 0.1.0
 */
export const listAllAssignments = (
  options?: OffsetPageOptions
): Effect.Effect<AssignmentList, Failure, GatewayClient> => call(listAllAssignmentsOperation, { query: { ...options } })

/**
 * Creates a guardrail. It has no effect until keys are assigned to it.
 *
 * @category calls
 * @since 0.1.0
 */
export const createGuardrail = (request: CreateRequest): Effect.Effect<Guardrail, Failure, GatewayClient> =>
  dataOf(call(createGuardrailOperation, { json: request }))

/**
 * Selects the guardrails to list. `workspace_id`: only those of this workspace.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions extends OffsetPageOptions {
  readonly workspace_id?: string | undefined
}

/**
 * Lists the guardrails of the organization, newest first.
 *
 * @category calls
 * @since 0.1.0
 */
export const listGuardrails = (options?: ListOptions): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listGuardrailsOperation, { query: { ...options } })

/**
 * Returns one guardrail.
 *
 * @category calls
 * @since 0.1.0
 */
export const getGuardrail = (id: string): Effect.Effect<Guardrail, Failure, GatewayClient> =>
  dataOf(call(getGuardrailOperation, { params: { id } }))

/**
 * Changes the given fields of a guardrail. The change applies to the next request of its keys, in
 * other processes of the gateway after at most 3 seconds.
 *
 * @category calls
 * @since 0.1.0
 */
export const updateGuardrail = (id: string, request: UpdateRequest): Effect.Effect<Guardrail, Failure, GatewayClient> =>
  dataOf(call(updateGuardrailOperation, { params: { id }, json: request }))

/**
 * Deletes a guardrail. Its keys then have no guardrail, and none of its limits.
 *
 * @category calls
 * @since 0.1.0
 */
export const deleteGuardrail = (id: string): Effect.Effect<void, Failure, GatewayClient> =>
  Effect.asVoid(call(deleteGuardrailOperation, { params: { id } }))
