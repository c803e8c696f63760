/**
 * Lets pages of listed origins call the service from a browser. Off if no origins are listed.
 *
 * Every response to a listed origin has CORS headers, also failures, so that a page can read why a
 * request failed. A preflight is answered before authentication, because it carries no key. Cookies
 * are not used (no credentials mode): the bearer key is the only authentication. Other origins get
 * a normal response without CORS headers, and the browser keeps it from the page.
 */
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { RequestRecord } from "./RequestContext.ts"

/** Request headers that a page may send in addition to those that browsers always allow. */
const requestHeaders = [
  "authorization",
  "content-type",
  "idempotency-key",
  "x-request-id",
  "range",
  "if-range",
  "accept",
  "traceparent",
  "tracestate",
  "b3"
].join(", ")

/** Response headers that a page may read in addition to those that browsers always expose. */
const responseHeaders = [
  "x-request-id",
  "retry-after",
  "ratelimit",
  "ratelimit-policy",
  "idempotent-replayed",
  "content-range",
  "etag",
  "accept-ranges",
  "content-disposition",
  "location",
  "allow",
  "www-authenticate",
  "date"
].join(", ")

const preflightHeaders = {
  "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
  "access-control-allow-headers": requestHeaders,
  // The longest time that browsers cache a preflight.
  "access-control-max-age": "7200"
}

/**
 * Adds the CORS headers for the request's origin to the record. Returns the response if the request
 * is a preflight.
 */
export type Cors = (
  request: HttpServerRequest.HttpServerRequest,
  record: RequestRecord
) => HttpServerResponse.HttpServerResponse | undefined

/** CORS for these origins. Undefined if there are none. */
export const make = (origins: ReadonlyArray<string>): Cors | undefined => {
  if (origins.length === 0) return undefined
  const listed = new Set(origins)

  return ({ headers, method }, record) => {
    // Unlisted origins get a different response, which a cache must not mix with this one.
    record.headers["vary"] = "Origin"
    const origin = headers["origin"]
    if (origin === undefined || !listed.has(origin)) return undefined
    record.headers["access-control-allow-origin"] = origin
    if (method === "OPTIONS" && headers["access-control-request-method"] !== undefined) {
      return HttpServerResponse.empty({ status: 204, headers: preflightHeaders })
    }
    record.headers["access-control-expose-headers"] = responseHeaders
    return undefined
  }
}
