/**
 * State of one request while it is served: its id and, later, its operation and its caller.
 *
 * The outermost middleware creates one record per request and inner ones fill it in, so that any
 * failure can be answered in the envelope with the right id, user and status set.
 */
import type { WireNames } from "@model-gateway/core/WireNames"
import { Context, Effect } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"

/** The record. Middlewares and admission write to it. */
export interface RequestRecord {
  /** Also sent as `x-request-id` and `service_metadata.request_id`. */
  readonly id: string
  /** The words on the wire, if they are not the neutral ones. */
  readonly wireNames: WireNames | undefined
  /** Set when the route is found. */
  endpoint: HttpApiEndpoint.Top | undefined
  /** The user who created the caller's key. Null: unknown, or not yet authenticated. */
  userId: string | null
  /**
   * Whose key it has, also if the key is no longer valid. Undefined: not yet known, or no stored
   * key.
   */
  caller: { readonly workspaceId: string; readonly organizationId: string } | undefined
  /**
   * The session of the console that it is part of: a `SignedIn` of `access`. Undefined: it has a
   * key.
   */
  session: object | undefined
  /** The hash of its key, also of one that is no longer valid. For an ephemeral key, its parent. */
  keyHash: string | undefined
  /** The network address of the caller. Set when it calls an operation of management keys. */
  address: string | undefined
  /** The model that it names, once it is known to be well-formed. */
  model: string | undefined
  /** The id of its entry in the usage ledger. Undefined: it has none, or not yet. */
  generationId: string | undefined
  /** The message of its error. Undefined: it has not failed. */
  message: string | undefined
  /** The limit of its body, or of the file in it, in bytes. Set when it is known. */
  bodyLimit: number | undefined
  /** Headers for the response, whatever its status. */
  readonly headers: Record<string, string>
}

/** The record of the current request. */
export class RequestContext extends Context.Service<RequestContext, RequestRecord>()(
  "@model-gateway/server/http/RequestContext"
) {}

/** The record of the request that the context belongs to, if it belongs to one. */
export const of = (context: Context.Context<never>): RequestRecord | undefined =>
  Context.getOrUndefined(context, RequestContext)

/** The record of the current request. Undefined outside of a request, as in a worker. */
export const current: Effect.Effect<RequestRecord | undefined> = Effect.withFiber((fiber) =>
  Effect.succeed(of(fiber.context))
)

/** A new record. */
export const make = (id: string, wireNames?: WireNames): RequestRecord => ({
  id,
  wireNames,
  endpoint: undefined,
  userId: null,
  caller: undefined,
  session: undefined,
  keyHash: undefined,
  address: undefined,
  model: undefined,
  generationId: undefined,
  message: undefined,
  bodyLimit: undefined,
  headers: { "cache-control": "no-store", "x-content-type-options": "nosniff" }
})

/** The format of caller-chosen ids: up to 128 characters that are safe in headers and logs. */
const chosen = /^[\w.:@/+=,~-]{1,128}$/

/** Whether a caller's own `x-request-id` is used. */
export const isSafeId = (id: string): boolean => chosen.test(id)
