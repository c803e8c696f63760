/**
 * Sends a request directly through an undici dispatcher. Most calls read the response as text,
 * which then needs no Node stream, `AbortController` or promise. A Node stream is created only if
 * the response is read as a stream.
 */
import * as NodeStream from "@effect/platform-node/NodeStream"
import type { Dispatcher } from "@effect/platform-node/Undici"
import { Effect, Inspectable, Option, Pipeable, type Schema, type Stream } from "effect"
import {
  Cookies,
  Headers,
  HttpClientRequest,
  HttpClientError,
  HttpClientResponse,
  HttpIncomingMessage,
  type UrlParams
} from "effect/http"
import { Buffer } from "node:buffer"
import { Readable } from "node:stream"

/** The number of buffered bytes at which the socket is paused. */
const highWater = 65_536

/** The body of a response, buffered until it is read as text or as a stream. */
class Body {
  readonly #controller: Dispatcher.DispatchController
  readonly #chunks: Array<Buffer> = []
  #size = 0
  #end: { readonly error: Error | undefined } | undefined
  #collector: ((error: Error | undefined) => void) | undefined
  #readable: Readable | undefined

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller
  }

  push(chunk: Buffer): void {
    if (this.#readable !== undefined) {
      if (!this.#readable.push(chunk)) this.#controller.pause()
      return
    }
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size > highWater && this.#collector === undefined) this.#controller.pause()
  }

  finish(error: Error | undefined): void {
    this.#end = { error }
    this.#collector?.(error)
    if (error === undefined) this.#readable?.push(null)
    else this.#readable?.destroy(error)
  }

  /** The whole body as text. It can be read only once. */
  readonly text: Effect.Effect<string, Error> = Effect.callback((resume) => {
    const done = (error: Error | undefined): void =>
      resume(
        error === undefined
          ? Effect.succeed(
              (this.#chunks.length === 1 && this.#chunks[0] !== undefined
                ? this.#chunks[0]
                : Buffer.concat(this.#chunks, this.#size)
              ).toString("utf8")
            )
          : Effect.fail(error)
      )
    if (this.#end !== undefined) return done(this.#end.error)
    this.#collector = done
    this.#controller.resume()
    return Effect.sync(() => this.#controller.abort(new Error("the reader was interrupted")))
  })

  /** The body as a stream with backpressure. */
  readable(): Readable {
    if (this.#readable !== undefined) return this.#readable
    const readable = new Readable({
      read: () => this.#controller.resume(),
      destroy: (error, callback) => {
        if (this.#end === undefined) this.#controller.abort(error ?? new Error("the reader stopped"))
        callback(error)
      }
    })
    this.#readable = readable
    for (const chunk of this.#chunks) readable.push(chunk)
    if (this.#end?.error === undefined) {
      if (this.#end !== undefined) readable.push(null)
    } else {
      readable.destroy(this.#end.error)
    }
    return readable
  }
}

class DispatchedResponse extends Inspectable.Class implements HttpClientResponse.HttpClientResponse {
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

const bodyOf = ({ body }: HttpClientRequest.HttpClientRequest): string | Uint8Array | Readable | null => {
  switch (body._tag) {
    case "Uint8Array":
      return body.text ?? body.body
    case "Raw":
      return body.body instanceof Readable ? body.body : null
    default:
      return null
  }
}

/**
 * Whether {@link dispatch} supports the request. Effect streams as bodies and upgrades are not
 * supported and go through the platform's client.
 */
export const canDispatch = ({ body, headers }: HttpClientRequest.HttpClientRequest): boolean =>
  (body._tag === "Empty" || body._tag === "Uint8Array" || (body._tag === "Raw" && body.body instanceof Readable)) &&
  headers["upgrade"] === undefined

/** Sends the request. Interruption aborts it. */
export const dispatch = (
  dispatcher: Dispatcher,
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> =>
  Effect.callback((resume) => {
    const url = Option.getOrUndefined(HttpClientRequest.toUrl(request))
    if (url === undefined) {
      return resume(
        Effect.fail(new HttpClientError.HttpClientError({ reason: new HttpClientError.InvalidUrlError({ request }) }))
      )
    }
    let controller: Dispatcher.DispatchController | undefined
    let body: Body | undefined
    let interrupted = false
    const fail = (cause: unknown): void => resume(Effect.fail(transportError(request, cause)))
    try {
      dispatcher.dispatch(
        {
          origin: url.origin,
          path: url.pathname + url.search,
          method: request.method,
          headers: request.headers,
          body: bodyOf(request),
          // The caller sets the time limits.
          headersTimeout: 0,
          bodyTimeout: 0
        },
        {
          onRequestStart: (started) => {
            controller = started
            if (interrupted) started.abort(new Error("the request was interrupted"))
          },
          onResponseStart: (started, status, headers) => {
            if (status < 200) return
            body = new Body(started)
            resume(Effect.succeed(new DispatchedResponse(request, status, headers, body)))
          },
          onResponseData: (_, chunk) => body?.push(chunk),
          onResponseEnd: () => body?.finish(undefined),
          onResponseError: (_, error) => (body === undefined ? fail(error) : body.finish(error))
        }
      )
    } catch (cause) {
      fail(cause)
    }
    return Effect.sync(() => {
      interrupted = true
      controller?.abort(new Error("the request was interrupted"))
    })
  })
