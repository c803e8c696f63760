/**
 * Lets pages of listed origins call the service from a browser; off unless origins are listed.
 *
 * Every answer to a listed origin says so, failures too, or else a page could not read why it failed. The browser's preflight is answered before anybody is authenticated, as it carries no
 * key. Cookies play no part (no credentials mode): the bearer key is all that authenticates. Every other origin is answered as ever, without a word of CORS, and its browser keeps the answer from
 * the page.
 */
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { RequestRecord } from "./RequestContext.ts"

/** What a page may send beside what browsers always allow. */
const requestHeaders = [
  "authorization",
  "content-type",
  "idempotency-key",
  "x-request-id",
  "range",
  "accept",
  "traceparent",
  "tracestate",
  "b3"
].join(", ")

/** What a page may read beside what browsers always show. */
const responseHeaders = [
  "x-request-id",
  "retry-after",
  "ratelimit",
  "ratelimit-policy",
  "idempotent-replayed",
  "content-range",
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
  // As long as browsers keep it at most.
  "access-control-max-age": "7200"
}

/** Apps that are no web pages have origins such as `capacitor://localhost`, which `URL` does not know how to normalise. */
const otherOrigin = /^[a-z][a-z\d+.-]*:\/\/[a-z\d.-]+(?::\d+)?$/

/**
 * What is wrong with an origin of the list, as a sentence; undefined where nothing is. An origin is scheme, host and port exactly as browsers send it.
 *
 * `*` is refused: it would invite every page of the web to be handed a key.
 */
export const problemOf = (origin: string): string | undefined => {
  if (origin === "*") return "* would let every page of the web in: list the origins of your own pages"
  if (origin.includes("*")) return `${origin} is not an exact origin: list each host by itself`
  const normal = URL.canParse(origin) ? new URL(origin).origin : "null"
  if (normal === origin && normal !== "null") return undefined
  if (normal !== "null") return `${origin} is not an origin as browsers send it: write ${normal}`
  return otherOrigin.test(origin) ? undefined : `${origin} is not an origin such as https://app.example`
}

/** Notes in the record what the answer has to say to the request's origin; answers it where it is a preflight. */
export type Cors = (
  request: HttpServerRequest.HttpServerRequest,
  record: RequestRecord
) => HttpServerResponse.HttpServerResponse | undefined

/** CORS for these origins; undefined where there are none. Throws where one of them is none. */
export const make = (origins: ReadonlyArray<string>): Cors | undefined => {
  if (origins.length === 0) return undefined
  const problem = origins.map(problemOf).find((problem) => problem !== undefined)
  if (problem !== undefined) throw new RangeError(`corsOrigins: ${problem}`)
  const listed = new Set(origins)

  return ({ headers, method }, record) => {
    // Whoever is not listed gets another answer, which a cache must not mix with this one.
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
