/**
 * Workspaces and their credits: `/workspaces/{id}`, for management keys.
 *
 * An addition to the specification, which only says that requests can be scoped to a workspace.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { DeletionShape } from "./Files.ts"
import type { CallOptions, GatewayClient } from "./GatewayClient.ts"
import { idempotencyHeaders } from "./Idempotency.ts"
import { HttpsUrl, Name, Timestamp, WorkspaceId } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"
import type { Written } from "./internal/written.ts"

/**
 * A workspace. Its keys share credits, files and video jobs.
 *
 * @since 0.1.0
 */
export const Workspace = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  is_default: Schema.Boolean,
  /** Remaining credits. Reservations of running requests are not subtracted. */
  credits: Schema.Finite,
  /** The callback URL for video jobs whose request has no `callback_url`. */
  default_callback_url: Schema.NullOr(Schema.String),
  /** The shape of file deletion confirmations when the request does not choose one. */
  file_shape: DeletionShape,
  created_at: Timestamp
})

/** @since 0.1.0 */
export type Workspace = { [Field in keyof typeof Workspace.Type]: (typeof Workspace.Type)[Field] }

/**
 * The fields to change. Omitted fields keep their values.
 *
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  name: Schema.optionalKey(Name),
  default_callback_url: Schema.optionalKey(Schema.NullOr(HttpsUrl)),
  file_shape: Schema.optionalKey(DeletionShape)
})

/** @since 0.1.0 */
export type UpdateRequest = { [Field in keyof typeof UpdateRequest.Type]: Written<typeof UpdateRequest.Type, Field> }

/**
 * Credits to add: more than 0, at most 1,000,000,000, with at most six decimal places.
 *
 * @since 0.1.0
 */
export const AddCreditsRequest = Schema.Struct({
  amount: Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1_000_000_000))
})

/** @since 0.1.0 */
export type AddCreditsRequest = {
  [Field in keyof typeof AddCreditsRequest.Type]: Written<typeof AddCreditsRequest.Type, Field>
}

/** @since 0.1.0 */
export const Response = Schema.Struct({ data: Workspace })

/** @since 0.1.0 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

const workspace = { id: WorkspaceId }

/**
 * GET `/workspaces/{id}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const getWorkspace = Operation.make("getWorkspace", "GET", "/workspaces/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link getWorkspace}.
 *
 * @since 0.1.0
 */
export const getWorkspaceEndpoint = Operation.endpoint(getWorkspace, () => ({ params: workspace }))

/**
 * PATCH `/workspaces/{id}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const updateWorkspace = Operation.make("updateWorkspace", "PATCH", "/workspaces/:id", {
  access: "management key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link updateWorkspace}.
 *
 * @since 0.1.0
 */
export const updateWorkspaceEndpoint = Operation.endpoint(updateWorkspace, () => ({
  params: workspace,
  payload: UpdateRequest
}))

/**
 * POST `/workspaces/{id}/credits`: 200 with the updated workspace, or one of 400 401 403 404 500.
 * Supports `Idempotency-Key`.
 *
 * @since 0.1.0
 */
export const addCredits = Operation.make("addCredits", "POST", "/workspaces/:id/credits", {
  access: "management key",
  idempotency: "by key",
  success: Response,
  error: managementErrors
})

/**
 * The request of {@link addCredits}.
 *
 * @since 0.1.0
 */
export const addCreditsEndpoint = Operation.endpoint(addCredits, () => ({
  params: workspace,
  headers: idempotencyHeaders,
  payload: AddCreditsRequest
}))

/**
 * The errors of the functions of this module.
 *
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getWorkspace> | ClientError

/** @since 0.1.0 */
export const get = (id: string): Effect.Effect<Workspace, Failure, GatewayClient> =>
  dataOf(call(getWorkspace, { params: { id } }))

/** @since 0.1.0 */
export const update = (id: string, request: UpdateRequest): Effect.Effect<Workspace, Failure, GatewayClient> =>
  dataOf(call(updateWorkspace, { params: { id }, json: request }))

/**
 * Adds credits to the workspace's balance.
 *
 * @since 0.1.0
 */
export const topUp = (
  id: string,
  request: AddCreditsRequest,
  options?: CallOptions
): Effect.Effect<Workspace, Failure, GatewayClient> =>
  dataOf(call(addCredits, { ...options, params: { id }, json: request }))
