/** Sends a request through XMLHttpRequest, which reports the progress of an upload. */
import * as Effect from "effect/Effect"
import type * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import { bodyOf, headersOf, redirect, transportError } from "./request.ts"

/** Statuses without a body: `Response` throws if it gets one. */
const bodiless = new Set([204, 205, 304])

const responseOf = (xhr: XMLHttpRequest): Response => {
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
  /** Aborted when the request's scope closes. Interruption aborts the request without it. */
  readonly signal: AbortSignal
  /** Only its headers and `credentials: "include"` apply. */
  readonly init: globalThis.RequestInit | undefined
  /** Called when the upload begins and moves, and with `sent` equal to `total` at its end. */
  readonly onProgress: (sent: number, total: number | undefined) => void
  /** Whether a response from another address than `url` is returned like any other. */
  readonly followsRedirects: boolean
}

export const send = ({
  followsRedirects,
  init,
  onProgress,
  request,
  signal,
  url
}: Options): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> =>
  Effect.callback((resume) => {
    const xhr = new XMLHttpRequest()
    const fail = (cause: unknown) => resume(Effect.fail(transportError(request, cause)))
    // The browser gives no details, so that a page cannot probe a network.
    const networkFailure = () =>
      fail(new TypeError("the network failed, or the gateway does not allow this page's origin"))
    const abort = () => xhr.abort()

    xhr.upload.onprogress = ({ lengthComputable, loaded, total }) =>
      onProgress(loaded, lengthComputable ? total : undefined)
    xhr.upload.onload = ({ loaded }) => onProgress(loaded, loaded)
    xhr.onload = () => {
      // Status 0: there was no response.
      if (xhr.status < 200) return networkFailure()
      // It follows redirects without asking. All that a page learns is where they ended.
      const isRedirected = !followsRedirects && xhr.responseURL !== "" && xhr.responseURL !== url.href
      try {
        const response = isRedirected
          ? redirect(request, xhr.responseURL)
          : HttpClientResponse.fromWeb(request, responseOf(xhr))
        resume(Effect.succeed(response))
      } catch (cause) {
        // `Response` accepts no status above 599.
        fail(cause)
      }
    }
    xhr.onerror = networkFailure
    xhr.onabort = () => fail(new DOMException("the request was aborted", "AbortError"))
    signal.addEventListener("abort", abort, { once: true })

    onProgress(0, undefined)
    try {
      xhr.open(request.method, url)
      xhr.responseType = "arraybuffer"
      xhr.withCredentials = init?.credentials === "include"
      headersOf(request, init).forEach((value, name) => xhr.setRequestHeader(name, value))
      xhr.send(bodyOf(request) ?? null)
    } catch (cause) {
      fail(cause)
    }

    return Effect.sync(() => {
      signal.removeEventListener("abort", abort)
      xhr.onabort = null
      xhr.abort()
    })
  })
