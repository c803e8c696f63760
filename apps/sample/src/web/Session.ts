/**
 * The keys of the page. A person enters an ordinary key once, and the page exchanges it for a
 * short-lived key. Its calls use the short-lived key, except those that need a management key.
 *
 * The short-lived key, and the label and expiry of the entered key, are stored in `sessionStorage`:
 * they survive a reload, in this tab only. The entered key stays in memory, to get further
 * short-lived keys. A management key also stays in memory and is never stored.
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
import { baseUrl } from "./baseUrl.ts"

/** No key was entered, or the short-lived key has expired or was rejected. */
export class SignedOut extends Data.TaggedError("SignedOut")<{ readonly kind: "ordinary" | "management" }> {}

/** What the page shows about the key that a person entered. */
export interface EnteredKey {
  /** The prefix and the last three characters. */
  readonly label: string
  readonly expires_at: string | null
}

/** What the page shows about the session. */
export interface Status {
  /** When the short-lived key expires. Undefined: the session has no short-lived key. */
  readonly expiresAt: DateTime.Utc | undefined
  /** Whether the page replaces the short-lived key before it expires. */
  readonly renews: boolean
  /** Undefined: not signed in, or unknown. */
  readonly entered: EnteredKey | undefined
  /** Whether a management key was entered. */
  readonly hasManagementKey: boolean
}

const signedOut: Status = { expiresAt: undefined, renews: false, entered: undefined, hasManagementKey: false }

type SignInError = Effect.Error<
  ReturnType<Gateway.Gateway["Service"]["createEphemeralKey"]> | Gateway.Gateway["Service"]["currentKey"]
>

/** The keys of the page and their status. */
export class Session extends Context.Service<
  Session,
  {
    readonly status: Effect.Effect<Status>
    /** Emits the current status and each change. */
    readonly changes: Stream.Stream<Status>
    /** Exchanges an ordinary key for a short-lived one. */
    readonly signIn: (key: Redacted.Redacted<string>) => Effect.Effect<void, SignInError>
    readonly signOut: Effect.Effect<void>
    /** Call it when the gateway rejected the short-lived key. Signs out if it cannot be renewed. */
    readonly tokenRejected: Effect.Effect<void>
    /** The short-lived key. */
    readonly token: Effect.Effect<Redacted.Redacted<string>, unknown>
    readonly setManagementKey: (key: Redacted.Redacted<string>) => Effect.Effect<void>
    readonly removeManagementKey: Effect.Effect<void>
    readonly managementKey: Effect.Effect<Redacted.Redacted<string>, SignedOut>
  }
>()("@model-gateway/sample/web/Session") {}

const storageKey = "model-gateway-token"

const Stored = Schema.fromJsonString(
  Schema.Struct({
    key: Schema.String.check(Schema.isStartingWith("mg_ek_")),
    expires_at: Schema.DateTimeUtcFromString,
    entered: Schema.optionalKey(Schema.Struct({ label: Schema.String, expires_at: Schema.NullOr(Schema.String) }))
  })
)

/** Browsers can forbid storage. A reload then asks for the key again. */
const storage = <A>(use: (storage: Storage) => A) => Effect.ignore(Effect.try(() => use(sessionStorage)))

const writeStored = (token: typeof Stored.Type) =>
  Effect.flatMap(Effect.orDie(Schema.encodeEffect(Stored)(token)), (text) =>
    storage((storage) => storage.setItem(storageKey, text))
  )

const readStored = Effect.try(() => sessionStorage.getItem(storageKey)).pipe(
  Effect.flatMap(Schema.decodeUnknownEffect(Stored)),
  Effect.option
)

const make = Effect.gen(function* () {
  const scope = yield* Effect.scope
  const status = yield* SubscriptionRef.make(signedOut)
  const update = (change: Partial<Status>) => SubscriptionRef.update(status, (before) => ({ ...before, ...change }))

  let ordinary: Redacted.Redacted<string> | undefined
  let management: Redacted.Redacted<string> | undefined
  let source: TokenSource.TokenSource<unknown> | undefined

  // Only this client uses the entered key, to exchange it and to read its label.
  const exchange = yield* Layer.build(
    BrowserGateway.layer({
      baseUrl,
      credential: Effect.suspend(() =>
        ordinary === undefined ? Effect.fail(new SignedOut({ kind: "ordinary" })) : Effect.succeed(ordinary)
      ),
      dangerouslyAllowLongLivedKey: true
    })
  ).pipe(Effect.map(Context.get(Gateway.Gateway)))

  const acquire = (entered: EnteredKey) =>
    Effect.gen(function* () {
      const { expires_at, key } = yield* exchange.createEphemeralKey()
      const expiresAt = DateTime.makeUnsafe(expires_at)
      yield* writeStored({ key: Redacted.value(key), expires_at: expiresAt, entered })
      yield* update({ expiresAt, renews: true, entered })
      return { key, lifetime: DateTime.distance(yield* DateTime.now, expiresAt) }
    })

  const clear = Effect.gen(function* () {
    source = undefined
    ordinary = undefined
    yield* storage((storage) => storage.removeItem(storageKey))
    yield* update({ expiresAt: undefined, renews: false, entered: undefined })
  })

  const restored = yield* readStored
  if (Option.isSome(restored) && DateTime.isGreaterThan(restored.value.expires_at, yield* DateTime.now)) {
    const { entered, expires_at, key } = restored.value
    const token = Redacted.make(key)
    source = {
      token: Effect.gen(function* () {
        const isRefused = (yield* GatewayConfig.RefusedToken) !== undefined
        const isExpired = DateTime.isLessThanOrEqualTo(expires_at, yield* DateTime.now)
        if (!isRefused && !isExpired) return token
        if (isExpired) yield* clear
        return yield* new SignedOut({ kind: "ordinary" })
      })
    }
    yield* update({ expiresAt: expires_at, entered })
  }

  return Session.of({
    status: SubscriptionRef.get(status),
    changes: SubscriptionRef.changes(status),
    signIn: Effect.fn("Session.signIn")(function* (key) {
      const before = ordinary
      ordinary = key
      source = yield* Effect.gen(function* () {
        // For a short-lived key, GET `/key` returns its own label and expiry, so read them here.
        const { expires_at, label } = yield* exchange.currentKey
        const next = yield* TokenSource.make(acquire({ label, expires_at })).pipe(
          Effect.provideService(Scope.Scope, scope)
        )
        yield* next.token
        return next
      }).pipe(Effect.onError(() => Effect.sync(() => (ordinary = before))))
    }),
    signOut: Effect.andThen(clear, () => {
      management = undefined
      return update({ hasManagementKey: false })
    }),
    // With the entered key, the client has already requested another short-lived key.
    tokenRejected: Effect.suspend(() => (ordinary === undefined ? clear : Effect.void)),
    token: Effect.suspend(() => source?.token ?? Effect.fail(new SignedOut({ kind: "ordinary" }))),
    setManagementKey: (key) =>
      Effect.suspend(() => {
        management = key
        return update({ hasManagementKey: true })
      }),
    removeManagementKey: Effect.suspend(() => {
      management = undefined
      return update({ hasManagementKey: false })
    }),
    managementKey: Effect.suspend(() =>
      management === undefined ? Effect.fail(new SignedOut({ kind: "management" })) : Effect.succeed(management)
    )
  })
})

/** The session with the gateway at the page's origin. */
export const layer: Layer.Layer<Session, LongLivedKey.LongLivedKeyRefused | GatewayConfig.InvalidBaseUrl> =
  Layer.effect(Session, make)
