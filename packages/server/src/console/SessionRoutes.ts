/**
 * `/console/session`: GET shows the session or how to sign in, POST signs in with a management key
 * or the token of a link, DELETE signs out. The routes are not in the contract: programs use keys.
 */
import { Forbidden, phrases, Unauthorized } from "@model-gateway/core/GatewayError"
import { Role } from "@model-gateway/core/Identifiers"
import { Effect, Redacted, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Caller } from "../access/Caller.ts"
import * as KeyFormat from "../access/KeyFormat.ts"
import { KeyStore } from "../access/KeyStore.ts"
import * as JsonBody from "../http/JsonBody.ts"
import * as Issues from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as ConsoleAccess from "./ConsoleAccess.ts"
import { ConsoleLinks, linkActor } from "./ConsoleLinks.ts"
import { type ConsoleSession, type Kind, lastsFor, type NewSession } from "./ConsoleSessions.ts"
import * as OpenIdRoutes from "./OpenIdRoutes.ts"
import * as SameOrigin from "./SameOrigin.ts"
import * as SessionCookie from "./SessionCookie.ts"
import type * as SignInLog from "./SignInLog.ts"
import * as StartSession from "./StartSession.ts"

const path = "/console/session"

/** The longest body of a sign-in, in bytes. */
const maxBody = 4096

const Secret = Schema.RedactedFromValue(Schema.String)

const SignIn = Schema.fromJsonString(
  Schema.Struct({
    key: Schema.optionalKey(Secret),
    token: Schema.optionalKey(Secret),
    /** Who the proxy in front of the gateway names. */
    proxy: Schema.optionalKey(Schema.Literal(true))
  })
)

const decode = Schema.decodeUnknownEffect(SignIn)

const notOne = Issues.invalid([{ path: "", message: 'Expected {"key": "mg_mk_…"} or {"token": "…"} as JSON' }])

const noProxyUser = new Forbidden({
  error: {
    message: `${phrases[403]}: no trusted proxy names a user in this request. The settings console-proxy-user-header and trusted-proxies say what is trusted`,
    metadata: { reason: "no_proxy_user" }
  }
})

const noProxyRole = new Forbidden({
  error: {
    message: `${phrases[403]}: the proxy in front of the gateway gives this user none of the roles ${Role.literals.join(", ")}`,
    metadata: { reason: "no_role" }
  }
})

const needsHttps = new Forbidden({
  error: {
    message: `${phrases[403]}: the console needs HTTPS, except at localhost. A browser does not keep the cookie of a session otherwise`,
    metadata: { reason: "needs_https" }
  }
})

const ordinary = new Forbidden({
  error: {
    message: `${phrases[403]}: an ordinary key cannot sign in to the console. Use a management key (mg_mk_…)`,
    metadata: { reason: "ordinary_key" }
  }
})

const sessionOf = (session: ConsoleSession, { key }: Caller) => ({
  kind: session.kind,
  label: session.label,
  role: key.role,
  workspace_ids: key.workspaceIds,
  expires_at: Timestamp.fromMillis(session.createdAt + lastsFor),
  idle_expires_at: Timestamp.fromMillis(session.expiresAt),
  reauthenticated_at: Timestamp.fromMillis(session.createdAt)
})

/** The body as text, which must not be longer than a sign-in is. */
const textOf = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const chunks: Array<Uint8Array> = []
  yield* JsonBody.forEachChunk(request, maxBody, (chunk) => Effect.sync(() => void chunks.push(chunk)))
  return Buffer.concat(chunks).toString("utf8")
})

/** The routes, or the answer that the console is switched off. */
export const layer = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const options = yield* ConsoleAccess.Console
    if (options === undefined) {
      return yield* router.add("*", "/console/*", Effect.fail(ConsoleAccess.switchedOff))
    }
    const access = yield* ConsoleAccess.ConsoleAccess
    const links = yield* ConsoleLinks
    const starting = yield* StartSession.make
    const { end, ofPerson, refused, start } = starting
    const cookie = yield* SessionCookie.make
    const keys = yield* KeyStore

    const refuse = <E extends Forbidden | Unauthorized>(
      request: HttpServerRequest.HttpServerRequest,
      error: E,
      who: Omit<SignInLog.Refused, "message">
    ) => Effect.andThen(refused(request, { ...who, message: error.error.message }), Effect.fail(error))

    const invalid = (request: HttpServerRequest.HttpServerRequest, kind: Kind, message: string) =>
      refuse(request, new Unauthorized({ error: { message, metadata: { reason: "invalid_credential" } } }), { kind })

    const byKey = Effect.fnUntraced(function* (
      plain: Redacted.Redacted<string>,
      request: HttpServerRequest.HttpServerRequest
    ) {
      const { ephemeral, key } = yield* Effect.catchTag(keys.authenticate(plain), "InvalidKey", ({ message }) =>
        invalid(request, "key", message)
      )
      if (!key.isManagement || ephemeral !== null) {
        return yield* refuse(request, ordinary, { kind: "key", actor: key.hash, label: key.label })
      }
      const { hash, label, name, organizationId, role, workspaceId, workspaceIds } = key
      const input: NewSession = {
        kind: "key",
        secretHash: KeyFormat.hashKey(Redacted.value(plain)),
        actor: hash,
        label: name === "" ? label : name,
        organizationId,
        workspaceId,
        role,
        workspaceIds
      }
      return input
    })

    const byLink = Effect.fnUntraced(function* (
      plain: Redacted.Redacted<string>,
      request: HttpServerRequest.HttpServerRequest
    ) {
      const link = yield* Effect.catchTag(links.use(plain), "InvalidLink", ({ message }) =>
        invalid(request, "link", message)
      )
      const { createdAt, hash, organizationId, role, workspaceId, workspaceIds } = link
      const input: NewSession = {
        kind: "link",
        secretHash: null,
        actor: linkActor(hash),
        label: `one-time link of ${Timestamp.fromMillis(createdAt)}`,
        organizationId,
        workspaceId,
        role,
        workspaceIds
      }
      return input
    })

    const byProxy = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const user = access.proxyUserOf(request)
      if (user === undefined) return yield* refuse(request, noProxyUser, { kind: "proxy" })
      const { name: label, role } = user
      const who = { kind: "proxy" as const, actor: ConsoleAccess.proxyActor(user), label }
      if (role === undefined) return yield* refuse(request, noProxyRole, who)
      return yield* ofPerson({ ...who, role })
    })

    const signIn = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const refusal = SameOrigin.refusalOf(request)
      if (refusal !== undefined) return yield* refusal
      if (!SessionCookie.isKept(request)) return yield* needsHttps
      const { key, proxy, token } = yield* Effect.catchTag(decode(yield* textOf(request)), "SchemaError", () =>
        Effect.fail(notOne)
      )
      if ([key, proxy, token].filter((each) => each !== undefined).length !== 1) return yield* notOne
      const input =
        key !== undefined
          ? yield* byKey(key, request)
          : token !== undefined
            ? yield* byLink(token, request)
            : yield* byProxy(request)
      const { plain, session } = yield* start(request, input)
      const caller = yield* access.callerOf(session, request)
      return cookie.set(request, plain)(HttpServerResponse.jsonUnsafe(sessionOf(session, caller)))
    })

    /** That nobody is signed in is no error: a browser would report one for each first visit. */
    const show = Effect.gen(function* () {
      const { caller, session } = yield* access.current(yield* HttpServerRequest.HttpServerRequest)
      return HttpServerResponse.jsonUnsafe({ session: sessionOf(session, caller) })
    }).pipe(
      Effect.catchTag("Unauthorized", ({ error: { message, metadata } }) =>
        Effect.succeed(HttpServerResponse.jsonUnsafe({ session: null, message, ...metadata }))
      )
    )

    /** Signing out twice is no mistake. */
    const signOut = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const refusal = SameOrigin.refusalOf(request)
      if (refusal !== undefined) return yield* refusal
      yield* end(request)
      return cookie.clear(request)(HttpServerResponse.empty())
    })

    if (options.openIdConnect !== undefined) yield* OpenIdRoutes.add(router, options.openIdConnect, starting)
    yield* router.add("GET", path, show)
    yield* router.add("POST", path, signIn)
    yield* router.add("DELETE", path, signOut)
  })
)
