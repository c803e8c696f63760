/**
 * The cookie of a session.
 *
 * Over HTTPS it has the prefix `__Host-`: browsers send it to this host only, and never without
 * HTTPS. Cookies of one host are shared by all its ports and paths, so the name has those of this
 * gateway: to sign in to one does not sign out of another.
 */
import { Effect, Redacted } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as SameOrigin from "./SameOrigin.ts"

type Request = Pick<HttpServerRequest.HttpServerRequest, "cookies" | "headers" | "method">

/** The host and port that the browser asks. */
const hostOf = ({ headers }: Pick<Request, "headers">): URL | undefined =>
  URL.parse(`http://${headers["host"]}`) ?? undefined

const isLoopbackName = (name: string): boolean =>
  name === "localhost" || name.endsWith(".localhost") || name === "[::1]" || /^127(?:\.\d+){3}$/.test(name)

const isLoopback = (request: Pick<Request, "headers">): boolean => isLoopbackName(hostOf(request)?.hostname ?? "")

/**
 * Whether the browser keeps a cookie of a session: over HTTPS, or on this machine. The request is
 * from a page of this service.
 */
export const isKept = (request: Request): boolean =>
  SameOrigin.originOf(request)?.protocol === "https:" || isLoopback(request)

/** What a cookie that the response sets has besides its value. */
const optionsOf = (isSecure: boolean) => ({
  path: "/",
  httpOnly: true,
  sameSite: "strict" as const,
  ...(isSecure ? { secure: true } : {})
})

/** A sign-in by OpenID Connect that has begun. */
export interface SignIn {
  readonly secret: Redacted.Redacted<string>
  /** The hash of the session that the browser had then. */
  readonly former: string | undefined
}

const signInForm = /^([\w-]{43})(?:\.([\da-f]{64}))?$/

/** Makes the functions for the base path of the service. */
export const make = Effect.map(GatewayServerConfig, ({ basePath = "" }) => {
  const path = basePath.replaceAll("/", "-")

  /** Without HTTPS, a browser that is not on this machine keeps none of them. */
  const nameOf = (request: Pick<Request, "headers">, isSecure: boolean, what: "console" | "sign-in"): string => {
    const port = hostOf(request)?.port ?? ""
    return isSecure || !isLoopback(request)
      ? `__Host-model-gateway-${what}${port === "" ? "" : `-${port}`}${path}`
      : `model-gateway-${what}-${port === "" ? "80" : port}${path}`
  }

  const names = (request: Pick<Request, "headers">, what: "console" | "sign-in"): ReadonlyArray<string> => [
    ...new Set([nameOf(request, true, what), nameOf(request, false, what)])
  ]

  const find = (request: Request, what: "console" | "sign-in"): string | undefined =>
    names(request, what).flatMap((name) => request.cookies[name] ?? [])[0]

  const deleted =
    (request: Request, what: "console" | "sign-in") =>
    (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
      names(request, what).reduce(
        (cleared, name) =>
          HttpServerResponse.setCookieUnsafe(cleared, name, "", {
            ...optionsOf(name.startsWith("__Host-")),
            maxAge: 0
          }),
        response
      )

  /** Sets the cookie, for a page over HTTPS or not. */
  const setIn = (request: Request, isSecure: boolean, token: Redacted.Redacted<string>) =>
    HttpServerResponse.setCookieUnsafe(nameOf(request, isSecure, "console"), Redacted.value(token), optionsOf(isSecure))

  return {
    /** The token in the request's cookie. */
    read: (request: Request): Redacted.Redacted<string> | undefined => {
      const found = find(request, "console")
      return found === undefined || found === "" ? undefined : Redacted.make(found)
    },

    /** Sets the cookie, as the page's origin needs it. Browsers delete it when they end. */
    set: (request: Request, token: Redacted.Redacted<string>) =>
      setIn(request, SameOrigin.originOf(request)?.protocol === "https:", token),

    setIn,

    /** Deletes the cookie. */
    clear: (request: Request) => deleted(request, "console"),

    /**
     * Sets the cookie of a sign-in that begins. Unlike that of a session, it comes with the
     * provider's link back.
     */
    setSignIn: (request: Request, isSecure: boolean, { former, secret }: SignIn) =>
      HttpServerResponse.setCookieUnsafe(
        nameOf(request, isSecure, "sign-in"),
        `${Redacted.value(secret)}${former === undefined ? "" : `.${former}`}`,
        { ...optionsOf(isSecure), sameSite: "lax" as const, maxAge: "10 minutes" as const }
      ),

    /** The sign-in that the request ends. */
    readSignIn: (request: Request): SignIn | undefined => {
      const [, secret, former] = signInForm.exec(find(request, "sign-in") ?? "") ?? []
      return secret === undefined ? undefined : { secret: Redacted.make(secret), former }
    },

    /** Deletes the cookie of a sign-in. */
    clearSignIn: (request: Request) => deleted(request, "sign-in")
  }
})
