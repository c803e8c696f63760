/** What `fetch` and XMLHttpRequest have in common: bodies, failures and redirects. */
import * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"

/**
 * The body of a request. Undefined: it has none. A stream is not among them, because browsers send
 * no streams, or only over HTTP/2, and the client has none.
 */
export const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): XMLHttpRequestBodyInit | undefined => {
  switch (body._tag) {
    case "FormData":
      return body.formData
    case "Uint8Array":
      return new Uint8Array(body.body)
    case "Raw":
      if (isBody(body.body)) return body.body
      break
    case "Stream":
      break
    case "Empty":
      return undefined
  }
  throw new TypeError("a page cannot send this body: use text, bytes, a Blob or a form")
}

/** The headers of `RequestInit` and above them those of the request, except the platform's own. */
export const headersOf = (
  request: HttpClientRequest.HttpClientRequest,
  init: globalThis.RequestInit | undefined
): Headers => {
  const headers = new Headers(init?.headers)
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, value)
  // XMLHttpRequest warns if a page sets it.
  headers.delete("content-length")
  return headers
}

const isBody = (value: unknown): value is XMLHttpRequestBodyInit =>
  typeof value === "string" ||
  ArrayBuffer.isView(value) ||
  [Blob, FormData, URLSearchParams, ArrayBuffer].some((type) => value instanceof type)

export const transportError = (request: HttpClientRequest.HttpClientRequest, cause: unknown) =>
  new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })

/**
 * The response for a redirect that is not followed. The browser hides its status from the page:
 * 302 stands for all of them. It also hides the location, unless it followed the redirect itself.
 */
export const redirect = (request: HttpClientRequest.HttpClientRequest, location: string | undefined) =>
  HttpClientResponse.fromWeb(
    request,
    new Response(null, { status: 302, headers: location === undefined ? {} : { location } })
  )
