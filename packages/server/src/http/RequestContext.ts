/**
 * What is known of one request while it is served: its id, and, as it gets further, its operation and its caller.
 *
 * One record a request, made by the outermost middleware and filled in by those further in, so that whatever goes wrong afterwards can be answered in the
 * envelope with the right id, user and status set.
 */
import { Context, Effect } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import type { Caller } from "../keys/Key.ts"

/** The record. Only the middlewares of `http/` write to it. */
export interface RequestRecord {
  /** As in `x-request-id` and `service_metadata.request_id`. */
  readonly id: string
  /** Known once the route is found. */
  endpoint: HttpApiEndpoint.Top | undefined
  /** Known once the caller is authenticated: its key and the guardrail that the key holds. */
  caller: Caller | undefined
  /** How many bytes its body, or the file in it, may have; known once it may send one. */
  bodyLimit: number | undefined
  /** Whether the request was counted against its key's rate. */
  isCounted: boolean
  /** Headers for the answer, whatever it will be. */
  readonly headers: Record<string, string>
}

/** The record of the request being served. */
export class RequestContext extends Context.Service<RequestContext, RequestRecord>()(
  "@model-gateway/server/http/RequestContext"
) {}

/** A new record. */
export const make = (id: string): RequestRecord => ({
  id,
  endpoint: undefined,
  caller: undefined,
  bodyLimit: undefined,
  isCounted: false,
  headers: { "x-content-type-options": "nosniff" }
})

/** Ids that callers may choose themselves: up to 128 characters that are safe in headers and logs. */
const chosen = /^[\w.:@/+=,~-]{1,128}$/

/** Whether a caller's own `x-request-id` is taken over. */
export const isSafeId = (id: string): boolean => chosen.test(id)

/**
 * The key that authenticated the request, with its guardrail. A handler without authorization that asks for it is a mistake of the
 * program, hence a defect.
 */
export const caller: Effect.Effect<Caller, never, RequestContext> = Effect.flatMap(RequestContext, (record) =>
  record.caller === undefined
    ? Effect.die(new Error("The request is not authenticated"))
    : Effect.succeed(record.caller)
)

/** Adds a header to the answer, whether it will be a success or a failure. */
export const setHeader = (name: string, value: string): Effect.Effect<void, never, RequestContext> =>
  Effect.map(RequestContext, (record) => {
    record.headers[name] = value
  })
