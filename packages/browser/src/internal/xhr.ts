/** Sends a request through XMLHttpRequest, which reports upload progress. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import type { Progress } from "../UploadProgress.ts"

/** Makes an XMLHttpRequest. Tests replace it. */
export const Xhr = Context.Reference<() => XMLHttpRequest>("@model-gateway/browser/Xhr", {
  defaultValue: () => () => new XMLHttpRequest()
})

/**
 * The request's body in a form that XMLHttpRequest can send. Undefined if there is no body, or if
 * it is a stream, which only `fetch` can send.
 */
export const bodyOf = (request: HttpClientRequest.HttpClientRequest): XMLHttpRequestBodyInit | undefined => {
  switch (request.body._tag) {
    case "FormData":
      return request.body.formData
    case "Uint8Array":
      return new Blob([new Uint8Array(request.body.body)])
    case "Raw":
      return typeof request.body.body === "string" || request.body.body instanceof Blob ? request.body.body : undefined
    case "Empty":
    case "Stream":
      return undefined
  }
}

/** Statuses without a body: `Response` throws if it gets one. */
const bodiless = new Set([204, 205, 304])

/** Undefined for status 0, which XMLHttpRequest reports if there was no response. */
const responseOf = (xhr: XMLHttpRequest): Response | undefined => {
  if (xhr.status < 200) return undefined
  const body: unknown = xhr.response
  return new Response(body instanceof ArrayBuffer && !bodiless.has(xhr.status) ? body : null, {
    status: xhr.status,
    statusText: xhr.statusText,
    headers: xhr
      .getAllResponseHeaders()
      .trim()
      .split(/\r?\n/)
      .flatMap((line): Array<[string, string]> => {
        const colon = line.indexOf(":")
        return colon > 0 ? [[line.slice(0, colon), line.slice(colon + 1).trim()]] : []
      })
  })
}

export interface Options {
  readonly request: HttpClientRequest.HttpClientRequest
  readonly url: URL
  readonly body: XMLHttpRequestBodyInit
  /** Aborted when the request's scope closes. Interruption aborts the request without it. */
  readonly signal: AbortSignal
  readonly withCredentials: boolean
  readonly onProgress: (progress: Progress) => void
}

export const send = (
  options: Options
): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> =>
  Effect.flatMap(Xhr, (make) =>
    Effect.callback<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>((resume) => {
      const { body, onProgress, request, signal, url, withCredentials } = options
      const xhr = make()
      const fail = (cause: unknown) =>
        resume(
          Effect.fail(
            new HttpClientError.HttpClientError({
              reason: new HttpClientError.TransportError({ request, cause })
            })
          )
        )
      const abort = () => xhr.abort()

      xhr.upload.onprogress = (event) =>
        onProgress({ loaded: event.loaded, total: event.lengthComputable ? event.total : undefined })
      xhr.onload = () => {
        const response = responseOf(xhr)
        if (response === undefined) fail(networkFailure())
        else resume(Effect.succeed(HttpClientResponse.fromWeb(request, response)))
      }
      // The browser gives no details, so that a page cannot probe a network.
      xhr.onerror = () => fail(networkFailure())
      xhr.onabort = () => fail(new DOMException("the request was aborted", "AbortError"))
      signal.addEventListener("abort", abort, { once: true })

      onProgress({ loaded: 0, total: undefined })
      try {
        xhr.open(request.method, url)
        xhr.responseType = "arraybuffer"
        xhr.withCredentials = withCredentials
        // The platform sets the length itself and warns if a page does.
        for (const [name, value] of Object.entries(Headers.remove(request.headers, "content-length"))) {
          xhr.setRequestHeader(name, value)
        }
        xhr.send(body)
      } catch (cause) {
        fail(cause)
      }

      return Effect.sync(() => {
        signal.removeEventListener("abort", abort)
        xhr.onabort = null
        xhr.abort()
      })
    })
  )

const networkFailure = () => new TypeError("the network failed, or the gateway does not allow this page's origin")
