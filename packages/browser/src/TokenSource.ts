/**
 * Caches short-lived tokens. A token is fetched when first needed, once for all waiting calls, and
 * replaced shortly before it expires.
 *
 * @since 0.1.0
 */
import { RefusedToken, ShownError } from "@model-gateway/core/GatewayConfig"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Equal from "effect/Equal"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/**
 * @category models
 * @since 0.1.0
 */
export interface Token {
  readonly key: Redacted.Redacted<string>
  /** How long the token is valid from now on. Undefined: until it is rejected. */
  readonly lifetime: Duration.Duration | undefined
}

/**
 * @category models
 * @since 0.1.0
 */
export interface TokenSource<E = never> {
  /**
   * Returns a token that has not expired: the cached one or a new one. A token that the gateway
   * rejected (`GatewayConfig.RefusedToken`) is replaced.
   */
  readonly token: Effect.Effect<Redacted.Redacted<string>, E>
}

/**
 * @category options
 * @since 0.1.0
 */
export interface Options {
  /**
   * How long before its expiry a token is replaced, at most a third of its lifetime. If the
   * replacement fails, the old token is used until it expires. Default: 30 seconds.
   */
  readonly refreshBefore?: Duration.Input | undefined
}

interface CachedToken {
  readonly key: Redacted.Redacted<string>
  readonly refreshAt: number
  readonly expiresAt: number
}

/**
 * Makes a source that caches the token of `acquire`. `acquire` runs again when the token is about
 * to expire or was rejected, and only once at a time: concurrent calls wait for the same run.
 * Interrupting a waiting call does not interrupt `acquire`. Closing the scope does.
 *
 * @category constructors
 * @since 0.1.0
 */
export const make = <E, R>(
  acquire: Effect.Effect<Token, E, R>,
  options: Options = {}
): Effect.Effect<TokenSource<E>, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const refreshBefore = Duration.toMillis(Duration.fromInputUnsafe(options.refreshBefore ?? "30 seconds"))
    const scope = yield* Effect.scope
    const context = yield* Effect.context<R>()
    let cached: CachedToken | undefined
    let pending: Fiber.Fiber<CachedToken, E> | undefined

    const renew = Effect.gen(function* () {
      // The lifetime counts from the request, because the response may have been slow.
      const askedAt = yield* Clock.currentTimeMillis
      const { key, lifetime } = yield* acquire
      const life = lifetime === undefined ? Infinity : Duration.toMillis(lifetime)
      return (cached = {
        key,
        refreshAt: askedAt + life - Math.min(refreshBefore, life / 3),
        expiresAt: askedAt + life
      })
    }).pipe(
      Effect.provideContext(context),
      Effect.ensuring(
        Effect.sync(() => {
          pending = undefined
        })
      )
    )

    const ask = Effect.suspend(() =>
      pending === undefined
        ? Effect.map(Effect.forkIn(renew, scope), (fiber) => {
            if (fiber.pollUnsafe() === undefined) pending = fiber
            return fiber
          })
        : Effect.succeed(pending)
    ).pipe(Effect.uninterruptible, Effect.flatMap(Fiber.join))

    return {
      token: Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const refused = yield* RefusedToken
        if (refused !== undefined && cached !== undefined && Equal.equals(cached.key, refused)) cached = undefined
        const old = cached
        if (old !== undefined && now < old.refreshAt) return old.key
        const usable = old !== undefined && now < old.expiresAt
        const next = yield* usable ? Effect.catch(ask, () => Effect.succeed(old)) : ask
        return next.key
      })
    }
  })

/**
 * The application's server returned no token. The message is meant for developers and contains no
 * token.
 *
 * @category errors
 * @since 0.1.0
 */
export class TokenUnavailable extends Data.TaggedError("TokenUnavailable")<{
  readonly endpoint: string
  /** `unreachable`: no response. `refused`: an error status. `invalid`: an unexpected body. */
  readonly reason: "unreachable" | "refused" | "invalid"
  readonly status: number | undefined
  readonly cause?: unknown
}> {
  readonly [ShownError] = true
  override get message(): string {
    switch (this.reason) {
      case "unreachable":
        return `No token: ${this.endpoint} is not reachable. Check the address and your server.`
      case "refused":
        return `No token: ${this.endpoint} responded with status ${this.status}. Check your server's log.`
      case "invalid":
        return `No token: ${this.endpoint} did not respond with {"key": …, "expires_at": …}. Return the gateway's response to POST /keys/ephemeral unchanged.`
    }
  }
}

/**
 * @category options
 * @since 0.1.0
 */
export interface EndpointOptions {
  /** A URL of the application's own server, absolute or relative to the page, such as `/token`. */
  readonly url: string
  /** Headers that your server requires, such as a CSRF token. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Time limit for the response, with its retries. Default: 10 seconds. */
  readonly timeout?: Duration.Input | undefined
}

/** Whether the application's server may only be restarting. */
const isMomentary = ({ reason, status = 0 }: TokenUnavailable): boolean =>
  reason === "unreachable" || (status >= 502 && status <= 504)

/** The response of the gateway's POST `/keys/ephemeral`, passed on by the application's server. */
const Answer = Schema.Struct({ key: Schema.String, expires_at: Schema.NullOr(Schema.String) })

const decodeAnswer = Schema.decodeUnknownEffect(Answer)

/**
 * Fetches a token with POST from the application's own server. The server passes on the response of
 * the gateway's POST `/keys/ephemeral`: `{ "key": …, "expires_at": … }`.
 *
 * The lifetime is calculated from the response's `Date` header, if it has one, so that a wrong
 * clock on the visitor's machine does not matter.
 *
 * If the server is not reachable, or responds with 502, 503 or 504, the request is sent again after
 * 250 ms and once more after another second.
 *
 * @category endpoints
 * @since 0.1.0
 */
export const fromEndpoint = (
  options: EndpointOptions
): Effect.Effect<Token, TokenUnavailable, HttpClient.HttpClient> => {
  const unavailable = (reason: TokenUnavailable["reason"], status?: number, cause?: unknown) =>
    new TokenUnavailable({ endpoint: options.url, reason, status, cause })
  const request = Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const response = yield* Effect.mapError(
      client.execute(HttpClientRequest.post(options.url, { acceptJson: true, headers: options.headers ?? {} })),
      (error) => unavailable("unreachable", undefined, error.reason.cause)
    )
    if (response.status < 200 || response.status > 299) return yield* unavailable("refused", response.status)
    const answer = yield* Effect.mapError(Effect.flatMap(response.json, decodeAnswer), () =>
      unavailable("invalid", response.status)
    )
    // A server wrote its decoded response with `JSON.stringify`, which hides the key.
    if (answer.key === "" || answer.key.startsWith("<redacted")) return yield* unavailable("invalid", response.status)
    if (answer.expires_at === null) return { key: Redacted.make(answer.key), lifetime: undefined }
    const now = Date.parse(response.headers["date"] ?? "")
    const life = Date.parse(answer.expires_at) - (Number.isNaN(now) ? yield* Clock.currentTimeMillis : now)
    if (Number.isNaN(life)) return yield* unavailable("invalid", response.status)
    return { key: Redacted.make(answer.key), lifetime: Duration.millis(Math.max(0, life)) }
  })
  // By hand: `Effect.retry` takes 0.5 KB gzipped of every page.
  const within = (waits: ReadonlyArray<number>): typeof request =>
    Effect.catch(request, (error) =>
      waits[0] !== undefined && isMomentary(error)
        ? Effect.andThen(Effect.sleep(waits[0]), within(waits.slice(1)))
        : Effect.fail(error)
    )
  return within([250, 1000]).pipe(
    Effect.timeoutOrElse({
      duration: options.timeout ?? "10 seconds",
      orElse: () => Effect.fail(unavailable("unreachable"))
    })
  )
}
