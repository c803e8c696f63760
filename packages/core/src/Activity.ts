/**
 * What an organization has used: spend and number of requests by UTC day, model and provider, or by
 * minute, hour, day or range and what else they are grouped by.
 *
 * An addition to the specification, which does not describe this operation. It has the fields of
 * OpenRouter's API.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { ClientError } from "./ClientError.ts"
import type { GatewayClient } from "./GatewayClient.ts"
import { PaidOperation } from "./Generations.ts"
import { Decimal, KeyHash, Name, Timestamp, WorkspaceId } from "./Identifiers.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { call } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import { Status } from "./internal/generation.ts"
import * as Operation from "./Operation.ts"
import { isDay } from "./unstable/Day.ts"

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/**
 * How long the items of a call with `interval` are: a minute, an hour or day in UTC, or all of the
 * range from `from` to `to`.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Interval = Schema.Literals(["minute", "hour", "day", "range"])

/**
 * @category models
 * @since 0.1.0
 */
export type Interval = typeof Interval.Type

/**
 * What has items of its own.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Group = Schema.Literals(["key", "user", "workspace", "model", "provider", "guardrail"])

/**
 * @category models
 * @since 0.1.0
 */
export type Group = typeof Group.Type

/**
 * The requests of one UTC day for one model that one provider served; with `interval`, those of one
 * minute, hour, day or range and one group. A request counts when it was admitted.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Item = Schema.Struct({
  /** The UTC day, as `YYYY-MM-DD`. */
  date: Schema.String,
  /**
   * The model that the requests named. `other` has the sums of all further models if a workspace
   * has used more than 500 on a day, or 1,000 that cost something. With `interval`, empty unless
   * items are grouped by it.
   */
  model: Schema.String,
  /** The same as `model`. */
  model_permaslug: Schema.String,
  /**
   * Identifies the model at its provider: the provider, a colon and the model. With `interval`,
   * empty.
   */
  endpoint_id: Schema.String,
  /**
   * The provider that served the requests, or the last one that was tried. Empty if they failed
   * before a provider was tried. With `interval`, empty unless items are grouped by it.
   */
  provider_name: Schema.String,
  /** The number of paid requests that have ended, charged or not. */
  requests: count,
  /** How many of them failed, were canceled or expired. They cost nothing. */
  failed_requests: count,
  /** What was charged, in credits. Requests with the caller's provider keys are not
   * in it. */
  usage: Schema.Finite,
  /**
   * The cost of the requests with the caller's provider keys, in credits. The provider bills it.
   */
  byok_usage_inference: Schema.Finite,
  /** Tokens that providers read. 0 for providers that report none. */
  prompt_tokens: count,
  /** Tokens that providers wrote. 0 for providers that report none. */
  completion_tokens: count,
  /** Always 0: these models do not reason. */
  reasoning_tokens: count,
  /** The workspace of the requests. Only with `group_by=workspace`. */
  workspace_id: Schema.optionalKey(Schema.String),
  /** The start of the minute, hour, day or range. Only with `interval`. */
  start: Schema.optionalKey(Timestamp),
  /** The hash of the API key that paid. Only with `group_by=key`. */
  key_hash: Schema.optionalKey(Schema.String),
  /** The end user whom the requests name. Empty: none. Only with `group_by=user`. */
  external_user: Schema.optionalKey(Schema.String),
  /** The guardrail of the key. Empty: none. Only with `group_by=guardrail`. */
  guardrail_id: Schema.optionalKey(Schema.String),
  /**
   * The requests that failed, by the HTTP status of the error, such as `529`. Video jobs have none
   * and count as `failed`, `cancelled` or `expired`. Only of items that are read from requests; see
   * `details`.
   */
  failures: Schema.optionalKey(Schema.Record(Schema.String, count)),
  /**
   * The median of the milliseconds from admission to end, of the completed requests. Null: there
   * was none. Only as `failures`.
   */
  duration_p50_ms: Schema.optionalKey(Schema.NullOr(Schema.Finite)),
  /** The milliseconds that 95 % of the completed requests did not exceed. As `duration_p50_ms`. */
  duration_p95_ms: Schema.optionalKey(Schema.NullOr(Schema.Finite))
})

/**
 * @category models
 * @since 0.1.0
 */
export type Item = { [Field in keyof typeof Item.Type]: (typeof Item.Type)[Field] }

/**
 * A page of the activity, newest day first, then by model and provider. Days without requests have
 * no items.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Response = Schema.Struct({
  /** One item for each day, model and provider. */
  data: Schema.Array(Item),
  /** Whether more items follow: `next` is not null. */
  has_more: Schema.Boolean,
  /** The `after` of the next page. Null on the last page. */
  next: Schema.NullOr(Schema.String)
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
export const listActivityOperation = Operation.make("listActivity", "GET", "/activity", {
  access: "management key",
  scope: "workspace",
  success: Response,
  error: managementErrors
})

/**
 * @category endpoints
 * @since 0.1.0
 */
export const listActivityEndpoint = Operation.endpoint(listActivityOperation, () => ({
  query: {
    /** Only this UTC day, as `YYYY-MM-DD`. Default: the current day and the 30 before it. */
    date: Schema.optionalKey(Schema.String.check(Schema.makeFilter(isDay, { expected: "a day as YYYY-MM-DD" }))),
    /** Only requests of this API key, or of its ephemeral keys. Default: of all keys. */
    api_key_hash: Schema.optionalKey(KeyHash),
    /**
     * Only requests of this workspace, which may be deleted. Default: of all workspaces of the
     * organization.
     */
    workspace_id: Schema.optionalKey(WorkspaceId),
    /**
     * `minute`, `hour`, `day` or `range`: items are of one minute, hour, UTC day or all of the range
     * and of one group, newest first. Default: they are of one UTC day, model and provider, and only
     * `date` and `group_by=workspace` apply.
     */
    interval: Schema.optionalKey(Interval),
    /**
     * The first time, ISO 8601 in UTC with `Z`. Items that are not read from requests have all of
     * its day. At most 366 days before `to`. Default: 24 hours before `to`, or 30 days if
     * `interval` is `day`. Needs `interval`.
     */
    from: Schema.optionalKey(Timestamp),
    /** The first time that is too late. Default: now. Needs `interval`. */
    to: Schema.optionalKey(Timestamp),
    /**
     * What has items of its own: with `interval`, `key`, `user`, `workspace`, `model`, `provider`
     * or `guardrail`; without, `workspace`, besides day, model and provider. Default with
     * `interval`: nothing, an item has all requests of its time.
     */
    group_by: Schema.optionalKey(Group),
    /**
     * `true`: items have `failures` and durations, and are read from requests instead of the sums
     * of days. They always are with another interval than `day`, by user and guardrail, and with the
     * filters below. Then the range may have at most 10,000 requests, all of them counted; a 400
     * says from when on it has no more. Needs `interval`.
     */
    details: Schema.optionalKey(Schema.Literals(["true"])),
    /** Only requests that name this end user in their `user`. Needs `interval`. */
    user: Schema.optionalKey(Name),
    /** Only requests of this operation. Needs `interval`. */
    operation: Schema.optionalKey(PaidOperation),
    /** Only requests for this model. Needs `interval`. */
    model: Schema.optionalKey(Name),
    /**
     * Only requests that this provider served, or was the last to be tried for. Needs `interval`.
     */
    provider: Schema.optionalKey(Name),
    /** Only requests with this status. Needs `interval`. */
    status: Schema.optionalKey(Status),
    /** Only requests that failed with this HTTP status, 400 to 599. Needs `interval`. */
    error_status: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 400, maximum: 599 }))),
    /**
     * `csv`: the answer is the items as `text/csv` with a line of names, and its header `x-next` is
     * the `after` of the next page, if there is one. Default: `json`.
     */
    format: Schema.optionalKey(Schema.Literals(["json", "csv"])),
    /** The `next` of the page before. Default: the page starts with the newest day. */
    after: Schema.optionalKey(Schema.String.check(isMaxCharacters(4096))),
    /** The maximum number of items, 1 to 2000. Default: 2000. A page of 2 MiB has fewer. */
    limit: Schema.optionalKey(Decimal.check(Schema.isInt(), Schema.isBetween({ minimum: 1, maximum: 2000 }))),
    /** Refused: requests belong to API keys, not to users. Use `api_key_hash`. */
    user_id: Schema.optionalKey(Schema.String)
  },
  reference: {
    summary: "Get activity by day",
    example: {
      query: { date: "2026-11-21" },
      response: {
        data: [
          {
            date: "2026-11-21",
            model: "cohere/rerank-v3.5",
            model_permaslug: "cohere/rerank-v3.5",
            endpoint_id: "cohere:cohere/rerank-v3.5",
            provider_name: "cohere",
            requests: 1204,
            failed_requests: 3,
            usage: 2.402,
            byok_usage_inference: 0,
            prompt_tokens: 0,
            completion_tokens: 0,
            reasoning_tokens: 0
          }
        ],
        has_more: false,
        next: null
      }
    }
  }
}))

/**
 * The errors of {@link listAllActivity}.
 *
 * @category errors
 * @since 0.1.0
 */
export type Failure = Operation.ErrorOf<typeof listActivityOperation> | ClientError

/**
 * Selects and groups the activity.
 *
 * @category options
 * @since 0.1.0
 */
export interface ListOptions {
  /** Only this UTC day, as `YYYY-MM-DD`. Default: the current day and the 30 before it. */
  readonly date?: string | undefined
  /** Only requests of this API key, or of its ephemeral keys. Default: of all keys. */
  readonly api_key_hash?: string | undefined
  /**
   * Only requests of this workspace, which may be deleted. Default: of all workspaces of the
   * organization.
   */
  readonly workspace_id?: string | undefined
  /**
   * `minute`, `hour`, `day` or `range`: items are of one minute, hour, UTC day or all of the range
   * and of one group. Default: they are of one UTC day, model and provider, and only `date` and
   * `group_by: "workspace"` apply.
   */
  readonly interval?: Interval | undefined
  /** The first time, in ISO 8601 with `Z`. Default: 24 hours, or 30 days, before `to`. */
  readonly from?: string | undefined
  /** The first time that is too late. Default: now. */
  readonly to?: string | undefined
  /** What has items of its own. Default: with `interval` nothing, else model and provider. */
  readonly group_by?: Group | undefined
  /**
   * Whether items have `failures` and durations. They do with another interval than `day`, by user
   * and guardrail, and with the filters below. Then the range may have at most 10,000 requests.
   */
  readonly details?: "true" | undefined
  /** Only requests that name this end user. Needs `interval`, as do the filters below. */
  readonly user?: string | undefined
  readonly operation?: PaidOperation | undefined
  readonly model?: string | undefined
  readonly provider?: string | undefined
  readonly status?: Status | undefined
  /** Only requests that failed with this HTTP status, 400 to 599. */
  readonly error_status?: number | undefined
}

/**
 * Selects a page of the activity.
 *
 * @category options
 * @since 0.1.0
 */
export interface PageOptions extends ListOptions {
  /** The `next` of the page before. Default: the page starts with the newest day. */
  readonly after?: string | undefined
  /** 1 to 2000. Default: 2000. */
  readonly limit?: number | undefined
}

/**
 * Returns spend and number of requests by UTC day, model and provider: of the current day and the
 * 30 before it, or of one day. It includes every request that has ended, and no other. A page has
 * at most 2,000 items and 2 MiB. Continue with `next` as `after` until it is null. With `interval`,
 * returns them by minute, hour, day or range, and by key, user, workspace, model, provider or guardrail.
 *
 * @remarks
 * {@link listAllActivity} reads all pages.
 *
 * @category calls
 * @since 0.1.0
 */
export const listActivity = (options?: PageOptions): Effect.Effect<Response, Failure, GatewayClient> =>
  call(listActivityOperation, { query: { ...options } })

/**
 * Returns spend and number of requests by UTC day, model and provider. It reads all pages.
 *
 * @example
 * ```ts
 * import { Activity } from "@model-gateway/core"
 * import { Effect } from "effect"
 *
 * const spent = Activity.listAllActivity().pipe(
 *   Effect.map((items) => items.reduce((sum, { usage }) => sum + usage, 0))
 * )
 * ```
 *
 * @category calls
 * @since 0.1.0
 */
export const listAllActivity = Effect.fnUntraced(function* (
  options?: ListOptions
): Effect.fn.Return<ReadonlyArray<Item>, Failure, GatewayClient> {
  const { data, next } = yield* listActivity(options)
  let items = data
  for (let after = next; after !== null;) {
    const further: Response = yield* listActivity({ ...options, after })
    items = [...items, ...further.data]
    after = further.next
  }
  return items
})
