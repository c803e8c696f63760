/**
 * What adapters of upstreams over HTTP share: base URL, authentication, time limits, bounded
 * responses, links to results, and failures as `ProviderError`.
 *
 * It uses the `HttpClient` of the context, and {@link LinkClient} for links to other hosts.
 * Credentials are sent to the host of the base URL only. They never appear in errors or spans.
 *
 * @since 0.1.0
 */
import * as SchemaPath from "@model-gateway/core/unstable/SchemaPath"
import * as Timer from "@model-gateway/core/unstable/Timer"
import { Clock, Context, Duration, Effect, Option, Redacted, Schema, Stream } from "effect"
import { constTrue, constUndefined } from "effect/Function"
import { FetchHttpClient, Headers, HttpClient, HttpClientRequest } from "effect/http"
import type { HttpClientError, HttpClientResponse } from "effect/http"
import { type Bounds, defaults, discard, readText } from "./BoundedBody.ts"
import { readErrorBody } from "./internal/errorBody.ts"
import { type Failure, longer, reasonOf, retryAfterOf, withSafeMessage } from "./internal/failure.ts"
import { fromClientError } from "./internal/transportFailure.ts"
import type { Credential } from "./Offer.ts"
import { BadResponse, ProviderError, type Reason, Timeout, Unauthorized } from "./ProviderError.ts"
import { ResponseMemory } from "./ResponseMemory.ts"
import * as SafeMessage from "./SafeMessage.ts"

export { type Failure, reasonOf, withSafeMessage } from "./internal/failure.ts"
export { reasonOfTransport } from "./internal/transportFailure.ts"

/**
 * An upstream's base URL. A path is allowed, for proxies and API versions.
 *
 * @category schemas
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
 * @category schemas
 * @since 0.1.0
 */
export const ApiKey = Schema.Redacted(
  Schema.String.check(Schema.isPattern(/^[\x21-\x7e]+$/, { expected: "printable ASCII characters without spaces" }))
)

/**
 * The header that carries the credential.
 *
 * @category models
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
 * @category constants
 * @since 0.1.0
 */
export const bearer: Authentication = { header: "authorization", scheme: "Bearer" }

/**
 * What to know of an upstream.
 *
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /** A {@link BaseUrl}. */
  readonly baseUrl: string
  /**
   * The gateway's own credential at this upstream. It is removed from messages of all calls, also
   * of those with another credential. Default: none.
   */
  readonly credential?: Credential | undefined
  /** Default: {@link bearer}. */
  readonly authentication?: Authentication
  /**
   * The longest wait for a JSON response, or for the next bytes of a stream. The service has
   * shorter limits of its own. Default: {@link defaultTimeLimit}.
   */
  readonly timeLimit?: Duration.Input | undefined
  /**
   * The reason for a failure that this upstream reports in its own way. `undefined` stands for
   * {@link reasonOf}.
   */
  readonly reasonOf?: (failure: Failure) => Reason | undefined
  /**
   * Statuses that this upstream uses for mistakes of the input alone, although it has no codes. So
   * words such as "credits", which the input may contain, do not hide their messages. Default:
   * none.
   */
  readonly inputStatuses?: ReadonlyArray<number>
}

/**
 * The client for links to another origin than that of the base URL, and for redirects to one: the
 * upstream chooses them, so this client must connect to public addresses only. It must not follow
 * redirects, and fails with an `InvalidUrlError` where it does not connect. `LinkClient` of
 * `@model-gateway/server` is such a client. Default: none, and such links are bad responses.
 *
 * Most upstreams of videos need it, because their files are on other hosts than their API.
 *
 * @category references
 * @since 0.1.0
 */
export const LinkClient = Context.Reference<HttpClient.HttpClient | undefined>(
  "@model-gateway/offers/UpstreamHttp/LinkClient",
  { defaultValue: constUndefined }
)

/**
 * The longest wait for an upstream without a time limit of its own.
 *
 * @category constants
 * @since 0.1.0
 */
export const defaultTimeLimit = Duration.minutes(5)

/**
 * One call of an upstream.
 *
 * @category models
 * @since 0.1.0
 */
export interface Call {
  /**
   * Its URL is a path below the base URL, such as `v2/rerank`. An absolute URL that the upstream
   * returned is possible if it has the scheme, host and port of the base URL. The body may be a
   * stream or a form.
   */
  readonly request: HttpClientRequest.HttpClientRequest
  readonly credential: Credential
  /** The upstream's id of the model, for errors. */
  readonly model: string
  /** The longest wait for a JSON response to this call. Default: that of the upstream. */
  readonly timeLimit?: Duration.Input
  /**
   * What the JSON response may contain at most: no more than this call can need. More is a
   * `BadResponse`, found before it is parsed. Default: 4 MiB, 64 levels of nesting, 1,000 entries
   * of a list or an object, 20,000 values.
   */
  readonly bounds?: Partial<Bounds>
}

export type {
  /**
   * What a response may contain at most.
   *
   * @category options
   * @since 0.1.0
   */
  Bounds
}

/**
 * A link that an upstream returned, such as the one to a finished video.
 *
 * @category models
 * @since 0.1.0
 */
export interface Link {
  /**
   * An absolute URL: `https:`, or also `http:` if the base URL is. One that leads to another origin
   * than the base URL is fetched by the {@link LinkClient}.
   */
  readonly url: string
  /**
   * For upstreams whose files need the key. It is sent to the origin of the base URL only, and not
   * along with a redirect to another one. Default: none.
   */
  readonly credential?: Credential
  /** The upstream's id of the model, for errors. */
  readonly model: string
}

/**
 * Calls one upstream.
 *
 * @category models
 * @since 0.1.0
 */
export interface UpstreamHttp {
  /** Returns the decoded JSON of a 2xx response. */
  readonly json: <A>(call: Call, schema: Schema.ConstraintDecoder<A>) => Effect.Effect<A, ProviderError>
  /** As `json`, with the response's headers. */
  readonly jsonWithHeaders: <A>(
    call: Call,
    schema: Schema.ConstraintDecoder<A>
  ) => Effect.Effect<{ readonly body: A; readonly headers: Headers.Headers }, ProviderError>
  /** Returns the headers of a 2xx response and its bytes, without a limit of size. Read them. */
  readonly open: (call: Call) => Effect.Effect<
    {
      readonly headers: Headers.Headers
      readonly stream: Stream.Stream<Uint8Array, ProviderError>
    },
    ProviderError
  >
  /** Returns the bytes of a 2xx response, without a limit of size. */
  readonly stream: (call: Call) => Stream.Stream<Uint8Array, ProviderError>
  /**
   * Returns the bytes behind a link, without a limit of size. It follows up to 5 redirects.
   *
   * A page or JSON in place of a file is a `BadResponse`, as is a link that has expired or is gone:
   * its error has the `status`, such as 403, 404 or 410.
   */
  readonly download: (link: Link) => Stream.Stream<Uint8Array, ProviderError>
}

/** `status` is that of the response, if there was one. */
const failWith = (reason: Reason, status?: number) =>
  new ProviderError(status === undefined ? { reason } : { reason, status })

const badResponse = (description: string, status?: number) => failWith(new BadResponse({ description }), status)

const maxRedirects = 5

/** The client for links fails with an `InvalidUrlError` where it does not connect. */
const fromLinkError = (error: HttpClientError.HttpClientError): ProviderError =>
  error.reason._tag === "InvalidUrlError" ? badResponse("a link to a host that is not public") : fromClientError(error)

/** What is sent in place of a file. */
const notAFile = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b)/i

// Time for an error's body. The status alone is enough if the body does not arrive.
const errorBodyTime = Duration.seconds(5)
const maxErrorBytes = 65_536

const oneLine = (message: string): string => message.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()

/** The path of the first value that does not match. It contains none of the values. */
const pathOf = (error: Schema.SchemaError): string => {
  const path = SchemaPath.first(error)
  return path.length === 0 ? "its root" : path.map(String).join(".")
}

/** The media type of a response, for descriptions. */
const typeOf = (response: HttpClientResponse.HttpClientResponse): string =>
  /^[\w.+-]{1,40}\/[\w.+-]{1,40}/.exec(response.headers["content-type"] ?? "")?.[0] ?? "a body without a type"

const parse = (
  text: string,
  response: HttpClientResponse.HttpClientResponse
): Effect.Effect<unknown, ProviderError> => {
  try {
    return Effect.succeed<unknown>(JSON.parse(text))
  } catch {
    const type = typeOf(response)
    return Effect.fail(badResponse(/[/+]json$/.test(type) ? "not JSON" : `not JSON but ${type}`))
  }
}

/** The first bytes of a body as text. */
const read = (response: HttpClientResponse.HttpClientResponse, maxBytes: number) => {
  let size = 0
  return response.stream.pipe(
    Stream.takeUntil((chunk) => (size += chunk.length) > maxBytes),
    Stream.decodeText,
    Stream.mkString
  )
}

/**
 * Makes the calls of one upstream over the `HttpClient` of the context.
 *
 * @example
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { HttpClientRequest } from "effect/http"
 * import type { Credential } from "@model-gateway/offers/Offer"
 * import * as UpstreamHttp from "@model-gateway/offers/UpstreamHttp"
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
 * @category constructors
 * @since 0.1.0
 */
export const make = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<UpstreamHttp, never, HttpClient.HttpClient> {
  const { header, scheme } = options.authentication ?? bearer
  const timeLimit = options.timeLimit ?? defaultTimeLimit
  const client = yield* HttpClient.HttpClient
  const memory = yield* ResponseMemory
  const linkClient = yield* LinkClient
  const requestInit = Option.getOrElse(yield* Effect.serviceOption(FetchHttpClient.RequestInit), () => ({}))
  const redactedNames = [...(yield* Headers.CurrentRedactedNames), header]
  // Added one by one, which copies none of the services that a request already has.
  const withSettings = (context: Context.Context<never>) =>
    context.pipe(
      Context.add(FetchHttpClient.RequestInit, { ...requestInit, redirect: "manual" }),
      Context.add(Headers.CurrentRedactedNames, redactedNames),
      // Trace ids are the operator's business, not the upstream's.
      Context.add(HttpClient.TracerPropagationEnabled, false)
    )
  const withoutTrace = (context: Context.Context<never>) =>
    Context.add(withSettings(context), HttpClient.TracerDisabledWhen, constTrue)
  const base = URL.parse(options.baseUrl)

  const secretOf = ({ secret }: Credential): Effect.Effect<string | undefined, ProviderError> => {
    const text = secret === undefined ? undefined : Redacted.value(secret)
    // A client would refuse such a header with a message that quotes it.
    return text === undefined || /^[\x21-\x7e]+$/.test(text)
      ? Effect.succeed(text)
      : Effect.fail(failWith(new Unauthorized()))
  }

  const headersWith = (secret: string | undefined) => (request: HttpClientRequest.HttpClientRequest) => {
    // Some hosts reject requests without one.
    const named = HttpClientRequest.setHeader(request, "user-agent", "model-gateway")
    if (secret === undefined) return named
    return HttpClientRequest.setHeader(named, header, scheme === undefined ? secret : `${scheme} ${secret}`)
  }

  const failureOf = (response: HttpClientResponse.HttpClientResponse, model: string, secret: Credential["secret"]) =>
    Effect.gen(function* () {
      const { status } = response
      if (status < 400) return yield* Effect.as(discard(response), badResponse(`status ${status}`, status))
      const body = yield* read(response, maxErrorBytes).pipe(
        Effect.timeoutOption(errorBodyTime),
        Effect.orElseSucceed(() => Option.none<string>())
      )
      const { codes, message, namesField, retryAfter } = readErrorBody(Option.getOrElse(body, () => ""))
      const secrets = [secret, options.credential?.secret]
      const said = SafeMessage.withoutSecrets(oneLine(message ?? ""), secrets)
      const failure: Failure = {
        status,
        message: said === "" ? undefined : said,
        codes,
        namesField,
        retryAfter: longer(retryAfterOf(response.headers, yield* Clock.currentTimeMillis), retryAfter),
        model
      }
      return failWith(
        withSafeMessage(options.reasonOf?.(failure) ?? reasonOf(failure), {
          ...failure,
          isOfInput: options.inputStatuses?.includes(status)
        }),
        status
      )
    })

  const send = ({ credential, model, request }: Call) =>
    Effect.flatMapEager(secretOf(credential), (secret) => {
      const absolute = /^[a-z]+:\/\//i.test(request.url)
      if (absolute && URL.parse(request.url)?.origin !== base?.origin) {
        return Effect.fail(badResponse("a link to another host"))
      }
      const target = absolute ? request : HttpClientRequest.prependUrl(request, options.baseUrl)
      return Effect.matchEffect(Effect.updateContext(client.execute(headersWith(secret)(target)), withSettings), {
        onFailure: (error) => Effect.fail(fromClientError(error)),
        onSuccess: (response) =>
          response.status >= 200 && response.status < 300
            ? Effect.succeed(response)
            : Effect.flip(failureOf(response, model, credential.secret))
      })
    })

  const decoded = <A>(
    text: string,
    response: HttpClientResponse.HttpClientResponse,
    schema: Schema.ConstraintDecoder<A>
  ): Effect.Effect<A, ProviderError> =>
    Effect.flatMapEager(parse(text, response), (json) =>
      Effect.mapErrorEager(Schema.decodeUnknownEffect(schema)(json), (error) =>
        badResponse(`JSON of another form at ${pathOf(error)}`)
      )
    )

  const jsonWithHeaders: UpstreamHttp["jsonWithHeaders"] = (call, schema) =>
    Effect.suspend(() => {
      let status: number | undefined
      return memory
        .withLease(base?.origin ?? options.baseUrl, (lease) =>
          Effect.flatMap(send(call), (response) => {
            status = response.status
            return Effect.matchEffect(readText(response, { ...defaults, ...call.bounds }, lease), {
              onFailure: (error) =>
                Effect.fail(error._tag === "OutOfBounds" ? badResponse(error.message) : fromClientError(error)),
              onSuccess: (text) =>
                Effect.mapEager(decoded(text, response, schema), (body) => ({ body, headers: response.headers }))
            })
          })
        )
        .pipe(
          Timer.within({
            duration: call.timeLimit ?? timeLimit,
            orElse: () => Effect.fail(failWith(new Timeout()))
          }),
          Effect.mapError((error) => (error.status === undefined ? failWith(error.reason, status) : error))
        )
    })

  /** A response, the bytes of which each have to come within the time limit. */
  const opened = <R>(response: Effect.Effect<HttpClientResponse.HttpClientResponse, ProviderError, R>) =>
    response.pipe(
      Timer.within({ duration: timeLimit, orElse: () => Effect.fail(failWith(new Timeout())) }),
      Effect.map(({ headers, status, stream }) => ({
        headers,
        stream: stream.pipe(
          Stream.mapError((error) => failWith(fromClientError(error).reason, status)),
          Stream.timeoutOrElse({ duration: timeLimit, orElse: () => Stream.fail(failWith(new Timeout(), status)) })
        )
      }))
    )

  const bytes = <R>(response: Effect.Effect<HttpClientResponse.HttpClientResponse, ProviderError, R>) =>
    Stream.unwrap(Effect.map(opened(response), ({ stream }) => stream))

  const follow = Effect.fnUntraced(function* ({ credential, model, url }: Link) {
    const secret = credential === undefined ? undefined : yield* secretOf(credential)
    let at = URL.parse(url)
    for (let hop = 0; hop <= maxRedirects; hop++) {
      const isAllowed = at?.protocol === "https:" || (at?.protocol === "http:" && base?.protocol === "http:")
      if (at === null || !isAllowed || at.username !== "" || at.password !== "")
        return yield* badResponse("an unusable link")
      const isOwn = at.origin === base?.origin
      const reader = isOwn ? client : linkClient
      if (reader === undefined) return yield* badResponse("a link to another host, and there is no client for links")
      // A signed link is a secret too, so there is no span that would show it.
      const response = yield* reader
        .execute(headersWith(isOwn ? secret : undefined)(HttpClientRequest.get(at.href)))
        .pipe(Effect.updateContext(withoutTrace), Effect.mapError(isOwn ? fromClientError : fromLinkError))
      const { headers, status } = response
      const isFile = status >= 200 && status < 300 && !notAFile.test(headers["content-type"] ?? "")
      if (isFile) return response
      yield* discard(response)
      if (status < 300) return yield* badResponse(`${typeOf(response)} in place of a file`, status)
      const location = headers["location"]
      if (status >= 400 || location === undefined) {
        const retryAfter = retryAfterOf(headers, yield* Clock.currentTimeMillis)
        const isLater = status >= 500 || status === 408 || status === 429
        return yield* isLater
          ? failWith(reasonOf({ status, message: undefined, codes: [], retryAfter, model }), status)
          : badResponse(`a link answered with status ${status}`, status)
      }
      at = URL.parse(location, at.href)
    }
    return yield* badResponse(`more than ${maxRedirects} redirects`)
  })

  return {
    json: (call, schema) => Effect.map(jsonWithHeaders(call, schema), ({ body }) => body),
    jsonWithHeaders,
    open: (call) => opened(send(call)),
    stream: (call) => bytes(send(call)),
    download: (link) => bytes(follow(link))
  }
})
