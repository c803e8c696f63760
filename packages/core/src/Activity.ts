/**
 * What an organization has used: spend and number of requests by UTC day, model and provider.
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
import { Decimal, KeyHash, WorkspaceId } from "./Identifiers.ts"
import { isMaxCharacters } from "./internal/characters.ts"
import { call } from "./internal/call.ts"
import { managementErrors } from "./internal/errorSets.ts"
import * as Operation from "./Operation.ts"
import { isDay } from "./unstable/Day.ts"

const count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/**
 * The requests of one UTC day for one model that one provider served. A request counts on the day
 * on which it was admitted.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Item = Schema.Struct({
  /** The UTC day, as `YYYY-MM-DD`. */
  date: Schema.String,
  /**
   * The model that the requests named. `other` has the sums of all further models if a workspace
   * has used more than 500 on a day, or 1,000 that cost something.
   */
  model: Schema.String,
  /** The same as `model`. */
  model_permaslug: Schema.String,
  /** Identifies the model at its provider: the provider, a colon and the model. */
  endpoint_id: Schema.String,
  /**
   * The provider that served the requests, or the last one that was tried. Empty if they failed
   * before a provider was tried.
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
  workspace_id: Schema.optionalKey(Schema.String)
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
    /** `workspace`: each workspace has items of its own. Default: items are of all workspaces. */
    group_by: Schema.optionalKey(Schema.Literals(["workspace"])),
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
  /** `workspace`: each workspace has items of its own. Default: items are of all workspaces. */
  readonly group_by?: "workspace" | undefined
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
 * at most 2,000 items and 2 MiB. Continue with `next` as `after` until it is null.
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
