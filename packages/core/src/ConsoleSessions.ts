/**
 * The sessions of the console: who is signed in to it. Lists and ends them.
 *
 * An addition to the specification, which does not describe these operations.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { Role, Timestamp } from "./Identifiers.ts"
import { call } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"

/**
 * How somebody signed in: with a management key, with a one-time link, by OpenID Connect, or as the
 * user whom a proxy in front of the gateway names.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Kind = Schema.Literals(["key", "link", "oidc", "proxy"])

/**
 * @category models
 * @since 0.1.0
 */
export type Kind = typeof Kind.Type

/**
 * A session that has not ended. One whose key is disabled or deleted ends with its next request.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ConsoleSession = Schema.Struct({
  /** Identifies the session. It signs nobody in. */
  id: Schema.String,
  kind: Kind,
  /** The hash of the management key, or another identifier of who it is, as in the audit log. */
  actor: Schema.String,
  /** Who it is, in words: the name of the key or of the person. */
  label: Schema.String,
  /** What it could do when it began. With a key, it can do what the key can do now. */
  role: Role,
  /** The workspaces that it was restricted to when it began. Null: all. */
  workspace_ids: Schema.NullOr(Schema.Array(Schema.String)),
  /** The network address that it was started from. */
  address: Schema.String,
  /** When it began. */
  created_at: Timestamp,
  /** When its last request came. May be a minute too early. */
  last_used_at: Timestamp,
  /** When it ends if there is no further request. */
  expires_at: Timestamp,
  /** Whether the request for this list is part of it. */
  is_current: Schema.Boolean
})

/**
 * @category models
 * @since 0.1.0
 */
export type ConsoleSession = { [Field in keyof typeof ConsoleSession.Type]: (typeof ConsoleSession.Type)[Field] }

/**
 * The sessions that have not ended.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** At most 1000 sessions. Those that were used last are first. */
  data: Schema.Array(ConsoleSession),
  /** Whether there are others, which are not listed. */
  has_more: Schema.Boolean
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * What was ended.
 *
 * @category schemas
 * @since 0.1.0
 */
export const EndResponse = Schema.Struct({
  /** How many sessions were ended. */
  ended_count: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type EndResponse = { [Field in keyof typeof EndResponse.Type]: (typeof EndResponse.Type)[Field] }

const exampleId = "019aab3e-5c7f-7d3e-9a41-c2f0b6d84e11"

/**
 * @category operations
 * @since 0.1.0
 */
export const listConsoleSessionsOperation = Operation.make("listConsoleSessions", "GET", "/console/sessions", {
  access: "management key",
  role: "admin",
  success: ListResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listConsoleSessionsEndpoint = Operation.endpoint(listConsoleSessionsOperation, () => ({
  reference: {
    summary: "List sessions of the console",
    example: {
      response: {
        data: [
          {
            id: exampleId,
            kind: "oidc" as const,
            actor: "oidc:248289761001",
            label: "Ada Lovelace (ada@example.com)",
            role: "operator" as const,
            workspace_ids: null,
            address: "203.0.113.7",
            created_at: "2026-11-20T22:30:00.000Z",
            last_used_at: "2026-11-20T22:41:00.000Z",
            expires_at: "2026-11-20T23:11:00.000Z",
            is_current: false
          }
        ],
        has_more: false
      }
    }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const endConsoleSessionOperation = Operation.make("endConsoleSession", "DELETE", "/console/sessions/:id", {
  access: "management key",
  success: EndResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const endConsoleSessionEndpoint = Operation.endpoint(endConsoleSessionOperation, () => ({
  params: {
    /** Identifies the session: 1 to 256 characters. */
    id: Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))
  },
  reference: {
    summary: "End a session of the console",
    example: { params: { id: exampleId }, response: { ended_count: 1 } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const endConsoleSessionsOperation = Operation.make("endConsoleSessions", "DELETE", "/console/sessions", {
  access: "management key",
  success: EndResponse,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const endConsoleSessionsEndpoint = Operation.endpoint(endConsoleSessionsOperation, () => ({
  reference: {
    summary: "End all sessions of the console",
    example: { response: { ended_count: 3 } }
  }
}))

/**
 * The errors of the functions of this module.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listConsoleSessionsOperation> | ClientError

/**
 * Lists the sessions of the console, the most recently used first.
 *
 * @category calls
 * @since 0.1.0
 */
export const listConsoleSessions: Effect.Effect<ListResponse, Failure, GatewayClient> = Effect.suspend(() =>
  call(listConsoleSessionsOperation, {})
)

/**
 * Ends a session of the console. The person has to sign in again. Afterwards it is a 404.
 *
 * @category calls
 * @since 0.1.0
 */
export const endConsoleSession = (id: string): Effect.Effect<EndResponse, Failure, GatewayClient> =>
  call(endConsoleSessionOperation, { params: { id } })

/**
 * Ends all sessions of the console, also that of the caller. One-time links that were not used
 * still sign in.
 *
 * @category calls
 * @since 0.1.0
 */
export const endConsoleSessions: Effect.Effect<EndResponse, Failure, GatewayClient> = Effect.suspend(() =>
  call(endConsoleSessionsOperation, {})
)
