/**
 * Whether a request comes from a page of this service. Browsers say where a request comes from;
 * a page cannot change what they say.
 *
 * The cookie of a session is `SameSite=Strict`. This check is independent of it, and stricter: other
 * services on other ports of this host are the same site.
 */
import { Forbidden, phrases } from "@model-gateway/core/GatewayError"
import type { HttpServerRequest } from "effect/http"

/** The header that requests that change something need. A page of another origin cannot send it. */
export const header = "x-model-gateway-console"

type Request = Pick<HttpServerRequest.HttpServerRequest, "headers" | "method">

const refusal = (reason: string) =>
  new Forbidden({ error: { message: `${phrases[403]}: ${reason}`, metadata: { reason: "cross_origin" } } })

const otherOrigin = refusal("the request comes from a page of another origin")

const noHeader = refusal(`the header ${header}: 1 is missing`)

const noOrigin = refusal("the Origin header is missing")

const wrongOrigin = (origin: string, host: string | undefined) =>
  refusal(
    `the Origin ${origin} is not that of the Host ${host ?? ""}. A proxy in front of the gateway has to pass on the Host header`
  )

/** The URL of the page's origin. Undefined: there is none. */
export const originOf = ({ headers }: Request): URL | undefined => {
  const { origin } = headers
  return origin === undefined ? undefined : (URL.parse(origin) ?? undefined)
}

/** Both with the default port of the scheme left out. */
const isHost = (origin: URL, host: string | undefined): boolean =>
  host !== undefined && URL.parse(`${origin.protocol}//${host}`)?.host === origin.host

/** Why the request is rejected. Undefined: it is from a page of this service. */
export const refusalOf = (request: Request): Forbidden | undefined => {
  const { headers, method } = request
  const site = headers["sec-fetch-site"]
  const isRead = method === "GET" || method === "HEAD"
  if (site !== undefined && site !== "same-origin" && !(isRead && site === "none")) return otherOrigin
  if (isRead) return undefined
  if (headers[header] !== "1") return noHeader
  const origin = originOf(request)
  if (origin === undefined) return noOrigin
  return isHost(origin, headers["host"]) ? undefined : wrongOrigin(origin.origin, headers["host"])
}
