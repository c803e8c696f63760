/**
 * The audit log: who changed keys, guardrails, workspaces and the like, when, and what the change
 * was, and who signed in to the console. Nothing changes an entry.
 *
 * An addition to the specification, which does not describe this operation.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { Page, Timestamp } from "./Identifiers.ts"
import { call } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"

const orNull = Schema.NullOr(Schema.String)

/** Some fields of a record, as its operations return them. */
const Fields = Schema.NullOr(Schema.Record(Schema.String, Schema.Json))

/**
 * A change, or a sign-in.
 *
 * @category schemas
 * @since 0.1.0
 */
export const AuditEntry = Schema.Struct({
  /** Identifies this entry. */
  id: Schema.String,
  /** When the change was made. */
  created_at: Timestamp,
  /**
   * The hash of the management key that made it, `operator` for the command line, `gateway` for the
   * gateway itself, or who was signed in to the console without a key, such as
   * `link:3f7a9c2b41d05e88`. `unknown`: a refused sign-in does not say who it was.
   */
  actor: Schema.String,
  /** The key's label, such as `mg_mk_…a1Z`, or in words who was signed in without a key. */
  actor_label: Schema.String,
  /** What they could do then: `viewer`, `operator` or `admin`. `none`: they were refused. */
  actor_role: Schema.String,
  /** The network address of the caller. Null: the command line, on the machine of the database. */
  address: orNull,
  /**
   * The operation, such as `updateKey`, or `signIn`, `signOut`, `refuseSignIn` or
   * `createConsoleLink`, which are no operations. Of refused sign-ins, only the first 10 of an hour
   * are recorded.
   */
  action: Schema.String,
  /**
   * What was changed: `key`, `guardrail`, `workspace`, `provider_key`, `destination`, `alert`,
   * `webhook_secret`, `webhook_delivery`, `reservation`, `console_session` or `console_link`.
   */
  target_kind: Schema.String,
  /** The hash of the key, or the `id` of what was changed. A refused sign-in has `refused`. */
  target_id: Schema.String,
  /**
   * The fields that the change replaced or deleted, as they were before, without secrets. Null:
   * there was nothing, or it is not recorded.
   */
  before: Fields,
  /** The fields after the change, without secrets. Null: there is nothing. */
  after: Fields,
  /** The `x-request-id` of the response. Empty: there was no request. */
  request_id: Schema.String
})

/**
 * @category models
 * @since 0.1.0
 */
export type AuditEntry = { [Field in keyof typeof AuditEntry.Type]: (typeof AuditEntry.Type)[Field] }

/**
 * A page of the list. It looks at a limited number of entries, so a page of a filtered list may
 * have fewer entries than `limit`, or none. Continue with `next` as `after` until it is null.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** The changes of this page, newest first. */
  data: Schema.Array(AuditEntry),
  /** Whether the list goes on after this page: `next` is not null. */
  has_more: Schema.Boolean,
  /** The `after` of the next page. Null on the last page. */
  next: orNull
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

/**
 * @category operations
 * @since 0.1.0
 */
export const listAuditOperation = Operation.make("listAudit", "GET", "/audit", {
  access: "management key",
  success: ListResponse,
  error: managementErrors
})

const Name = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listAuditEndpoint = Operation.endpoint(listAuditOperation, () => ({
  query: {
    ...Page,
    /** The `next` of the page before. Default: the page starts with the newest change. */
    after: Page.after,
    /** Only changes by the management key with this hash, or by `operator`. */
    actor: Schema.optionalKey(Name),
    /** Only changes by this operation, such as `updateKey`. */
    action: Schema.optionalKey(Name),
    /** Only changes of the key with this hash, or of what has this `id`. */
    target: Schema.optionalKey(Name),
    /** Changes at this time or later: ISO 8601, in UTC with `Z`. */
    from: Schema.optionalKey(Timestamp),
    /** Changes before this time: ISO 8601, in UTC with `Z`. */
    to: Schema.optionalKey(Timestamp)
  },
  reference: {
    summary: "List changes",
    example: {
      query: { target: "9b74c9897bac770ffc029102a200c5de5d1b0d1a6a5f4d7b0e6d3b6f2c8a1e44", limit: "1" },
      response: {
        data: [
          {
            id: "019aab3e-5c7f-7d3e-9a41-c2f0b6d84e11",
            created_at: "2026-11-20T22:30:00.000Z",
            actor: "3f7a9c…",
            actor_label: "mg_mk_…x9Q",
            actor_role: "operator",
            address: "203.0.113.7",
            action: "updateKey",
            target_kind: "key",
            target_id: "9b74c9897bac770ffc029102a200c5de5d1b0d1a6a5f4d7b0e6d3b6f2c8a1e44",
            before: { disabled: false },
            after: { disabled: true },
            request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110"
          }
        ],
        has_more: false,
        next: null
      }
    }
  }
}))

/**
 * The errors of {@link listAudit}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listAuditOperation> | ClientError

/**
 * Selects changes.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions {
  /** The `next` of the page before. Default: the page starts with the newest change. */
  readonly after?: string | undefined
  /** 1 to 1000. Default: 100. */
  readonly limit?: number | undefined
  /** The hash of the management key, or `operator`. */
  readonly actor?: string | undefined
  readonly action?: string | undefined
  /** The hash of a key, or the `id` of what was changed. */
  readonly target?: string | undefined
  /** Changes at this time or later, in ISO 8601 with `Z`. */
  readonly from?: string | undefined
  /** Changes before this time. */
  readonly to?: string | undefined
}

/**
 * Lists the changes that management keys and the command line have made, and the sign-ins to the
 * console, newest first.
 *
 * @remarks
 * A page may have fewer entries than `limit`, or none, although more follow: see {@link
 * ListResponse}.
 *
 * @example
 * ```ts
 * import { AuditLog } from "@model-gateway/core"
 *
 * const ofKey = (hash: string) => AuditLog.listAudit({ target: hash })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const listAudit = (options: ListOptions = {}): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listAuditOperation, { query: { ...options } })
