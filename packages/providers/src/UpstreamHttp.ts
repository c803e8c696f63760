/**
 * What adapters of upstreams over HTTP share: base URL, authentication, time limits, bounded
 * responses, and failures as `ProviderError`.
 *
 * It uses the `HttpClient` of the context. Credentials are sent to the base URL only: redirects are
 * not followed. They never appear in errors or spans.
 *
 * @since 0.1.0
 */
import { Clock, Context, Duration, Effect, Option, Redacted, Schema, Stream } from "effect"
import type { SchemaIssue } from "effect"
import { FetchHttpClient, Headers, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import type { Credential } from "./Offer.ts"
import {
  BadResponse,
  InputTooLarge,
  InvalidRequest,
  OutOfCredit,
  Overloaded,
  ProviderError,
  RateLimited,
  type Reason,
  Timeout,
  Unauthorized,
  Unavailable,
  UnknownModel
} from "./ProviderError.ts"

/**
 * An upstream's base URL. A path is allowed, for proxies and API versions.
 *
 * @since 0.1.0
 */
export const BaseUrl = Schema.String.check(
  Schema.makeFilter(
    (text: string) => {
      const url = URL.parse(text)
      return (
        url !== null &&
        /^https?:$/.test(url.protocol) &&
        [url.username, url.password, url.search, url.hash].every((part) => part === "")
      )
    },
    { expected: "an http:// or https:// URL without user name, query or fragment" }
  )
)

/**
 * An API key as it can be sent in a header.
 *
 * @since 0.1.0
 */
export const ApiKey = Schema.Redacted(
  Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/, { expected: "printable ASCII characters without spaces" }))
)

/**
 * The header that carries the credential.
 *
 * @since 0.1.0
 */
export interface Authentication {
  readonly header: string
  /** The word before the credential, such as `Bearer`. Default: none. */
  readonly scheme?: string
}

/**
 * `Authorization: Bearer <credential>`.
 *
 * @since 0.1.0
 */
export const bearer: Authentication = { header: "authorization", scheme: "Bearer" }

/**
 * A response with a status other than 2xx.
 *
 * @since 0.1.0
 */
export interface Failure {
  readonly status: number
  /** What the upstream says of it: one line of at most 500 characters, without the credential. */
  readonly message: string | undefined
  /** The time to wait, from `Retry-After`. */
  readonly retryAfter: Duration.Duration | undefined
  /** The model of the call. */
  readonly model: string
}

/**
 * What to know of an upstream.
 *
 * @since 0.1.0
 */
export interface Options {
  /** A {@link BaseUrl}. */
  readonly baseUrl: string
  /** Default: {@link bearer}. */
  readonly authentication?: Authentication
  /**
   * The longest wait for a JSON response, or for the next bytes of a stream. The service has
   * shorter limits of its own. Default: 5 minutes.
   */
  readonly timeLimit?: Duration.Input | undefined
  /** The maximum size of a JSON response in bytes. Default: 4 MiB. */
  readonly maxResponseBytes?: number
  /**
   * The reason for a status that this upstream uses in its own way. `undefined` stands for
   * {@link reasonOf}.
   */
  readonly reasonOf?: (failure: Failure) => Reason | undefined
}

/**
 * One call of an upstream.
 *
 * @since 0.1.0
 */
export interface Call {
  /** Its URL is a path below the base URL, such as `v2/rerank`. */
  readonly request: HttpClientRequest.HttpClientRequest
  readonly credential: Credential
  /** The upstream's id of the model, for errors. */
  readonly model: string
}

/**
 * Calls one upstream.
 *
 * @since 0.1.0
 */
export interface UpstreamHttp {
  /** Returns the decoded JSON of a 2xx response. */
  readonly json: <A>(call: Call, schema: Schema.ConstraintDecoder<A>) => Effect.Effect<A, ProviderError>
  /** Returns the bytes of a 2xx response, without a limit of size. */
  readonly stream: (call: Call) => Stream.Stream<Uint8Array, ProviderError>
}

const failWith = (reason: Reason) => new ProviderError({ reason })

const badResponse = (description: string) => failWith(new BadResponse({ description }))

const timedOut = failWith(new Timeout())

// Time for an error's body. The status alone is enough if the body does not arrive.
const errorBodyTime = Duration.seconds(5)
const maxErrorBytes = 65_536
const maxMessageLength = 500

/** Codes of Node and undici for a connection that was never made. */
const notConnected = new Set([
  "ECONNREFUSED",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT"
])
const untrusted = /^(EPROTO$|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_)/
const notHttp = /^(HPE_|UND_ERR_HEADERS_OVERFLOW$)/

const property = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, key) : undefined

/**
 * The reason for a failed transport. Unless the cause shows that no connection was made, the
 * upstream may have received the request, so the reason is `Timeout`.
 */
const reasonOfTransport = (cause: unknown): Reason => {
  for (let at = cause, depth = 0; at !== undefined && depth < 5; depth++) {
    const code = property(at, "code")
    const syscall = property(at, "syscall")
    if (syscall === "connect" || syscall === "getaddrinfo") return new Unavailable({})
    if (typeof code === "string" && (notConnected.has(code) || untrusted.test(code))) return new Unavailable({})
    if (property(at, "name") === "HTTPParserError" || (typeof code === "string" && notHttp.test(code))) {
      return new BadResponse({ description: "not HTTP" })
    }
    // Node tries all addresses of a host and lists the failures in `errors`.
    at = property(property(at, "errors"), "0") ?? property(at, "cause")
  }
  return new Timeout()
}

const fromClientError = ({ reason }: HttpClientError.HttpClientError): ProviderError =>
  reason._tag === "InvalidUrlError" || reason._tag === "EncodeError"
    ? failWith(new Unavailable({}))
    : failWith(reasonOfTransport(reason.cause))

/**
 * `Retry-After` as seconds or as an HTTP date, which is compared with the response's own `Date` if
 * there is one. A date in the past is no wait.
 */
const retryAfterOf = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  const header = headers["retry-after"]?.trim()
  if (header === undefined) return undefined
  if (/^\d{1,9}$/.test(header)) return Duration.seconds(Number(header))
  // `Date.parse` alone would accept "-3" as a day in March 2001.
  if (!header.endsWith("GMT")) return undefined
  const sent = Date.parse(headers["date"] ?? "")
  const wait = Date.parse(header) - (Number.isNaN(sent) ? now : sent)
  return Number.isNaN(wait) ? undefined : Duration.millis(Math.max(0, wait))
}

/** The message in the usual forms of an error's JSON. */
const messageIn = (body: string): string | undefined => {
  let json: unknown
  try {
    json = JSON.parse(body)
  } catch {
    return undefined
  }
  const error = property(json, "error")
  return [property(json, "message"), property(error, "message"), error, property(json, "detail")].find(
    (message) => typeof message === "string"
  )
}

/** One line of bounded length without the credential. */
const clean = (message: string, secret: string | undefined): string | undefined => {
  const safe = secret === undefined || secret === "" ? message : message.replaceAll(secret, "<redacted>")
  const line = safe.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()
  if (line === "") return undefined
  return line.length <= maxMessageLength ? line : `${line.slice(0, maxMessageLength - 1).toWellFormed()}…`
}

const waiting = (retryAfter: Duration.Duration | undefined) => (retryAfter === undefined ? {} : { retryAfter })

/**
 * What most upstreams mean by a status.
 *
 * @since 0.1.0
 */
export const reasonOf = ({ message, model, retryAfter, status }: Failure): Reason => {
  switch (status) {
    case 400:
    case 422:
      return new InvalidRequest({ message: message ?? "the provider rejected the request as invalid" })
    case 401:
    case 403:
      return new Unauthorized()
    case 402:
      return new OutOfCredit()
    case 404:
      return new UnknownModel({ model })
    case 408:
    case 504:
    case 524:
      return new Timeout()
    case 413:
      return new InputTooLarge({ message: message ?? "the input is too large for the provider" })
    case 429:
      return new RateLimited(waiting(retryAfter))
    case 503:
    case 529:
      return new Overloaded(waiting(retryAfter))
    default:
      return new BadResponse({ description: `status ${status}` })
  }
}

/** The path of the first value that does not match. It contains none of the values. */
const where = (error: Schema.SchemaError): string => {
  const path: Array<string> = []
  let issue: SchemaIssue.Issue | undefined = error.issue
  while (issue !== undefined) {
    if (issue._tag === "Pointer") path.push(...issue.path.map(String))
    issue = "issues" in issue ? issue.issues[0] : "issue" in issue ? issue.issue : undefined
  }
  return path.length === 0 ? "its root" : path.join(".")
}

const parse = (text: string): Effect.Effect<unknown, ProviderError> =>
  Effect.try({ try: (): unknown => JSON.parse(text), catch: () => badResponse("not JSON") })

/** The first bytes of a body as text, and whether they are all. */
const read = (response: HttpClientResponse.HttpClientResponse, most: number) =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let size = 0
    let text = ""
    return response.stream.pipe(
      Stream.takeUntil((chunk) => (size += chunk.length) > most),
      Stream.runForEach((chunk) =>
        Effect.sync(() => {
          text += decoder.decode(chunk, { stream: true })
        })
      ),
      Effect.map(() => ({ text: text + decoder.decode(), isComplete: size <= most }))
    )
  })

/**
 * Makes the calls of one upstream over the `HttpClient` of the context.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { HttpClientRequest } from "effect/http"
 * import type { Credential } from "@model-gateway/providers/Offer"
 * import * as UpstreamHttp from "@model-gateway/providers/UpstreamHttp"
 *
 * const Answer = Schema.Struct({ text: Schema.String })
 *
 * const ask = (question: string, credential: Credential) =>
 *   Effect.gen(function* () {
 *     const upstream = yield* UpstreamHttp.make({ baseUrl: "https://api.example.com/v1" })
 *     const request = HttpClientRequest.post("ask").pipe(HttpClientRequest.bodyJsonUnsafe({ question }))
 *     return yield* upstream.json({ request, credential, model: "example" }, Answer)
 *   })
 * ```
 *
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<UpstreamHttp, never, HttpClient.HttpClient> {
  const { header, scheme } = options.authentication ?? bearer
  const timeLimit = options.timeLimit ?? Duration.minutes(5)
  const most = options.maxResponseBytes ?? 4 * 1024 * 1024
  // The lifetime of a request ends with its scope, which frees the connection of an unread body.
  const client = HttpClient.withScope(yield* HttpClient.HttpClient)
  const requestInit = Option.getOrElse(yield* Effect.serviceOption(FetchHttpClient.RequestInit), () => ({}))
  const settings = Context.make(FetchHttpClient.RequestInit, { ...requestInit, redirect: "manual" }).pipe(
    Context.add(Headers.CurrentRedactedNames, [...(yield* Headers.CurrentRedactedNames), header]),
    // Trace ids are the operator's business, not the upstream's.
    Context.add(HttpClient.TracerPropagationEnabled, false)
  )

  const prepare = (request: HttpClientRequest.HttpClientRequest, secret: string | undefined) =>
    HttpClientRequest.prependUrl(request, options.baseUrl).pipe(
      HttpClientRequest.setHeaders({
        // Some hosts reject requests without one.
        "user-agent": "model-gateway",
        ...(secret === undefined ? {} : { [header]: scheme === undefined ? secret : `${scheme} ${secret}` })
      })
    )

  const failureOf = (response: HttpClientResponse.HttpClientResponse, model: string, secret: string | undefined) =>
    Effect.gen(function* () {
      const { status } = response
      if (status < 400) {
        return new ProviderError({ reason: new BadResponse({ description: `status ${status}` }), status })
      }
      const body = yield* read(response, maxErrorBytes).pipe(
        Effect.timeoutOption(errorBodyTime),
        Effect.orElseSucceed(() => Option.none<{ readonly text: string }>())
      )
      const said = Option.isNone(body) ? undefined : messageIn(body.value.text)
      const failure: Failure = {
        status,
        message: said === undefined ? undefined : clean(said, secret),
        retryAfter: retryAfterOf(response.headers, yield* Clock.currentTimeMillis),
        model
      }
      return new ProviderError({ reason: options.reasonOf?.(failure) ?? reasonOf(failure), status })
    })

  const send = Effect.fnUntraced(function* ({ credential, model, request }: Call) {
    const secret = credential.secret === undefined ? undefined : Redacted.value(credential.secret)
    // A client would refuse such a header with a message that quotes it.
    if (secret !== undefined && !/^[\x21-\x7e]+$/.test(secret)) return yield* failWith(new Unauthorized())
    const response = yield* client
      .execute(prepare(request, secret))
      .pipe(Effect.provideContext(settings), Effect.mapError(fromClientError))
    if (response.status >= 200 && response.status < 300) return response
    return yield* yield* failureOf(response, model, secret)
  })

  const json: UpstreamHttp["json"] = (call, schema) =>
    Effect.gen(function* () {
      const response = yield* send(call)
      const declared = Number(response.headers["content-length"] ?? 0)
      const body = declared > most ? undefined : yield* Effect.mapError(read(response, most), fromClientError)
      if (body?.isComplete !== true) return yield* badResponse(`more than ${most} bytes`)
      return yield* Effect.mapError(Schema.decodeUnknownEffect(schema)(yield* parse(body.text)), (error) =>
        badResponse(`JSON of another form at ${where(error)}`)
      )
    }).pipe(Effect.scoped, Effect.timeoutOrElse({ duration: timeLimit, orElse: () => Effect.fail(timedOut) }))

  const stream: UpstreamHttp["stream"] = (call) =>
    Stream.unwrap(
      send(call).pipe(
        Effect.timeoutOrElse({ duration: timeLimit, orElse: () => Effect.fail(timedOut) }),
        Effect.map((response) =>
          response.stream.pipe(
            Stream.mapError(fromClientError),
            Stream.timeoutOrElse({ duration: timeLimit, orElse: () => Stream.fail(timedOut) })
          )
        )
      )
    )

  return { json, stream }
})
