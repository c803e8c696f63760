/**
 * The `HttpClient` of a browser: `fetch`, and XMLHttpRequest for the requests whose
 * upload is watched ({@link UploadProgress}), since `fetch` cannot tell. Interrupting
 * a call aborts its request on the wire either way.
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
   * Whether cookies go along. Default: the platform's, `same-origin`. The gateway
   * itself wants none.
   */
  readonly credentials?: RequestCredentials | undefined
  /**
   * Whether requests carry the trace headers `traceparent` and `b3`. Default false:
   * a gateway on another origin would have to allow them.
   */
  readonly traceHeaders?: boolean | undefined
}

/** Watches uploads through XMLHttpRequest; everything else is left to `fetch`. */
const watchingUploads = (fetching: HttpClient.HttpClient, withCredentials: boolean): HttpClient.HttpClient =>
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
 * The client of the layers in `BrowserGateway`, on its own.
 *
 * `FetchHttpClient.Fetch` sets another `fetch`.
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
        watchingUploads(fetching, credentials === "include"),
        Effect.updateContext((context: Context.Context<never>) => Context.merge(defaults, context))
      )
    )
  ).pipe(Layer.provide(FetchHttpClient.layer))
}
