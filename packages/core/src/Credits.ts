/**
 * Reads the credits that were added and used. `Workspaces.addCredits` adds credits.
 *
 * An addition to the specification. Its shape is that of OpenRouter's API.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import { GatewayClient } from "./GatewayClient.ts"
import { BadRequest, Forbidden, InternalServerError, Unauthorized } from "./GatewayError.ts"
import { WorkspaceId } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import * as Operation from "./Operation.ts"

/**
 * The credits of an organization or a workspace (1 credit = 1 USD). What is left is `total_credits`
 * minus `total_usage`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Credits = Schema.Struct({
  /** All credits that were ever added. */
  total_credits: Schema.Finite,
  /** All credits that were ever spent. Reservations of running requests are not counted. */
  total_usage: Schema.Finite
})

/**
 * @category models
 * @since 0.1.0
 */
export type Credits = { [Field in keyof typeof Credits.Type]: (typeof Credits.Type)[Field] }

/**
 * The response: the credits under `data`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** The credits that were added and used. */
  data: Credits
})

/**
 * @category models
 * @since 0.1.0
 */
export type Response = { [Field in keyof typeof Response.Type]: (typeof Response.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const getCreditsOperation = Operation.make("getCredits", "GET", "/credits", {
  access: "management key",
  success: Response,
  error: [BadRequest, Unauthorized, Forbidden, InternalServerError]
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getCreditsEndpoint = Operation.endpoint(getCreditsOperation, () => ({
  query: {
    /** Count only this workspace: a UUID. Default: all workspaces of the organization. */
    workspace_id: Schema.optionalKey(WorkspaceId)
  },
  reference: {
    summary: "Get credits",
    example: { response: { data: { total_credits: 110, total_usage: 42.5 } } }
  }
}))

/**
 * The errors of {@link getCredits}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof getCreditsOperation> | ClientError

/**
 * Returns the credits of the whole organization, or of one of its workspaces.
 *
 * @remarks
 * Default: the workspace of the configuration, or else the whole organization.
 *
 * @category calls
 * @since 0.1.0
 */
export const getCredits = (options?: {
  readonly workspace_id?: string | undefined
}): Effect.Effect<Credits, Failure, GatewayClient> =>
  Effect.flatMap(GatewayClient, ({ workspaceId }) =>
    dataOf(call(getCreditsOperation, { query: { workspace_id: options?.workspace_id ?? workspaceId } }))
  )
