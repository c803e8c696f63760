/**
 * The `HttpClient` for browsers. It sends forms and bodies over 1 MiB through XMLHttpRequest,
 * because `fetch` does not report the progress of an upload, and all other requests through
 * `fetch`. Interrupting a call aborts its request in both cases.
 *
 * @since 0.1.0
 */
import { CurrentAttempt } from "@model-gateway/core/RetryPolicy"
import { UploadMonitor } from "@model-gateway/core/unstable/UploadMonitor"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Fetch from "./internal/fetch.ts"
import * as Xhr from "./internal/xhr.ts"
import { UploadProgress } from "./UploadProgress.ts"

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /**
   * Whether requests include cookies. The gateway itself uses none. With `omit`, all go through
   * `fetch`. Default: `same-origin`, like `fetch`.
   */
  readonly credentials?: RequestCredentials | undefined
  /**
   * Whether requests have the trace headers `traceparent` and `b3`. A gateway on another origin
   * must allow them. Default: false.
   */
  readonly traceHeaders?: boolean | undefined
}

/** Bytes of a body that arrive quickly enough without reports of their progress. */
const maxFetchBytes = 1024 * 1024

/**
 * Provides the `HttpClient` that the layers of `BrowserGateway` and `BrowserClient` use. Its bodies
 * are text, bytes, Blobs and forms. To send a stream, use `FetchHttpClient.layer`.
 *
 * `FetchHttpClient.RequestInit` adds headers and other options. To replace `fetch`, set
 * `FetchHttpClient.Fetch`. Then uploads go through that function, too, unless the program listens
 * to their progress with `UploadProgress`. An upload that goes through `fetch` has to arrive within
 * the time limit of an attempt, because nothing reports that it moves.
 *
 * Calls of the client follow a redirect if it is that of a GET and leads to the same origin. They
 * fail with `InvalidResponse` after any other. The browser hides its status, which is reported as
 * 302, and in most cases its location.
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<HttpClient.HttpClient> => {
  const { credentials, traceHeaders = false } = options
  const defaults = Context.make(HttpClient.TracerPropagationEnabled, traceHeaders).pipe(
    Context.merge(
      credentials === undefined ? Context.empty() : Context.make(FetchHttpClient.RequestInit, { credentials })
    )
  )
  const client = HttpClient.make((request, url, signal, fiber) => {
    const onProgress = fiber.getRef(UploadProgress)
    const isWatched = onProgress !== undefined && request.body._tag !== "Empty"
    const init = Context.getOrUndefined(fiber.context, FetchHttpClient.RequestInit)
    // XMLHttpRequest cannot leave out the cookies of the page's own origin.
    const isUpload =
      (request.body._tag === "FormData" ||
        (request.body._tag === "Uint8Array" && request.body.contentLength > maxFetchBytes)) &&
      init?.credentials !== "omit" &&
      Context.getOrUndefined(fiber.context, FetchHttpClient.Fetch) === undefined
    // A service worker has none.
    const hasXhr = typeof XMLHttpRequest !== "undefined"
    if (!hasXhr || !(isWatched || isUpload)) return Fetch.send(request, url, signal, fiber, init)
    const monitor = fiber.getRef(UploadMonitor)
    return Xhr.send({
      request,
      url,
      signal,
      init,
      followsRedirects: fiber.getRef(CurrentAttempt) === undefined,
      onProgress: (sent, total) => {
        onProgress?.({ loaded: sent, total })
        monitor?.({ sent, total })
      }
    })
  })
  return Layer.effect(HttpClient.HttpClient)(
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.succeed(
        HttpClient.transformResponse(
          client,
          Effect.updateContext((request: Context.Context<never>) =>
            Context.merge(context, Context.merge(defaults, request))
          )
        )
      )
    )
  )
}
