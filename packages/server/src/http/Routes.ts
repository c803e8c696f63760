/**
 * The traits and statuses of each operation and the methods of each path, derived from the
 * contract.
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as Contract from "@model-gateway/core/Operation"
import * as IdempotencySupport from "@model-gateway/core/unstable/IdempotencySupport"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"

/** Where the service serves an operation of the contract, and what it checks there. */
export interface Route {
  /** The endpoint's identifier, for example `deleteFile`. Also the label in metrics. */
  readonly name: string
  readonly method: string
  /** The full path, with parameters as `:name`. */
  readonly path: string
  readonly success: ReadonlySet<number>
  /** The closed set of error statuses. */
  readonly errors: ReadonlySet<number>
  /** Whether its requests are recognized by their `Idempotency-Key`. */
  readonly isKeyed: boolean
  /** Which limits apply to its body. */
  readonly bodyLimit: Contract.BodyLimit
  /** The content types of its body. Empty: it has no body. */
  readonly contentTypes: ReadonlyArray<string>
  readonly isPaid: boolean
  /** Whether its requests count against the rate limit of their key. */
  readonly isRateLimited: boolean
  /** The kind of key that may call it. */
  readonly access: Contract.Access
  /** The least role of a management key that may call it. */
  readonly role: Contract.Operation["role"]
  /** What a management key that is restricted to some workspaces gets of it. */
  readonly scope: Contract.Scope
  /** Whether a session of the console must have been started lately. */
  readonly needsRecentSignIn: boolean
  /** Whether an error also has its message at the top level of its body. */
  readonly topLevelMessage: boolean
}

/** Routes of the service that are not in the contract. */
const ownRoutes: ReadonlyArray<readonly [method: string, path: string]> = [
  ["GET", "/healthz"],
  ["GET", "/readyz"],
  ["GET", "/metrics"],
  ["GET", "/openapi.json"],
  ["GET", "/docs"],
  ["GET", "/console/session"],
  ["POST", "/console/session"],
  ["DELETE", "/console/session"]
]

const byEndpoint = new Map<string, Route>()

const endpointKey = (method: string, path: string): string => `${method} ${path}`

HttpApi.reflect(GatewayApi, {
  onGroup: () => {},
  onEndpoint: ({ endpoint, errors, successes }) => {
    const declared = Contract.of(endpoint)
    if (declared === undefined) throw new Error(`${endpoint.identifier} was not made with Operation.endpoint`)
    byEndpoint.set(endpointKey(endpoint.method, endpoint.path), {
      name: endpoint.identifier,
      method: endpoint.method,
      path: endpoint.path,
      success: new Set(successes.keys()),
      errors: new Set(errors.keys()),
      isKeyed: declared.idempotency === "by key",
      bodyLimit: declared.bodyLimit,
      contentTypes: [...endpoint.payload.keys()],
      isPaid: Contract.isPaid(declared),
      isRateLimited: Contract.isRateLimited(declared),
      access: declared.access,
      role: declared.role,
      scope: declared.scope,
      needsRecentSignIn: declared.needsRecentSignIn,
      topLevelMessage: declared.topLevelMessage ?? false
    })
  }
})

/** The routes of all operations. */
export const all: ReadonlyArray<Route> = [...byEndpoint.values()]

/** The route of an endpoint, or undefined for an endpoint outside the contract. */
export const of = (endpoint: HttpApiEndpoint.Top): Route | undefined =>
  byEndpoint.get(endpointKey(endpoint.method, endpoint.path))

const pathPattern = (path: string): RegExp =>
  new RegExp(
    `^${path
      .split("/")
      .map((segment) => (segment.startsWith(":") ? "[^/]+" : segment.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")))
      .join("/")}$`
  )

const knownPaths: ReadonlyArray<{ readonly pattern: RegExp; readonly methods: Set<string> }> = (() => {
  const methods = new Map<string, Set<string>>()
  const routes = [...all.map(({ method, path }) => [method, path] as const), ...ownRoutes]
  for (const [method, path] of routes) {
    const known = methods.get(path) ?? new Set<string>()
    known.add(method)
    if (method === "GET") known.add("HEAD")
    methods.set(path, known.add("OPTIONS"))
  }
  return [...methods].map(([path, set]) => ({ pattern: pathPattern(path), methods: set }))
})()

/**
 * A `;` or `#`, after which the router would read a query; an empty segment, which it would read as
 * an empty parameter; or the percent-encoding of a character that does not need it.
 */
const secondSpelling = /^[^?]*(?:[;#]|\/\/|%(?:2[DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE]))|^[^?]+\/(?:\?|$)/i

/** The one page whose path ends with a slash: its links are relative to it. */
const consolePage = /^\/console\/(?:\?|$)/

/**
 * Whether a URL's path is spelled as in the contract. A proxy in front would treat another spelling
 * as a different path and apply the wrong rule.
 */
export const isExactPath = (url: string): boolean =>
  url.startsWith("/") && (!secondSpelling.test(url) || consolePage.test(url))

const pathOf = (url: string): string => url.split(/[?#]/, 1)[0] ?? ""

/** The methods of a path, in the format of the `Allow` header. Undefined if no path matches. */
export const allowedMethods = (url: string): string | undefined => {
  if (!isExactPath(url)) return undefined
  const path = pathOf(url)
  const methods = knownPaths.filter(({ pattern }) => pattern.test(path)).flatMap((known) => [...known.methods])
  return methods.length === 0 ? undefined : [...new Set(methods)].toSorted().join(", ")
}

const byMethod = Map.groupBy(
  all.map((route) => ({ ...route, pattern: pathPattern(route.path) })),
  ({ method }) => method
)

const find = (method: string, url: string) => {
  const path = pathOf(url)
  return byMethod.get(method)?.find(({ pattern }) => pattern.test(path))
}

/** The name of a request's operation. Undefined if it is of none. */
export const nameOf = (method: string, url: string): string | undefined => find(method, url)?.name

/** The headers of the answer to OPTIONS. Undefined if no path matches. */
export const optionsOf = (url: string): Readonly<Record<string, string>> | undefined => {
  const allow = allowedMethods(url)
  if (allow === undefined) return undefined
  const keyed = [...byMethod.keys()].filter((method) => find(method, url)?.isKeyed === true)
  return keyed.length === 0 ? { allow } : { allow, [IdempotencySupport.header]: keyed.join(", ") }
}
