/**
 * Reads the credits that were added and used, and the ledger of what was added and corrected.
 * `Workspaces.addCredits` adds and corrects credits.
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
import { Page, Timestamp, WorkspaceId, WorkspaceScope } from "./Identifiers.ts"
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
  scope: "workspace",
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
 * Why an entry of the ledger was written. `initial`: the credits of the first run. `added`: credits
 * were added. `correction`: credits were taken away again. `moved`: a workspace was deleted, and
 * its credits became those of the default workspace.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LedgerKind = Schema.Literals(["initial", "added", "correction", "moved"])

/**
 * @category models
 * @since 0.1.0
 */
export type LedgerKind = typeof LedgerKind.Type

/**
 * A change of a workspace's credits that is not the cost of a request.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LedgerEntry = Schema.Struct({
  /** Identifies the entry: a UUID. */
  id: Schema.String,
  /** When it was written: ISO 8601, UTC. */
  created_at: Timestamp,
  /** The workspace whose credits changed. */
  workspace_id: Schema.String,
  kind: LedgerKind,
  /** What was added, in credits (1 credit is 1 USD). Negative: what was taken away. */
  amount: Schema.Finite,
  /** The workspace's credits after the entry. Costs of requests between two entries are in it. */
  balance: Schema.Finite,
  /** The note that was given. Null: none. */
  note: Schema.NullOr(Schema.String),
  /**
   * Who did it: the hash of the management key, `operator` for a command on the gateway's database,
   * or who was signed in to the console without a key. Null: the gateway itself, or an earlier version that did not record it.
   */
  actor: Schema.NullOr(Schema.String)
})

/**
 * @category models
 * @since 0.1.0
 */
export type LedgerEntry = { [Field in keyof typeof LedgerEntry.Type]: (typeof LedgerEntry.Type)[Field] }

/**
 * A page of the ledger.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LedgerResponse = Schema.Struct({
  /** The entries of the page, newest first. */
  data: Schema.Array(LedgerEntry),
  /** Whether older entries follow. */
  has_more: Schema.Boolean
})

/**
 * @category models
 * @since 0.1.0
 */
export type LedgerResponse = { [Field in keyof typeof LedgerResponse.Type]: (typeof LedgerResponse.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const listCreditLedgerOperation = Operation.make("listCreditLedger", "GET", "/credits/ledger", {
  access: "management key",
  scope: "workspace",
  success: LedgerResponse,
  error: [BadRequest, Unauthorized, Forbidden, InternalServerError]
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listCreditLedgerEndpoint = Operation.endpoint(listCreditLedgerOperation, () => ({
  query: {
    ...Page,
    /** The `id` of the last entry of the page before. Default: the page starts with the newest. */
    after: Page.after,
    /** A UUID, also of a deleted workspace. Default: the caller's default workspace. */
    workspace_id: WorkspaceScope.workspace_id
  },
  reference: {
    summary: "List credit entries",
    example: {
      query: { limit: "1" },
      response: {
        data: [
          {
            id: "019aab3e-5c7f-7d3e-9a41-c2f0b6d84e11",
            created_at: "2026-11-20T22:30:00.000Z",
            workspace_id: "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11",
            kind: "correction",
            amount: -5,
            balance: 62.5,
            note: "Invoice 1017 was for 20 credits",
            actor: "3f7a9c…"
          }
        ],
        has_more: false
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

/**
 * Selects entries of the ledger.
 *
 * @category options
 * @since 0.1.0
 */
export interface LedgerOptions {
  /** The `id` of the last entry of the page before. Default: the page starts with the newest. */
  readonly after?: string | undefined
  /** 1 to 1000. Default: 100. */
  readonly limit?: number | undefined
  /** Also a deleted workspace. */
  readonly workspace_id?: string | undefined
}

/**
 * Lists what was added to and taken from the credits of one workspace, newest first. What requests
 * cost is in the request log (`Generations.listGenerations`).
 *
 * @remarks
 * Default: the workspace of the configuration, or else the default workspace.
 *
 * @example
 * ```ts
 * import { Credits } from "@model-gateway/core"
 *
 * const latest = Credits.listCreditLedger({ limit: 20 })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const listCreditLedger = (options: LedgerOptions = {}): Effect.Effect<LedgerResponse, Failure, GatewayClient> =>
  Effect.flatMap(GatewayClient, ({ workspaceId }) =>
    call(listCreditLedgerOperation, { query: { ...options, workspace_id: options.workspace_id ?? workspaceId } })
  )
