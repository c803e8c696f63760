/** Who is signed in: the session of a request of the console, and the gate to its API. */
import { type Forbidden, NotFound, phrases, Unauthorized } from "@model-gateway/core/GatewayError"
import { Context, Effect, Layer, Redacted } from "effect"
import { constUndefined } from "effect/Function"
import { Headers, type HttpServerRequest } from "effect/http"
import type { Caller } from "../access/Caller.ts"
import type { InvalidKey } from "../access/InvalidKey.ts"
import { KeyStore } from "../access/KeyStore.ts"
import * as ManagementActor from "../access/ManagementActor.ts"
import { SignedIn } from "../access/SignedIn.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as ConsoleRequests from "../http/ConsoleRequests.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { type ConsoleSession, ConsoleSessions } from "./ConsoleSessions.ts"
import * as OpenIdConnect from "./OpenIdConnect.ts"
import * as SameOrigin from "./SameOrigin.ts"
import * as SessionCookie from "./SessionCookie.ts"
import * as TrustedProxy from "./TrustedProxy.ts"

/** How the console is served. */
export interface Options {
  /** Sign-in by a provider of identities. Undefined: not possible. */
  readonly openIdConnect?: OpenIdConnect.Options | undefined
  /** Sign-in by a proxy in front of the gateway. Undefined: not possible. */
  readonly proxy?: TrustedProxy.Options | undefined
}

/** The console of the service. Undefined: it is switched off. */
export const Console = Context.Reference<Options | undefined>("@model-gateway/server/console/ConsoleAccess/Console", {
  defaultValue: constUndefined
})

/** The answer of everything below `/console` while the console is switched off. */
export const switchedOff = new NotFound({
  error: {
    message: `${phrases[404]}: the console is switched off. The operator switches it on with --console on, or MODEL_GATEWAY_CONSOLE=on`,
    metadata: { reason: "console_off" }
  }
})

/** A session, and the permissions that it has now. */
export interface Current {
  readonly session: ConsoleSession
  readonly caller: Caller
}

/** The sessions of requests. */
export class ConsoleAccess extends Context.Service<
  ConsoleAccess,
  {
    /** The session of the request's cookie. */
    readonly current: (
      request: HttpServerRequest.HttpServerRequest
    ) => Effect.Effect<Current, Forbidden | Unauthorized | StorageError>
    /** The permissions of a session that the request has, or has started. */
    readonly callerOf: (
      session: ConsoleSession,
      request: HttpServerRequest.HttpServerRequest
    ) => Effect.Effect<Caller, Unauthorized | StorageError>
    /** The user of the proxy that has sent the request. */
    readonly proxyUserOf: (request: HttpServerRequest.HttpServerRequest) => TrustedProxy.ProxyUser | undefined
  }
>()("@model-gateway/server/console/ConsoleAccess") {}

/** A way to sign in, as the page shows it. */
export type Way =
  | { readonly kind: "key" | "link" }
  /** `href` is relative to the page. */
  | { readonly kind: "oidc"; readonly name: string; readonly href: string }
  | { readonly kind: "proxy"; readonly user: string }

const signedOut = "not signed in: sign in to the console first"

const ended = "the session has ended: a session lasts 30 minutes without a request, and 8 hours in all. Sign in again"

/** What became of a key that was valid. */
const ends: Readonly<Record<InvalidKey["reason"], string>> = {
  malformed: "is not valid",
  checksum: "is not valid",
  unknown: "was deleted",
  deleted: "was deleted",
  disabled: "is disabled",
  expired: "has expired",
  replaced: "has another secret"
}

/** What records have in place of a key. */
export const proxyActor = ({ name }: TrustedProxy.ProxyUser): string => `proxy:${name}`

const make = Effect.gen(function* () {
  const sessions = yield* ConsoleSessions
  const cookie = yield* SessionCookie.make
  const keys = yield* KeyStore
  const { openIdConnect, proxy } = (yield* Console) ?? {}
  const { trustedProxies } = yield* GatewayServerConfig
  const proxyUserOf = proxy === undefined ? constUndefined : TrustedProxy.make(proxy, trustedProxies)

  const waysOf = (request: HttpServerRequest.HttpServerRequest): ReadonlyArray<Way> => {
    const user = proxyUserOf(request)
    return [
      ...(user === undefined ? [] : [{ kind: "proxy" as const, user: user.name }]),
      ...(openIdConnect === undefined
        ? []
        : [{ kind: "oidc" as const, name: openIdConnect.name, href: OpenIdConnect.href }]),
      { kind: "key" },
      { kind: "link" }
    ]
  }

  const unauthorized = (
    request: HttpServerRequest.HttpServerRequest,
    reason: "signed_out" | "session_ended",
    message: string
  ) => new Unauthorized({ error: { message, metadata: { reason, ways: waysOf(request).map((way) => ({ ...way })) } } })

  /** Why nobody may use the session any more. Undefined: it goes on. */
  const endOf = (session: ConsoleSession, request: HttpServerRequest.HttpServerRequest): string | undefined => {
    switch (session.kind) {
      case "proxy": {
        const user = proxyUserOf(request)
        if (user === undefined || proxyActor(user) !== session.actor) {
          return "the proxy in front of the gateway names another user"
        }
        return user.role === session.role ? undefined : "the proxy in front of the gateway names another role"
      }
      case "oidc":
        return openIdConnect === undefined ? "the provider of identities was switched off" : undefined
      default:
        return undefined
    }
  }

  const endBecause = (session: ConsoleSession, request: HttpServerRequest.HttpServerRequest, reason: string) =>
    Effect.andThen(
      sessions.end(session.hash),
      Effect.fail(unauthorized(request, "session_ended", `the session has ended: ${reason}. Sign in again`))
    )

  const callerOf = Effect.fnUntraced(function* (session: ConsoleSession, request: HttpServerRequest.HttpServerRequest) {
    if (session.secretHash !== null) {
      return yield* Effect.catchTag(keys.usable(session.secretHash), "InvalidKey", ({ reason }) =>
        endBecause(session, request, `its key ${ends[reason]}`)
      )
    }
    const end = endOf(session, request)
    if (end !== undefined) return yield* endBecause(session, request, end)
    const { actor: id, createdAt: since, label, organizationId, role, workspaceId, workspaceIds } = session
    const key = ManagementActor.keyOf({ id, label, organizationId, workspaceId, role, workspaceIds, since })
    const caller: Caller = { key, guardrail: null, ephemeral: null }
    return caller
  })

  return ConsoleAccess.of({
    callerOf,
    proxyUserOf,
    current: Effect.fnUntraced(function* (request) {
      const refusal = SameOrigin.refusalOf(request)
      if (refusal !== undefined) return yield* refusal
      const token = cookie.read(request)
      if (token === undefined) return yield* unauthorized(request, "signed_out", signedOut)
      const session = yield* sessions.find(token)
      if (session === undefined) return yield* unauthorized(request, "session_ended", ended)
      return { session, caller: yield* callerOf(session, request) }
    })
  })
})

/** The sessions of requests, over the stores. */
export const layer: Layer.Layer<ConsoleAccess, never, ConsoleSessions | KeyStore> = Layer.effect(ConsoleAccess, make)

/** The gate to the API, which is closed while the console is switched off. */
export const layerGate: Layer.Layer<never, never, ConsoleAccess> = Layer.effect(
  ConsoleRequests.ConsoleGate,
  Effect.gen(function* () {
    if ((yield* Console) === undefined) return { enter: () => Effect.die(switchedOff) }
    const access = yield* ConsoleAccess
    const cookie = yield* SessionCookie.make
    return {
      enter: Effect.fnUntraced(function* (request, record) {
        const { caller, session } = yield* access.current(request)
        record.session = new SignedIn({ caller, sessionId: session.id, provedAt: session.createdAt })
        // In place of a key. New keys are derived from it (`access/DerivedKey.ts`).
        const token = cookie.read(request) ?? Redacted.make("")
        const headers = Headers.set(
          Headers.remove(request.headers, "cookie"),
          "authorization",
          `Bearer ${Redacted.value(token)}`
        )
        return request.modify({ url: ConsoleRequests.apiUrl(request.url), headers })
      }, Effect.orDie)
    }
  })
)
