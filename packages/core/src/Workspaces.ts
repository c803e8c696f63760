/**
 * Workspaces and their credits, managed by a management key: `/workspaces/{id}`.
 *
 * Beyond the specification, which only says that requests can be scoped to one.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { DeletionShape } from "./Files.ts"
import { BadRequest, Forbidden, InternalServerError, NotFound, Unauthorized } from "./GatewayError.ts"
import { Timestamp } from "./Identifiers.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import * as Operation from "./Operation.ts"

/**
 * A workspace: what its keys share.
 *
 * @since 0.1.0
 */
export const Workspace = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  is_default: Schema.Boolean,
  /** Credits left, reservations of running requests not counted off. */
  credits: Schema.Finite,
  /** Told of finished video jobs whose request names no URL of its own. */
  default_callback_url: Schema.NullOr(Schema.String),
  /** The shape of file deletion confirmations, where the request asks for none. */
  file_shape: DeletionShape,
  created_at: Timestamp
})

/** @since 0.1.0 */
export type Workspace = typeof Workspace.Type

/**
 * What to change; fields left out stay as they are.
 *
 * @since 0.1.0
 */
export const UpdateRequest = Schema.Struct({
  name: Schema.optionalKey(Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))),
  default_callback_url: Schema.optionalKey(
    Schema.NullOr(Schema.String.check(Schema.isPattern(/^https:\/\/[^\s/]\S*$/i, { expected: "an https:// URL" })))
  ),
  file_shape: Schema.optionalKey(DeletionShape)
})

/** @since 0.1.0 */
export type UpdateRequest = typeof UpdateRequest.Type

/**
 * Credits to add: more than 0, at most a billion, in steps of a millionth.
 *
 * @since 0.1.0
 */
export const AddCreditsRequest = Schema.Struct({
  amount: Schema.Finite.check(Schema.isGreaterThan(0), Schema.isLessThanOrEqualTo(1_000_000_000))
})

/** @since 0.1.0 */
export type AddCreditsRequest = typeof AddCreditsRequest.Type

/** @since 0.1.0 */
export const Response = Schema.Struct({ data: Workspace })

/** @since 0.1.0 */
export type Response = typeof Response.Type

const error = [BadRequest, Unauthorized, Forbidden, NotFound, InternalServerError] as const

/**
 * GET `/workspaces/{id}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const getWorkspace = Operation.make("getWorkspace", "GET", "/workspaces/:id", { success: Response, error })

/**
 * PATCH `/workspaces/{id}`: 200, or one of 400 401 403 404 500.
 *
 * @since 0.1.0
 */
export const updateWorkspace = Operation.make("updateWorkspace", "PATCH", "/workspaces/:id", {
  success: Response,
  error
})

/**
 * POST `/workspaces/{id}/credits`: 200 with the workspace as it now is, or one of
 * 400 401 403 404 500. Honours `Idempotency-Key`.
 *
 * @since 0.1.0
 */
export const addCredits = Operation.make("addCredits", "POST", "/workspaces/:id/credits", { success: Response, error })
