/**
 * Sends a request through `fetch`. Effect's own `FetchHttpClient` can also send streams, which
 * takes 3 KB gzipped of every page. Browsers send no streams, or only over HTTP/2.
 */
import { CurrentAttempt } from "@model-gateway/core/RetryPolicy"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { Fetch } from "effect/http/FetchHttpClient"
import type * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import { bodyOf, headersOf, redirect, transportError } from "./request.ts"

/**
 * Calls of the client follow a redirect only if it is that of a GET and leads to the same origin.
 * Other requests, such as that of a token, do what `RequestInit` says. `fetch` hides where a
 * redirect leads unless it follows it. Therefore a redirected GET is sent again.
 */
export const send = (
  request: HttpClientRequest.HttpClientRequest,
  url: URL,
  signal: AbortSignal,
  fiber: Fiber.Fiber<unknown, unknown>,
  init: globalThis.RequestInit | undefined
): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> => {
  const once = (redirect: RequestRedirect | undefined) =>
    Effect.tryPromise({
      try: () =>
        fiber.getRef(Fetch)(url, {
          ...init,
          ...(redirect === undefined ? undefined : { redirect }),
          method: request.method,
          headers: headersOf(request, init),
          body: bodyOf(request) ?? null,
          signal
        }),
      catch: (cause) => transportError(request, cause)
    })
  const isCall = fiber.getRef(CurrentAttempt) !== undefined
  return Effect.flatMap(once(isCall ? "manual" : undefined), (response) => {
    if (!isCall || response.type !== "opaqueredirect") {
      return Effect.succeed(HttpClientResponse.fromWeb(request, response))
    }
    return request.method !== "GET"
      ? Effect.succeed(redirect(request, undefined))
      : Effect.match(once("follow"), {
          onFailure: () => redirect(request, undefined),
          onSuccess: (followed) => {
            if (new URL(followed.url).origin === url.origin) return HttpClientResponse.fromWeb(request, followed)
            void followed.body?.cancel()
            return redirect(request, followed.url)
          }
        })
  })
}
