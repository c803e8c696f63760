/**
 * Which redirects the client follows: those of GET and HEAD to the same origin, since another one
 * must not get the credential.
 *
 * @since 0.1.0
 */
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"

/**
 * How many redirects of one request are followed.
 *
 * @category constants
 * @since 0.1.0
 */
export const maxRedirects = 5

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/**
 * The request that a response redirects to. Undefined: the response is not a redirect, or one that
 * must not be followed.
 *
 * @category constructors
 * @since 0.1.0
 */
export const redirected = (
  request: HttpClientRequest.HttpClientRequest,
  response: { readonly status: number; readonly headers: { readonly [name: string]: string | undefined } }
): HttpClientRequest.HttpClientRequest | undefined => {
  if (!redirects.has(response.status)) return undefined
  const location = response.headers["location"]
  if (location === undefined || (request.method !== "GET" && request.method !== "HEAD")) return undefined
  const from = Option.getOrUndefined(HttpClientRequest.toUrl(request))
  const to = URL.parse(location, from?.href)
  if (to === null || to.origin !== from?.origin || to.username + to.password !== "") return undefined
  const { body, headers, method } = request
  return HttpClientRequest.makeWith(method, to.href, UrlParams.empty, Option.none(), headers, body)
}
