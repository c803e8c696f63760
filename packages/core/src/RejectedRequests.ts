/**
 * The requests that failed before they were admitted, such as those with a wrong key (401), without
 * credits (402) or above the rate (429). The request log (`Generations`) has the others.
 *
 * An addition to the specification, which does not describe this operation.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { Decimal, KeyHash, Page, Timestamp, WorkspaceId } from "./Identifiers.ts"
import { call } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"

const orNull = Schema.NullOr(Schema.String)

/**
 * A request that failed before it was admitted.
 *
 * @category schemas
 * @since 0.1.0
 */
export const RejectedRequest = Schema.Struct({
  /** Identifies this record. */
  id: Schema.String,
  /** When it was answered. */
  created_at: Timestamp,
  /** The `x-request-id` of the response. */
  request_id: Schema.String,
  /** The operation, such as `rerank` or `listKeys`. */
  operation: Schema.String,
  /** The model that it names. Null: it was rejected before its model was known, or names none. */
  model: orNull,
  /** The HTTP status of the answer; 499 if the caller disconnected. */
  status: Schema.Int,
  /** The message of the error. Null: there was no answer. */
  message: orNull,
  /** The workspace of the key. Null: it had no valid key. */
  workspace_id: orNull,
  /**
   * The hash of the API key, also of one that is not valid any more. For an ephemeral key, its
   * parent. Null: it had no key, or a text that is not a key.
   */
  key_hash: orNull,
  /** The network address of the caller. */
  address: Schema.String,
  /** Milliseconds from its headers to the answer. */
  duration_ms: Schema.Finite,
  /**
   * The number of further requests with the same status of this key, or of this address if there
   * was no key, that were rejected within the same minute and are not listed. At most 30 of them
   * are.
   */
  omitted: Schema.Int
})

/**
 * @category models
 * @since 0.1.0
 */
export type RejectedRequest = { [Field in keyof typeof RejectedRequest.Type]: (typeof RejectedRequest.Type)[Field] }

/**
 * A page of the list. It looks at a limited number of requests, so a page of a filtered list may
 * have fewer entries than `limit`, or none. Continue with `next` as `after` until it is null.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** The requests of this page, newest first. */
  data: Schema.Array(RejectedRequest),
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
export const listRejectedRequestsOperation = Operation.make("listRejectedRequests", "GET", "/requests/rejected", {
  access: "management key",
  scope: "workspace",
  success: ListResponse,
  error: managementErrors
})

const Name = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listRejectedRequestsEndpoint = Operation.endpoint(listRejectedRequestsOperation, () => ({
  query: {
    ...Page,
    /** The `next` of the page before. Default: the page starts with the newest request. */
    after: Page.after,
    /** Only requests whose response had this `x-request-id`. */
    request_id: Schema.optionalKey(Name),
    /** Only requests of keys of this workspace, which may be deleted. */
    workspace_id: Schema.optionalKey(WorkspaceId),
    /** Only requests of the API key with this hash. */
    key_hash: Schema.optionalKey(KeyHash),
    /** Only requests of this operation, such as `rerank`. */
    operation: Schema.optionalKey(Name),
    /** Only requests that were answered with this HTTP status, 400 to 599. */
    status: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 400, maximum: 599 }))),
    /** Requests answered at this time or later: ISO 8601, in UTC with `Z`. */
    from: Schema.optionalKey(Timestamp),
    /** Requests answered before this time: ISO 8601, in UTC with `Z`. */
    to: Schema.optionalKey(Timestamp)
  },
  reference: {
    summary: "List rejected requests",
    example: {
      query: { status: "402", limit: "1" },
      response: {
        data: [
          {
            id: "019aab3e-5c7f-7d3e-9a41-c2f0b6d84e11",
            created_at: "2026-11-20T22:30:00.000Z",
            request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110",
            operation: "rerank",
            model: "cohere/rerank-v3.5",
            status: 402,
            message: "insufficient credits: this request needs up to 0.002 credits, and the key has 0.0005 left",
            workspace_id: "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11",
            key_hash: "3f7a9c…",
            address: "203.0.113.7",
            duration_ms: 3,
            omitted: 0
          }
        ],
        has_more: false,
        next: null
      }
    }
  }
}))

/**
 * The errors of {@link listRejectedRequests}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listRejectedRequestsOperation> | ClientError

/**
 * Selects rejected requests.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions {
  /** The `next` of the page before. Default: the page starts with the newest request. */
  readonly after?: string | undefined
  /** 1 to 1000. Default: 100. */
  readonly limit?: number | undefined
  /** The `x-request-id` of the response to a request. */
  readonly request_id?: string | undefined
  readonly workspace_id?: string | undefined
  readonly key_hash?: string | undefined
  readonly operation?: string | undefined
  readonly status?: number | undefined
  /** Requests answered at this time or later, in ISO 8601 with `Z`. */
  readonly from?: string | undefined
  /** Requests answered before this time. */
  readonly to?: string | undefined
}

/**
 * Lists the requests that failed before they were admitted, newest first. They cost nothing.
 *
 * @remarks
 * A page may have fewer entries than `limit`, or none, although more follow: see {@link
 * ListResponse}.
 *
 * @example
 * ```ts
 * import { RejectedRequests } from "@model-gateway/core"
 *
 * const unpaid = RejectedRequests.listRejectedRequests({ status: 402 })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const listRejectedRequests = (options: ListOptions = {}): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listRejectedRequestsOperation, { query: { ...options } })
