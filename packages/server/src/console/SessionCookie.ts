/**
 * The cookie of a session.
 *
 * Over HTTPS it has the prefix `__Host-`: browsers send it to this host only, and never without
 * HTTPS. On the machine itself, where there is no HTTPS, its name has the port, because cookies of
 * one host are shared by all ports.
 */
import { Redacted } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import * as SameOrigin from "./SameOrigin.ts"

const secureName = "__Host-model-gateway-console"

type Request = Pick<HttpServerRequest.HttpServerRequest, "cookies" | "headers" | "method">

/** The host and port that the browser asks. */
const hostOf = ({ headers }: Pick<Request, "headers">): URL | undefined =>
  URL.parse(`http://${headers["host"]}`) ?? undefined

const isLoopbackName = (name: string): boolean =>
  name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127(?:\.\d+){3}$/.test(name)

/** The name without HTTPS. Undefined: the browser is not on this machine, so it needs HTTPS. */
const loopbackName = (request: Pick<Request, "headers">): string | undefined => {
  const host = hostOf(request)
  return host !== undefined && isLoopbackName(host.hostname)
    ? `model-gateway-console-${host.port === "" ? "80" : host.port}`
    : undefined
}

const names = (request: Pick<Request, "headers">): ReadonlyArray<string> => {
  const loopback = loopbackName(request)
  return loopback === undefined ? [secureName] : [secureName, loopback]
}

/** The token in the request's cookie. */
export const read = (request: Request): Redacted.Redacted<string> | undefined => {
  const found = names(request).flatMap((name) => request.cookies[name] ?? [])[0]
  return found === undefined || found === "" ? undefined : Redacted.make(found)
}

/** What a cookie that the response sets has besides its value. */
const optionsOf = (isSecure: boolean) => ({
  path: "/",
  httpOnly: true,
  sameSite: "strict" as const,
  ...(isSecure ? { secure: true } : {})
})

/**
 * Whether the browser keeps a cookie of a session: over HTTPS, or on this machine. The request is
 * from a page of this service.
 */
export const isKept = (request: Request): boolean =>
  SameOrigin.originOf(request)?.protocol === "https:" || loopbackName(request) !== undefined

/** Sets the cookie, as the page's origin needs it. Browsers delete it when they end. */
export const set = (request: Request, token: Redacted.Redacted<string>) =>
  setIn(request, SameOrigin.originOf(request)?.protocol === "https:", token)

/** As {@link set}, for a page over HTTPS or not. */
export const setIn = (request: Request, isSecure: boolean, token: Redacted.Redacted<string>) => {
  const name = isSecure ? secureName : (loopbackName(request) ?? secureName)
  return HttpServerResponse.setCookieUnsafe(name, Redacted.value(token), optionsOf(isSecure))
}

const signInName = (name: string): string => name.replace("-console", "-sign-in")

/**
 * Sets the cookie of a sign-in that begins. Unlike that of a session, it comes with the provider's
 * link back.
 */
export const setSignIn = (request: Request, isSecure: boolean, secret: Redacted.Redacted<string>) => {
  const name = isSecure ? secureName : (loopbackName(request) ?? secureName)
  const options = { ...optionsOf(isSecure), sameSite: "lax" as const, maxAge: "10 minutes" as const }
  return HttpServerResponse.setCookieUnsafe(signInName(name), Redacted.value(secret), options)
}

/** The secret of the sign-in that the request ends. */
export const readSignIn = (request: Request): Redacted.Redacted<string> | undefined => {
  const found = names(request).flatMap((name) => request.cookies[signInName(name)] ?? [])[0]
  return found === undefined || found === "" ? undefined : Redacted.make(found)
}

/** Deletes the cookie of a sign-in. */
export const clearSignIn = (request: Request) => deleted(names(request).map(signInName))

const deleted =
  (all: ReadonlyArray<string>) =>
  (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
    all.reduce(
      (cleared, name) =>
        HttpServerResponse.setCookieUnsafe(cleared, name, "", { ...optionsOf(name.startsWith("__Host-")), maxAge: 0 }),
      response
    )

/** Deletes the cookie. */
export const clear = (request: Request) => deleted(names(request))
