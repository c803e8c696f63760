/**
 * Workspaces and their credits: `/workspaces`, for management keys.
 *
 * An addition to the specification, which only says that requests can be scoped to a workspace. Its
 * shapes are those of OpenRouter's API, with fields of this project.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { workspaceFields } from "./dialect/workspaceFields.ts"
import { DeletionShape } from "./Files.ts"
import type { CallOptions, GatewayClient, OffsetPageOptions } from "./GatewayClient.ts"
import { idempotencyHeaders } from "./internal/idempotencyHeaders.ts"
import { HttpsUrl, Name, OffsetPage, Timestamp, WorkspaceRef } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

/**
 * A workspace. Its keys share credits, files, video jobs, provider keys, broadcast destinations and
 * the secret of webhooks.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Workspace = Schema.Struct({
  /** The workspace's UUID, as in `workspace_id` of other operations. */
  id: Schema.String,
  /** The name that people see. */
  name: Schema.String,
  /** A short name for URLs, unique in the organization. Paths accept it in place of the `id`. */
  slug: Schema.String,
  /** What the workspace is for. Null: not described. */
  description: Schema.NullOr(Schema.String),
  /**
   * Whether a management key's request uses this workspace if it names none. Each organization has
   * one such workspace.
   */
  is_default: Schema.Boolean,
  /** Remaining credits (1 credit is 1 USD). Reservations of running requests are not subtracted. */
  credits: Schema.Finite,
  /** The callback URL for video jobs whose request has no `callback_url`. Null: none. */
  default_callback_url: Schema.NullOr(Schema.String),
  /** The shape of file deletion confirmations when the request does not choose one. */
  file_shape: DeletionShape,
  /** The user who created the workspace: the creator of the key that did. Null: not known. */
  created_by: Schema.NullOr(Schema.String),
  /** When the workspace was created: ISO 8601, UTC. */
  created_at: Timestamp,
  /** When the workspace last changed: ISO 8601, UTC. Null: never. */
  updated_at: Schema.NullOr(Timestamp),
  ...workspaceFields
})

/**
 * @category models
 * @since 0.1.0
 */
export type Workspace = { [Field in keyof typeof Workspace.Type]: (typeof Workspace.Type)[Field] }

/**
 * The fields of a workspace that this gateway does not support, with the values that every
 * workspace has.
 *
 * @category constants
 * @since 0.1.0
 */
export const fixed = Schema.Struct(workspaceFields).make({})

/**
 * A short name for URLs: 1 to 64 lower-case letters and digits, with single hyphens between them. A
 * UUID is refused, because paths accept either.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Slug = Schema.String.check(
  Schema.isPattern(/^[a-z\d]+(-[a-z\d]+)*$/u, {
    expected: "lower-case letters and digits, with single hyphens between them"
  }),
  Schema.isMaxLength(64),
  Schema.makeFilter((slug) => !/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(slug), {
    expected: "a slug that is not a UUID"
  })
)

const changes = {
  /** What the workspace is for: at most 1024 characters. Null: not described. */
  description: Schema.optionalKey(Schema.NullOr(Schema.String.check(isMaxCharacters(1024)))),
  /**
   * The callback URL for video jobs whose request has no `callback_url`: `https://`. Null: none.
   */
  default_callback_url: Schema.optionalKey(Schema.NullOr(HttpsUrl)),
  /** The shape of file deletion confirmations when the request does not choose one. */
  file_shape: Schema.optionalKey(DeletionShape),
  /** Accepted without effect: requests name their model. */
  default_text_model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** Accepted without effect: requests name their model. */
  default_image_model: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** Only null is accepted: requests sort providers by `provider.sort`. */
  default_provider_sort: Schema.optionalKey(Schema.Null),
  /** Accepted without effect: the gateway has no server tools. */
  disabled_server_tools: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  /** Accepted without effect: inputs and outputs are never logged. */
  io_logging_api_key_ids: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Int))),
  /** Accepted without effect: inputs and outputs are never logged. */
  io_logging_sampling_rate: Schema.optionalKey(Schema.Finite),
  /** Only false is accepted: inputs and outputs are never logged. */
  is_observability_io_logging_enabled: Schema.optionalKey(Schema.Literal(false)),
  /** Only false is accepted: no data is sold, and there is no discount for it. */
  is_data_discount_logging_enabled: Schema.optionalKey(Schema.Literal(false)),
  /** Only true is accepted. To stop a broadcast, disable its destinations. */
  is_observability_broadcast_enabled: Schema.optionalKey(Schema.Literal(true))
}

/**
 * A workspace to create. It has no credits yet.
 *
 * @category schemas
 * @since 0.1.0
 */
export const CreateRequest = Schema.Struct({
  /** The name that people see: 1 to 256 characters. */
  name: Name,
  slug: Slug,
  ...changes
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
  /** The name that people see: 1 to 256 characters. */
  name: Schema.optionalKey(Name),
  slug: Schema.optionalKey(Slug),
  ...changes
})

/**
 * @category models
 * @since 0.1.0
 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/**
 * Credits to add, or to take away as a correction.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AddCreditsRequest = Schema.Struct({
  /**
   * In credits: -1,000,000,000 to 1,000,000,000 but not 0, with at most six decimal places. A
   * negative amount is a correction, and needs a `note`. It may leave the balance below 0.
   */
  amount: Schema.Finite.check(
    Schema.isBetween({ minimum: -1_000_000_000, maximum: 1_000_000_000 }),
    Schema.makeFilter((amount: number) => amount !== 0, { expected: "an amount other than 0" })
  ),
  /**
   * A note for the ledger, such as the number of an invoice: 1 to 256 characters. Required if
   * `amount` is negative.
   */
  note: Schema.optionalKey(Name)
}).check(
  Schema.makeFilter(({ amount, note }) =>
    amount < 0 && note === undefined ? { path: ["amount"], issue: "Expected a note with a negative amount" } : undefined
  )
)

/**
 * @category models
 * @since 0.1.0
 */
export type AddCreditsRequest = {
  [Field in keyof typeof AddCreditsRequest.Type]: Written<typeof AddCreditsRequest.Type, Field>
}

/**
 * One workspace.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({ data: Workspace })

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * A page of workspaces.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** In the order of creation, so that the default workspace is the first. */
  data: Schema.Array(Workspace),
  /** The number of all workspaces of the organization. */
  total_count: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * Confirms a deletion.
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

const params = { id: WorkspaceRef }

/** On the wire, for the API reference. */
const example = (): typeof Workspace.Encoded => ({
  id: "b2a9f7d4-6a1e-4c53-9a0e-2f1f6c1d7e10",
  name: "Search team",
  slug: "search-team",
  description: "Rerank for the product search",
  is_default: false,
  credits: 25,
  default_callback_url: "https://example.com/hooks/video",
  file_shape: "native",
  created_by: "user_42",
  created_at: "2026-11-20T22:30:00.000Z",
  updated_at: "2026-11-20T22:30:00.000Z",
  default_guardrail_id: "",
  default_text_model: null,
  default_image_model: null,
  default_provider_sort: null,
  disabled_server_tools: null,
  include_byok_in_budgets: false,
  io_logging_api_key_ids: null,
  io_logging_sampling_rate: 1,
  is_observability_io_logging_enabled: false,
  is_data_discount_logging_enabled: false,
  is_observability_broadcast_enabled: true
})

/**
 * @category operations
 * @since 0.1.0
 */
export const createWorkspaceOperation = Operation.make("createWorkspace", "POST", "/workspaces", {
  access: "management key",
  success: Response.annotate({ httpApiStatus: 201 }),
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const createWorkspaceEndpoint = Operation.endpoint(createWorkspaceOperation, () => ({
  payload: CreateRequest,
  reference: {
    summary: "Create a workspace",
    example: {
      request: { name: "Search team", slug: "search-team", description: "Rerank for the product search" },
      response: { data: { ...example(), credits: 0, default_callback_url: null } }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listWorkspacesOperation = Operation.make("listWorkspaces", "GET", "/workspaces", {
  access: "management key",
  scope: "workspace",
  success: ListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listWorkspacesEndpoint = Operation.endpoint(listWorkspacesOperation, () => ({
  query: OffsetPage,
  reference: {
    summary: "List workspaces",
    example: { query: { limit: "10" }, response: { data: [example()], total_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const getWorkspaceOperation = Operation.make("getWorkspace", "GET", "/workspaces/:id", {
  access: "management key",
  scope: "workspace",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getWorkspaceEndpoint = Operation.endpoint(getWorkspaceOperation, () => ({
  params,
  reference: {
    summary: "Get a workspace",
    example: { params: { id: "search-team" }, response: { data: example() } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const updateWorkspaceOperation = Operation.make("updateWorkspace", "PATCH", "/workspaces/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const updateWorkspaceEndpoint = Operation.endpoint(updateWorkspaceOperation, () => ({
  params,
  payload: UpdateRequest,
  reference: {
    summary: "Change a workspace",
    example: {
      params: { id: "search-team" },
      request: { default_callback_url: "https://example.com/hooks/video" },
      response: { data: example() }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const deleteWorkspaceOperation = Operation.make("deleteWorkspace", "DELETE", "/workspaces/:id", {
  access: "management key",
  success: DeleteResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const deleteWorkspaceEndpoint = Operation.endpoint(deleteWorkspaceOperation, () => ({
  params,
  query: {
    /** Accepted without effect: the default workspace cannot be deleted. */
    confirm_default_workspace_deletion: Schema.optionalKey(Schema.String)
  },
  reference: {
    summary: "Delete a workspace",
    example: { params: { id: "search-team" }, response: { deleted: true } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const addCreditsOperation = Operation.make("addCredits", "POST", "/workspaces/:id/credits", {
  access: "management key",
  role: "operator",
  scope: "workspace",
  needsRecentSignIn: true,
  idempotency: "by key",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const addCreditsEndpoint = Operation.endpoint(addCreditsOperation, () => ({
  params,
  headers: idempotencyHeaders,
  payload: AddCreditsRequest,
  reference: {
    summary: "Add credits to a workspace",
    example: { params: { id: "search-team" }, request: { amount: 25 }, response: { data: example() } }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getWorkspaceOperation> | ClientError

/**
 * Creates a workspace without credits. Its `slug` must be new in the organization, which has at
 * most 1000 workspaces. Keys for it are created with its `workspace_id`.
 *
 * @example
 * ```ts
 * import { Keys, Workspaces } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const newTeam = Effect.gen(function*() {
 *   const { id } = yield* Workspaces.createWorkspace({ name: "Search team", slug: "search-team" })
 *   yield* Workspaces.addCredits(id, { amount: 25 })
 *   return yield* Keys.createKey({ name: "search", workspace_id: id })
 * })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const createWorkspace = (request: CreateRequest): Effect.Effect<Workspace, Failure, GatewayClient> =>
  dataOf(call(createWorkspaceOperation, { json: request }))

/**
 * Lists the workspaces of the organization in the order of creation.
 *
 * @category calls
 * @since 0.1.0
 */
export const listWorkspaces = (options: OffsetPageOptions = {}): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listWorkspacesOperation, { query: { ...options } })

/**
 * Returns a workspace of the organization, with its credits.
 *
 * @remarks
 * Takes the workspace's `id` or `slug`.
 *
 * @category calls
 * @since 0.1.0
 */
export const getWorkspace = (id: string): Effect.Effect<Workspace, Failure, GatewayClient> =>
  dataOf(call(getWorkspaceOperation, { params: { id } }))

/**
 * Changes the given fields of a workspace and keeps the others.
 *
 * @category calls
 * @since 0.1.0
 */
export const updateWorkspace = (id: string, request: UpdateRequest): Effect.Effect<Workspace, Failure, GatewayClient> =>
  dataOf(call(updateWorkspaceOperation, { params: { id }, json: request }))

/**
 * Deletes a workspace permanently. Its credits are moved to the default workspace. Its provider
 * keys, broadcast destinations, webhook deliveries, ended video jobs and their videos are deleted
 * with it; webhooks that were not delivered yet are not sent. Its guardrails stay, without a
 * workspace. The request log keeps its entries.
 *
 * A workspace that still has API keys, files, or requests or video jobs that have not ended is not
 * deleted: 400, and the message says what to do. The default workspace cannot be deleted.
 *
 * @category calls
 * @since 0.1.0
 */
export const deleteWorkspace = (id: string): Effect.Effect<void, Failure, GatewayClient> =>
  Effect.asVoid(call(deleteWorkspaceOperation, { params: { id } }))

/**
 * Adds credits to a workspace's balance and returns the updated workspace. A negative `amount` with
 * a `note` corrects an earlier addition. `Credits.listCreditLedger` lists both. Supports
 * `Idempotency-Key`, so that a repeated request adds them once.
 *
 * @category calls
 * @since 0.1.0
 */
export const addCredits = (
  id: string,
  request: AddCreditsRequest,
  options?: CallOptions
): Effect.Effect<Workspace, Failure, GatewayClient> =>
  dataOf(call(addCreditsOperation, { ...options, params: { id }, json: request }))
