/**
 * The `HttpClient` for browsers. It uses `fetch`, and XMLHttpRequest for requests with
 * {@link UploadProgress}, because `fetch` does not report upload progress. Interrupting a call
 * aborts its request in both cases.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Xhr from "./internal/xhr.ts"
import { UploadProgress } from "./UploadProgress.ts"

/**
 * @since 0.1.0
 */
export interface Options {
  /**
   * Whether requests include cookies. The gateway itself uses none. Default: `same-origin`, like
   * `fetch`.
   */
  readonly credentials?: RequestCredentials | undefined
  /**
   * Whether requests have the trace headers `traceparent` and `b3`. A gateway on another origin
   * must allow them. Default: false.
   */
  readonly traceHeaders?: boolean | undefined
}

/** Sends requests with upload progress through XMLHttpRequest, and all others through `fetch`. */
const withUploadEvents = (fetching: HttpClient.HttpClient, withCredentials: boolean): HttpClient.HttpClient =>
  HttpClient.transform(fetching, (effect, request) =>
    Effect.flatMap(UploadProgress, (onProgress) => {
      const body = onProgress === undefined ? undefined : Xhr.bodyOf(request)
      return onProgress === undefined || body === undefined
        ? effect
        : HttpClient.make((request, url, signal) =>
            Xhr.send({ request, url, body, signal, onProgress, withCredentials })
          ).execute(request)
    })
  )

/**
 * Provides the `HttpClient` that the layers of `BrowserGateway` use.
 *
 * To replace `fetch`, set `FetchHttpClient.Fetch`.
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<HttpClient.HttpClient> => {
  const { credentials, traceHeaders = false } = options
  const defaults = Context.make(HttpClient.TracerPropagationEnabled, traceHeaders).pipe(
    Context.merge(
      credentials === undefined ? Context.empty() : Context.make(FetchHttpClient.RequestInit, { credentials })
    )
  )
  return Layer.effect(HttpClient.HttpClient)(
    Effect.map(HttpClient.HttpClient, (fetching) =>
      HttpClient.transformResponse(
        withUploadEvents(fetching, credentials === "include"),
        Effect.updateContext((context: Context.Context<never>) => Context.merge(defaults, context))
      )
    )
  ).pipe(Layer.provide(FetchHttpClient.layer))
}
