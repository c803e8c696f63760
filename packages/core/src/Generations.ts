/**
 * The request log: what each paid request cost, who served it, and how long it took.
 *
 * An addition to the specification, which does not describe these operations. A single entry has
 * the fields of OpenRouter's API. Those that make no sense here are null.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { Decimal, KeyHash, Page, Timestamp, WorkspaceId } from "./Identifiers.ts"
import { call, dataOf } from "./internal/call.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { managementErrors } from "./internal/errorSets.ts"
import {
  ProviderAttempt,
  type Generation,
  fixed,
  getGenerationOperation,
  orNull,
  Status
} from "./internal/generation.ts"
import * as Operation from "./Operation.ts"
import { Known } from "./Trace.ts"

export {
  ProviderAttempt,
  fixed,
  Generation,
  getGenerationOperation,
  ProviderResponse,
  Response,
  Status
} from "./internal/generation.ts"

/**
 * An entry of the request log.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Entry = Schema.Struct({
  /** The generation id. It is the `id` of a rerank response. */
  id: Schema.String,
  /** When the request was admitted. */
  created_at: Timestamp,
  /** The workspace that was charged. */
  workspace_id: Schema.String,
  /** The hash of the API key that paid: for an ephemeral key, its parent. */
  key_hash: Schema.String,
  /**
   * The `x-request-id` of the response to the request, which is also in an error's
   * `service_metadata`. Null: not known.
   */
  request_id: Schema.optionalKey(orNull.string),
  /** The end user whom the request names in its `user`. Null: none. */
  external_user: orNull.string,
  /**
   * The keys of the request's `trace` that have a meaning, as far as they have at most 256
   * characters. Other keys are not kept. Null: none.
   */
  trace: Schema.optionalKey(Schema.NullOr(Known)),
  /** `rerank`, `transcription` or `video`. */
  operation: Schema.String,
  /** The model of the request. */
  model: Schema.String,
  status: Status,
  /** The HTTP status of the error that the caller got; 499 if the caller disconnected. */
  error_status: Schema.NullOr(Schema.Int),
  /**
   * The message of the error that the caller got, or the error of the video job, at most 500
   * characters. If it says what a provider wrote about the request, only the part before that is
   * kept, because it may quote the request. Null: there was none.
   */
  error_message: Schema.optionalKey(orNull.string),
  /** The provider that served it, or the last one that was tried. */
  provider: orNull.string,
  /** The model as the provider names it. */
  upstream_model: orNull.string,
  /** The video job that it belongs to. */
  video_id: orNull.string,
  /** Whether the caller's provider key was used. */
  is_byok: Schema.Boolean,
  /** What it cost, in credits. If `is_byok`, the caller's provider account was billed. */
  cost: Schema.Finite,
  /** Counts such as `search_units`, `total_tokens` or `seconds`. */
  usage: Schema.Record(Schema.String, Schema.Finite),
  /** Milliseconds from its admission to its end. */
  duration_ms: Schema.Finite,
  /**
   * In the order in which they were made. Those of a video job are its submissions: the first 5 and
   * the latest 20.
   */
  attempts: Schema.Array(ProviderAttempt)
})

/**
 * @category models
 * @since 0.1.0
 */
export type Entry = { [Field in keyof typeof Entry.Type]: (typeof Entry.Type)[Field] }

/**
 * A page of the request log. It looks at a limited number of requests, so a page of a filtered log
 * may have fewer entries than `limit`, or none. Continue with `next` as `after` until it is null.
 *
 * @category schemas
 * @since 0.1.0
 */
export const ListResponse = Schema.Struct({
  /** The entries of this page, newest first. */
  data: Schema.Array(Entry),
  /** Whether the log goes on after this page: `next` is not null. */
  has_more: Schema.Boolean,
  /** The `after` of the next page. Null on the last page. */
  next: orNull.string
})

/**
 * @category models
 * @since 0.1.0
 */
export type ListResponse = { [Field in keyof typeof ListResponse.Type]: (typeof ListResponse.Type)[Field] }

const exampleAttempt = (): typeof ProviderAttempt.Encoded => ({
  provider: "cohere",
  outcome: "Success",
  seconds: 0.184,
  billed: "yes"
})

const exampleGeneration = (): typeof Generation.Encoded => ({
  id: "gen_01J9ZQ4T7C5Q8B2W6N3M",
  api_type: "rerank",
  created_at: "2026-11-20T22:30:00.000Z",
  model: "cohere/rerank-v3.5",
  provider_name: "cohere",
  provider_responses: [{ provider_name: "cohere", status: 200, latency: 184, is_byok: false }],
  is_byok: false,
  total_cost: 0.002,
  usage: 0.002,
  latency: 191,
  generation_time: 184,
  cancelled: false,
  tokens_prompt: 23,
  tokens_completion: null,
  native_tokens_prompt: 23,
  native_tokens_completion: null,
  workspace_id: "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11",
  request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110",
  external_user: "customer-17",
  trace: { trace_id: "checkout-7", span_name: "rank" },
  upstream_inference_cost: null,
  status: "completed",
  error_status: null,
  error_message: null,
  attempts: [exampleAttempt()],
  ...fixed
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const getGenerationEndpoint = Operation.endpoint(getGenerationOperation, () => ({
  query: {
    /**
     * The generation id: the `id` of a rerank response, the `generation_id` of a video job. Or the
     * `x-request-id` of the response, of whose requests the latest one is returned.
     */
    id: Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))
  },
  reference: {
    summary: "Get a request",
    arguments: ["gen_01J9ZQ4T7C5Q8B2W6N3M"],
    example: { query: { id: "gen_01J9ZQ4T7C5Q8B2W6N3M" }, response: { data: exampleGeneration() } }
  }
}))

/**
 * @category operations
 * @since 0.1.0
 */
export const listGenerationsOperation = Operation.make("listGenerations", "GET", "/generations", {
  access: "management key",
  scope: "workspace",
  success: ListResponse,
  error: managementErrors
})

const Name = Schema.String.check(Schema.isMinLength(1), isMaxCharacters(256))

/**
 * The operations that the request log has.
 *
 * @category operations
 * @since 0.1.0
 */
export const PaidOperation = Schema.Literals(["rerank", "transcription", "video"])

/**
 * @category models
 * @since 0.1.0
 */
export type PaidOperation = typeof PaidOperation.Type

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listGenerationsEndpoint = Operation.endpoint(listGenerationsOperation, () => ({
  query: {
    ...Page,
    /** The `next` of the page before. Default: the page starts with the newest request. */
    after: Page.after,
    /**
     * Only requests of this workspace, which may be deleted. Default: of all workspaces of the
     * organization.
     */
    workspace_id: Schema.optionalKey(WorkspaceId),
    /** Only requests of the API key with this hash. */
    key_hash: Schema.optionalKey(KeyHash),
    /** Only requests whose response had this `x-request-id`. */
    request_id: Schema.optionalKey(Name),
    /** Only requests that name this end user in their `user`. */
    user: Schema.optionalKey(Name),
    /** Only requests of this operation. */
    operation: Schema.optionalKey(PaidOperation),
    /** Only requests for this model. */
    model: Schema.optionalKey(Name),
    /** Only requests that this provider served, or was the last to be tried for. */
    provider: Schema.optionalKey(Name),
    /** Only requests with this status. */
    status: Schema.optionalKey(Status),
    /** Only requests that failed with this HTTP status, 400 to 599. */
    error_status: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 400, maximum: 599 }))),
    /** Requests admitted at this time or later: ISO 8601, in UTC with `Z`. */
    from: Schema.optionalKey(Timestamp),
    /** Requests admitted before this time: ISO 8601, in UTC with `Z`. */
    to: Schema.optionalKey(Timestamp)
  },
  reference: {
    summary: "List requests",
    example: {
      query: { model: "cohere/rerank-v3.5", limit: "1" },
      response: {
        data: [
          {
            id: "gen_01J9ZQ4T7C5Q8B2W6N3M",
            created_at: "2026-11-20T22:30:00.000Z",
            workspace_id: "6b1f3c1e-3b0a-4c55-9f0e-2d5a7c9e1b11",
            key_hash: "3f7a9c…",
            request_id: "req_019aab3e5c7f7d3e9a41c2f0b6d84e110",
            external_user: "customer-17",
            trace: { trace_id: "checkout-7", span_name: "rank" },
            operation: "rerank",
            model: "cohere/rerank-v3.5",
            status: "completed",
            error_status: null,
            error_message: null,
            provider: "cohere",
            upstream_model: "rerank-v3.5",
            video_id: null,
            is_byok: false,
            cost: 0.002,
            usage: { search_units: 1, total_tokens: 23 },
            duration_ms: 191,
            attempts: [exampleAttempt()]
          }
        ],
        has_more: false,
        next: null
      }
    }
  }
}))

/**
 * The errors of {@link getGeneration}.
 *
 * @category errors
 * @since 0.1.0
 */
export type GetFailure = Operation.ErrorOf<typeof getGenerationOperation> | ClientError

/**
 * The errors of {@link listGenerations}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listGenerationsOperation> | ClientError

/**
 * Selects entries of the request log.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions {
  /** The `next` of the page before. Default: the page starts with the newest request. */
  readonly after?: string | undefined
  /** 1 to 1000. Default: 100. */
  readonly limit?: number | undefined
  readonly workspace_id?: string | undefined
  readonly key_hash?: string | undefined
  /** The `x-request-id` of the response to a request. */
  readonly request_id?: string | undefined
  /** The end user whom the requests name. */
  readonly user?: string | undefined
  readonly operation?: PaidOperation | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly status?: Status | undefined
  readonly error_status?: number | undefined
  /** Requests admitted at this time or later, in ISO 8601 with `Z`. */
  readonly from?: string | undefined
  /** Requests admitted before this time. */
  readonly to?: string | undefined
}

/**
 * Returns what one paid request cost, who served it and how long it took. Ordinary keys see the
 * requests of their workspace, management keys those of their organization. An ephemeral key with
 * `own_files` sees only its own requests.
 *
 * @category calls
 * @since 0.1.0
 */
export const getGeneration = (id: string): Effect.Effect<Generation, GetFailure, GatewayClient> =>
  dataOf(call(getGenerationOperation, { query: { id } }))

/**
 * Lists the paid requests of an organization that have ended, charged or not, newest first.
 *
 * @remarks
 * A page may have fewer entries than `limit`, or none, although more follow: see {@link
 * ListResponse}.
 *
 * @example
 * ```ts
 * import { Generations } from "@model-gateway/core"
 *
 * const overloaded = Generations.listGenerations({ status: "failed", error_status: 529 })
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const listGenerations = (options: ListOptions = {}): Effect.Effect<ListResponse, Failure, GatewayClient> =>
  call(listGenerationsOperation, { query: { ...options } })
