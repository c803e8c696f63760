/**
 * Sends a request directly through an undici dispatcher. Most calls read the response as text,
 * which then needs no Node stream, `AbortController` or promise. A Node stream is created only if
 * the response is read as a stream. Decision 7 says what is gained over Effect's client.
 */
import * as NodeStream from "@effect/platform-node/NodeStream"
import type { Dispatcher } from "@effect/platform-node/Undici"
import type * as UploadMonitor from "@model-gateway/core/unstable/UploadMonitor"
import { Effect, Inspectable, Option, Pipeable, type Schema, type Stream } from "effect"
import {
  Cookies,
  Headers,
  type HttpClientRequest,
  HttpClientError,
  HttpClientResponse,
  HttpIncomingMessage,
  type UrlParams
} from "effect/http"
import type { IncomingHttpHeaders } from "node:http"
import { Readable } from "node:stream"
import { addressOf } from "./address.ts"
import { type Body, decoded, ReceivedBody } from "./body.ts"
import { codingsOf } from "./contentCoding.ts"

/** A response that is not read yet. */
export class DispatchedResponse extends Inspectable.Class implements HttpClientResponse.HttpClientResponse {
  readonly [HttpIncomingMessage.TypeId]: typeof HttpIncomingMessage.TypeId = HttpIncomingMessage.TypeId
  readonly [HttpClientResponse.TypeId]: typeof HttpClientResponse.TypeId = HttpClientResponse.TypeId
  readonly request: HttpClientRequest.HttpClientRequest
  readonly status: number
  readonly url: string
  readonly #head: Headers.Input
  readonly #body: Body
  #headers: Headers.Headers | undefined
  #web: HttpClientResponse.HttpClientResponse | undefined

  constructor(request: HttpClientRequest.HttpClientRequest, status: number, head: Headers.Input, body: Body) {
    super()
    this.request = request
    this.status = status
    this.url = request.url
    this.#head = head
    this.#body = body
  }

  /** Stops reading, for a response whose body nobody reads. */
  discard(): void {
    this.#body.readable().destroy()
  }

  get headers(): Headers.Headers {
    return (this.#headers ??= Headers.fromInput(this.#head))
  }

  get text(): Effect.Effect<string, HttpClientError.HttpClientError> {
    return Effect.mapError(this.#body.text, (cause) => transportError(this.request, cause))
  }

  get stream(): Stream.Stream<Uint8Array, HttpClientError.HttpClientError> {
    return NodeStream.fromReadable({
      evaluate: () => this.#body.readable(),
      onError: (cause) => transportError(this.request, cause)
    })
  }

  /** The platform's response, for accessors that the client does not use. */
  get #rest(): HttpClientResponse.HttpClientResponse {
    return (this.#web ??= HttpClientResponse.fromWeb(
      this.request,
      new Response(Readable.toWeb(this.#body.readable()), { status: this.status, headers: this.headers })
    ))
  }

  get json(): Effect.Effect<Schema.Json, HttpClientError.HttpClientError> {
    return this.#rest.json
  }

  get arrayBuffer(): Effect.Effect<ArrayBuffer, HttpClientError.HttpClientError> {
    return this.#rest.arrayBuffer
  }

  get urlParamsBody(): Effect.Effect<UrlParams.UrlParams, HttpClientError.HttpClientError> {
    return this.#rest.urlParamsBody
  }

  get formData() {
    return this.#rest.formData
  }

  get upgrade() {
    return this.#rest.upgrade
  }

  get cookies(): Cookies.Cookies {
    return Cookies.fromSetCookie(this.headers["set-cookie"] ?? [])
  }

  get remoteAddress(): Option.Option<string> {
    return Option.none()
  }

  toJSON(): unknown {
    return HttpIncomingMessage.inspect(this, { _id: "HttpClientResponse", request: this.request, status: this.status })
  }

  pipe() {
    return Pipeable.pipeArguments(this, arguments)
  }
}

const transportError = (request: HttpClientRequest.HttpClientRequest, cause: unknown) =>
  new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })

/** Larger bodies are sent in blocks, because the progress within one block is not known. */
const maxWriteBytes = 1024 * 1024

const blockSize = 256 * 1024

function* blocksOf(bytes: Uint8Array): Iterable<Uint8Array> {
  for (let start = 0; start < bytes.length; start += blockSize) yield bytes.subarray(start, start + blockSize)
}

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): string | Uint8Array | Readable | null => {
  switch (body._tag) {
    case "Uint8Array":
      return body.contentLength > maxWriteBytes ? Readable.from(blocksOf(body.body)) : (body.text ?? body.body)
    case "Raw":
      return body.body instanceof Readable ? body.body : null
    default:
      return null
  }
}

/** Statuses of responses without a body, or with a part of one, which cannot be decoded. */
const undecoded: ReadonlySet<number> = new Set([204, 206, 304])

/** The response, with a compressed body decoded. */
const responseOf = (
  request: HttpClientRequest.HttpClientRequest,
  status: number,
  headers: IncomingHttpHeaders,
  body: Body
): DispatchedResponse => {
  const hasWhole = request.method !== "HEAD" && !undecoded.has(status) && headers["content-length"] !== "0"
  const codings = hasWhole ? codingsOf(headers["content-encoding"]) : undefined
  if (codings === undefined) return new DispatchedResponse(request, status, headers, body)
  const { "content-encoding": _, "content-length": __, ...others } = headers
  return new DispatchedResponse(request, status, others, decoded(body, codings))
}

/** A proxy that refuses a request. undici's error has a code that hides the reason. */
const causeOf = (error: Error): Error => {
  const refused = /^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(error.message)
  return refused === null ? error : new Error(`the proxy responded with status ${refused[1]}`)
}

export interface Options {
  /** Gets the progress of the body. */
  readonly monitor: ((progress: UploadMonitor.Progress) => void) | undefined
  /** The headers that the request has unless it sets them. */
  readonly headers: { readonly [name: string]: string }
  /** Aborts the request, also while its response is read. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Whether {@link dispatch} supports the request. Effect streams as bodies and upgrades are not
 * supported.
 */
export const canDispatch = ({ body, headers }: HttpClientRequest.HttpClientRequest): boolean =>
  (body._tag === "Empty" || body._tag === "Uint8Array" || (body._tag === "Raw" && body.body instanceof Readable)) &&
  headers["upgrade"] === undefined

/** Sends the request. Interruption aborts it. */
export const dispatch = (
  dispatcher: Dispatcher,
  request: HttpClientRequest.HttpClientRequest,
  { headers, monitor, signal }: Options
): Effect.Effect<DispatchedResponse, HttpClientError.HttpClientError> =>
  Effect.callback((resume) => {
    const address = addressOf(request)
    if (address === undefined) {
      return resume(
        Effect.fail(new HttpClientError.HttpClientError({ reason: new HttpClientError.InvalidUrlError({ request }) }))
      )
    }
    let controller: Dispatcher.DispatchController | undefined
    let body: ReceivedBody | undefined
    let response: Effect.Effect<DispatchedResponse> | undefined
    let isAborted = false
    let sent = 0
    const total = "contentLength" in request.body ? request.body.contentLength : undefined
    const fail = (cause: unknown): void => resume(Effect.fail(transportError(request, cause)))
    const abort = (): void => {
      isAborted = true
      controller?.abort(new Error("the request was interrupted"))
    }
    /**
     * Continues the caller: when the body is complete, or in the next microtask. The body of a
     * short response often comes with its headers, and the caller then need not wait for it again.
     */
    const respond = (): void => {
      if (response === undefined) return
      resume(response)
      response = undefined
    }
    const done = (): void => signal?.removeEventListener("abort", abort)
    signal?.addEventListener("abort", abort, { once: true })
    try {
      dispatcher.dispatch(
        {
          origin: address.origin,
          path: address.path,
          method: request.method,
          headers: { ...headers, ...request.headers },
          body: bodyOf(request),
          // The caller sets the time limits.
          headersTimeout: 0,
          bodyTimeout: 0
        },
        {
          onRequestStart: (started) => {
            controller = started
            if (isAborted) started.abort(new Error("the request was interrupted"))
            monitor?.({ sent: 0, total })
          },
          onBodySent: (chunk) => {
            sent += chunk.length
            monitor?.({ sent, total })
          },
          // A body of unknown size is complete now, too.
          onRequestSent: () => monitor?.({ sent, total: sent }),
          onResponseStart: (started, status, headers) => {
            if (status < 200) return
            body = new ReceivedBody(started)
            response = Effect.succeed(responseOf(request, status, headers, body))
            queueMicrotask(respond)
          },
          onResponseData: (_, chunk) => body?.push(chunk),
          onResponseEnd: () => {
            done()
            body?.finish(undefined)
            respond()
          },
          onResponseError: (_, error) => {
            done()
            if (body === undefined) fail(causeOf(error))
            else body.finish(error)
          }
        }
      )
    } catch (cause) {
      done()
      fail(cause)
    }
    return Effect.sync(abort)
  })
