/**
 * Short-lived tokens: fetched when first needed, kept until shortly before they
 * expire, fetched once however many calls wait for one.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/**
 * @since 0.1.0
 */
export interface Token {
  readonly key: Redacted.Redacted<string>
  /** For how long it can be used from now on; undefined: until it is refused. */
  readonly lifetime: Duration.Duration | undefined
}

/**
 * @since 0.1.0
 */
export interface TokenSource<E = never> {
  /** A token that has not expired: the one at hand, or a new one. */
  readonly token: Effect.Effect<Redacted.Redacted<string>, E>
  /** Forgets this token where it is the one at hand, so that the next call gets another. */
  readonly refuse: (key: Redacted.Redacted<string>) => Effect.Effect<void>
}

/**
 * @since 0.1.0
 */
export interface Options {
  /**
   * How long before its end a token is replaced. Default 30 seconds, and never
   * more than a third of its life. Where the replacing fails, the old one serves
   * on until its end.
   */
  readonly refreshBefore?: Duration.Input | undefined
}

interface Held {
  readonly key: Redacted.Redacted<string>
  readonly refreshAt: number
  readonly expiresAt: number
}

/**
 * Keeps what `acquire` yields. It is asked again when its token is about to expire
 * or was refused, and by one call at a time: the others wait for that one. A call
 * that is interrupted while it waits leaves the asking to the others; the end of
 * the scope ends it.
 *
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
    let held: Held | undefined
    let pending: Fiber.Fiber<Held, E> | undefined

    const renew = Effect.gen(function* () {
      // Its life is counted from the question: the answer took a while to come.
      const askedAt = yield* Clock.currentTimeMillis
      const { key, lifetime } = yield* acquire
      const life = lifetime === undefined ? Infinity : Duration.toMillis(lifetime)
      return (held = {
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
        const old = held
        if (old !== undefined && now < old.refreshAt) return old.key
        const usable = old !== undefined && now < old.expiresAt
        const next = yield* usable ? Effect.catch(ask, () => Effect.succeed(old)) : ask
        return next.key
      }),
      refuse: (key) =>
        Effect.sync(() => {
          if (held?.key === key) held = undefined
        })
    }
  })

/**
 * The application's own server gave no token. The message is a sentence for
 * developers; no token is part of it.
 *
 * @since 0.1.0
 */
export class TokenUnavailable extends Data.TaggedError("TokenUnavailable")<{
  readonly endpoint: string
  /** `unreachable`: no answer. `refused`: a status that is no success. `invalid`: an answer of another form. */
  readonly reason: "unreachable" | "refused" | "invalid"
  readonly status: number | undefined
  readonly cause?: unknown
}> {
  override get message(): string {
    switch (this.reason) {
      case "unreachable":
        return `No token: ${this.endpoint} could not be reached.`
      case "refused":
        return `No token: ${this.endpoint} answered with status ${this.status}.`
      case "invalid":
        return `No token: ${this.endpoint} answered something other than {"key": …, "expires_at": …}.`
    }
  }
}

/**
 * @since 0.1.0
 */
export interface EndpointOptions {
  /** An address of the application's own server, as a page would link it: `/token`. */
  readonly url: string
  /** What its server wants to see, such as a CSRF token. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** How long one answer is waited for. Default 10 seconds. */
  readonly timeout?: Duration.Input | undefined
}

/** What POST `/keys/ephemeral` of the gateway answers, handed on by the application's server. */
const Answer = Schema.Struct({ key: Schema.NonEmptyString, expires_at: Schema.NullOr(Schema.String) })

const decodeAnswer = Schema.decodeUnknownEffect(Answer)

/**
 * A token from the application's own server, which is asked with POST and hands on
 * what the gateway's POST `/keys/ephemeral` answered it: `{ "key": …, "expires_at": … }`.
 *
 * The token's life is told from the answer's own `Date` header where it has one, so
 * that a wrong clock on the visitor's machine does no harm.
 *
 * @since 0.1.0
 */
export const fromEndpoint = (
  options: EndpointOptions
): Effect.Effect<Token, TokenUnavailable, HttpClient.HttpClient> => {
  const unavailable = (reason: TokenUnavailable["reason"], status?: number, cause?: unknown) =>
    new TokenUnavailable({ endpoint: options.url, reason, status, cause })
  return Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const response = yield* Effect.mapError(
      client.execute(HttpClientRequest.post(options.url, { acceptJson: true, headers: options.headers ?? {} })),
      (error) => unavailable("unreachable", undefined, error.reason.cause)
    )
    if (response.status < 200 || response.status > 299) return yield* unavailable("refused", response.status)
    const answer = yield* Effect.mapError(Effect.flatMap(response.json, decodeAnswer), () =>
      unavailable("invalid", response.status)
    )
    if (answer.expires_at === null) return { key: Redacted.make(answer.key), lifetime: undefined }
    const now = Date.parse(response.headers["date"] ?? "")
    const life = Date.parse(answer.expires_at) - (Number.isNaN(now) ? yield* Clock.currentTimeMillis : now)
    if (Number.isNaN(life)) return yield* unavailable("invalid", response.status)
    return { key: Redacted.make(answer.key), lifetime: Duration.millis(Math.max(0, life)) }
  }).pipe(
    Effect.timeoutOrElse({
      duration: options.timeout ?? "10 seconds",
      orElse: () => Effect.fail(unavailable("unreachable"))
    })
  )
}
