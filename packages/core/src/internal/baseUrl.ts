/** Checks the base URL of a configuration. */
import * as Url from "effect/http/Url"
import * as UrlParams from "effect/http/UrlParams"
import * as Result from "effect/Result"

/** Parses as the `HttpClient` does: in a page, a path is relative to the page's origin. */
const parse = (url: string): URL | undefined => {
  const result = Url.make(url, UrlParams.empty, undefined)
  return Result.isSuccess(result) ? result.success : undefined
}

/**
 * The base URL that was probably meant, without credentials, query and fragment. Undefined if the
 * base URL is valid.
 */
export const correctedBaseUrl = (baseUrl: string): string | undefined => {
  const isHttp = /^\s*(https?:\/)?\//i.test(baseUrl)
  const rest = baseUrl.replace(/^\w+:\/+/, "")
  const url = parse(
    isHttp
      ? baseUrl
      : /^(\.*\/)*api\//.test(rest)
        ? `/${rest.replace(/^[./]+/, "")}`
        : `http${/^(localhost|127\.|\[)/.test(rest) ? "" : "s"}://${rest}`
  )
  if (url === undefined) return "http://127.0.0.1:8787/api/v1"
  return isHttp && !/[\s?#]/.test(baseUrl) && url.username + url.password === "" && url.pathname.endsWith("/api/v1")
    ? undefined
    : url.origin + url.pathname.replace(/\/*(\/api(\/v1(\/.*)?)?|\/v1)?\/*$/, "/api/v1")
}
