/**
 * Requests of the console: `/console/api/<path>` is `/api/v1/<path>` for who is signed in.
 *
 * The same handlers serve both. A request of the console has a cookie and no key; a request of the
 * API has a key, and its cookies are not read.
 */
import { Context, type Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { constUndefined } from "effect/Function"
import type { RequestRecord } from "./RequestContext.ts"

const prefix = "/console/api/"

/** The URL of the API that a URL of the console stands for. */
export const apiUrl = (url: string): string => `/api/v1/${url.slice(prefix.length)}`

/** Whether a URL of the console stands for one of the API. */
export const isApi = (url: string): boolean => url.startsWith(prefix)

/** Whether pages of other origins have no business at this URL, whatever the settings say. */
export const isOwnOrigin = (url: string): boolean => url.startsWith("/console/")

/** What a request of the console passes before it is one of the API. */
export interface Gate {
  /**
   * Checks the request, and sets the session of its record. Returns it as one of the API. Dies
   * with an error of the contract, which becomes the answer.
   */
  readonly enter: (
    request: HttpServerRequest.HttpServerRequest,
    record: RequestRecord
  ) => Effect.Effect<HttpServerRequest.HttpServerRequest>
}

/** The gate of the service. Undefined: it has no console. */
export const ConsoleGate = Context.Reference<Gate | undefined>("@model-gateway/server/http/ConsoleRequests", {
  defaultValue: constUndefined
})
