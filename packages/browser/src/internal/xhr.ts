/** One request through XMLHttpRequest, for the sake of its upload events. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Headers from "effect/http/Headers"
import * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import type { Progress } from "../UploadProgress.ts"

/** Makes the platform's XMLHttpRequest; tests put their own in its place. */
export const Xhr = Context.Reference<() => XMLHttpRequest>("@model-gateway/browser/Xhr", {
  defaultValue: () => () => new XMLHttpRequest()
})

/**
 * What XMLHttpRequest can send of a request's body; undefined where it has none,
 * or one (a stream) that only `fetch` can send.
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

/** What a response with these statuses has no body for; `Response` refuses them one. */
const bodiless = new Set([204, 205, 304])

/** Undefined for status 0, which is what XMLHttpRequest has where there was no answer. */
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
  /** Aborted where the request's scope closes; interruption aborts the request by itself. */
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
        if (response === undefined) fail(noAnswer())
        else resume(Effect.succeed(HttpClientResponse.fromWeb(request, response)))
      }
      // The browser says no more than that, so that a page cannot probe a network.
      xhr.onerror = () => fail(noAnswer())
      xhr.onabort = () => fail(new DOMException("the request was aborted", "AbortError"))
      signal.addEventListener("abort", abort, { once: true })

      onProgress({ loaded: 0, total: undefined })
      try {
        xhr.open(request.method, url)
        xhr.responseType = "arraybuffer"
        xhr.withCredentials = withCredentials
        // The platform writes the length itself, and complains of anyone who tries.
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

const noAnswer = () => new TypeError("the network failed, or the gateway does not allow this page's origin")
