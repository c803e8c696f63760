/**
 * Who calls. A person types an ordinary key once; the page exchanges it for a short-lived one, and
 * that is what every call carries and all that outlives a reload (in this tab alone), beside the
 * label and the end of the typed key. The typed key stays in memory, to get the next short-lived
 * one while the page lives. A management key stays in memory too, and is stored nowhere.
 */
import { Gateway, GatewayConfig } from "@model-gateway/core"
import { BrowserGateway, type LongLivedKey, TokenSource } from "@model-gateway/browser"
import {
  Context,
  Data,
  DateTime,
  Effect,
  Layer,
  Option,
  Redacted,
  Schema,
  Scope,
  type Stream,
  SubscriptionRef
} from "effect"

/** No key was given, or the short-lived one of an earlier visit is over. */
export class SignedOut extends Data.TaggedError("SignedOut")<{ readonly kind: "ordinary" | "management" }> {}

/** What the page shows of the key that was typed. */
export interface TypedKey {
  /** Its prefix and its last three characters. */
  readonly label: string
  readonly expires_at: string | null
}

/** What the page shows of it. */
export interface Status {
  /** When the short-lived key ends; undefined: there is none. */
  readonly until: DateTime.Utc | undefined
  /** Whether the page gets another one by itself. */
  readonly renews: boolean
  /** Undefined: nobody is signed in. */
  readonly typed: TypedKey | undefined
  /** Whether a management key is at hand. */
  readonly manages: boolean
}

const nobody: Status = { until: undefined, renews: false, typed: undefined, manages: false }

type SignInError = Effect.Error<
  ReturnType<Gateway.Gateway["Service"]["createEphemeralKey"]> | Gateway.Gateway["Service"]["currentKey"]
>

/** @see module */
export class Session extends Context.Service<
  Session,
  {
    readonly status: Effect.Effect<Status>
    /** The status now, and each change of it. */
    readonly changes: Stream.Stream<Status>
    /** Exchanges an ordinary key; fails with what the gateway says of it. */
    readonly signIn: (key: Redacted.Redacted<string>) => Effect.Effect<void, SignInError>
    readonly signOut: Effect.Effect<void>
    /**
     * The gateway rejected the short-lived key: without a typed key, nobody is signed in any more.
     */
    readonly refused: Effect.Effect<void>
    /** The credential of every ordinary call. */
    readonly token: Effect.Effect<Redacted.Redacted<string>, unknown>
    readonly manage: (key: Redacted.Redacted<string>) => Effect.Effect<void>
    readonly unmanage: Effect.Effect<void>
    readonly managementKey: Effect.Effect<Redacted.Redacted<string>, SignedOut>
  }
>()("@model-gateway/sample/Session") {}

const stored = "model-gateway-token"

const Stored = Schema.fromJsonString(
  Schema.Struct({
    key: Schema.String.check(Schema.isStartingWith("mg_ek_")),
    expires_at: Schema.DateTimeUtcFromString,
    typed: Schema.optionalKey(Schema.Struct({ label: Schema.String, expires_at: Schema.NullOr(Schema.String) }))
  })
)

/** A browser may forbid storage; then a reload asks for the key again. */
const storage = <A>(use: (storage: Storage) => A) => Effect.ignore(Effect.try(() => use(sessionStorage)))

const remember = (token: typeof Stored.Type) =>
  Effect.flatMap(Effect.orDie(Schema.encodeEffect(Stored)(token)), (text) =>
    storage((storage) => storage.setItem(stored, text))
  )

const recall = Effect.try(() => sessionStorage.getItem(stored)).pipe(
  Effect.flatMap(Schema.decodeUnknownEffect(Stored)),
  Effect.option
)

const make = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const status = yield* SubscriptionRef.make(nobody)
  const update = (change: Partial<Status>) => SubscriptionRef.update(status, (before) => ({ ...before, ...change }))

  let ordinary: Redacted.Redacted<string> | undefined
  let management: Redacted.Redacted<string> | undefined
  let source: TokenSource.TokenSource<unknown> | undefined

  // The one client that carries the typed key, and the one call that it is used for.
  const exchange = yield* Layer.build(
    BrowserGateway.layer({
      credential: Effect.suspend(() =>
        ordinary === undefined ? Effect.fail(new SignedOut({ kind: "ordinary" })) : Effect.succeed(ordinary)
      ),
      dangerouslyAllowLongLivedKey: true
    })
  ).pipe(Effect.map(Context.get(Gateway.Gateway)))

  const acquire = (typed: TypedKey) =>
    Effect.gen(function* () {
      const { expires_at, key } = yield* exchange.createEphemeralKey()
      const until = DateTime.makeUnsafe(expires_at)
      yield* remember({ key: Redacted.value(key), expires_at: until, typed })
      yield* update({ until, renews: true, typed })
      return { key, lifetime: DateTime.distance(yield* DateTime.now, until) }
    })

  const forget = Effect.gen(function* () {
    source = undefined
    ordinary = undefined
    yield* storage((storage) => storage.removeItem(stored))
    yield* update({ until: undefined, renews: false, typed: undefined })
  })

  const kept = yield* recall
  if (Option.isSome(kept) && DateTime.isGreaterThan(kept.value.expires_at, yield* DateTime.now)) {
    const { expires_at, key, typed } = kept.value
    const token = Redacted.make(key)
    source = {
      token: Effect.gen(function* () {
        const isRefused = (yield* GatewayConfig.RefusedToken) !== undefined
        const isExpired = DateTime.isLessThanOrEqualTo(expires_at, yield* DateTime.now)
        if (!isRefused && !isExpired) return token
        if (isExpired) yield* forget
        return yield* new SignedOut({ kind: "ordinary" })
      })
    }
    yield* update({ until: expires_at, typed })
  }

  return Session.of({
    status: SubscriptionRef.get(status),
    changes: SubscriptionRef.changes(status),
    signIn: Effect.fn("Session.signIn")(function* (key) {
      const before = ordinary
      ordinary = key
      source = yield* Effect.gen(function* () {
        // The short-lived key does not tell the label and the end of the key that it was made from.
        const { expires_at, label } = yield* exchange.currentKey
        const next = yield* TokenSource.make(acquire({ label, expires_at })).pipe(
          Effect.provideService(Scope.Scope, scope)
        )
        yield* next.token
        return next
      }).pipe(Effect.onError(() => Effect.sync(() => (ordinary = before))))
    }),
    signOut: Effect.andThen(forget, () => {
      management = undefined
      return update({ manages: false })
    }),
    // A typed key was asked for another short-lived key by the client.
    refused: Effect.suspend(() => (ordinary === undefined ? forget : Effect.void)),
    token: Effect.suspend(() => source?.token ?? Effect.fail(new SignedOut({ kind: "ordinary" }))),
    manage: (key) =>
      Effect.suspend(() => {
        management = key
        return update({ manages: true })
      }),
    unmanage: Effect.suspend(() => {
      management = undefined
      return update({ manages: false })
    }),
    managementKey: Effect.suspend(() =>
      management === undefined ? Effect.fail(new SignedOut({ kind: "management" })) : Effect.succeed(management)
    )
  })
})

/** Over the gateway of the page's own origin. */
export const layer: Layer.Layer<Session, LongLivedKey.LongLivedKeyRefused | GatewayConfig.InvalidBaseUrl> =
  Layer.effect(Session, make)
