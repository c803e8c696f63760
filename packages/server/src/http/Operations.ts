/**
 * What the contract says of each operation, made from the endpoint definitions: the statuses it may answer with, and which methods a path knows.
 *
 * Nothing here is written twice: the sets are those of the endpoints' own schemas and of their middlewares.
 */
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"

/** One operation of the contract. */
export interface Operation {
  /** The endpoint's identifier, such as `deleteFile`; the label in metrics. */
  readonly name: string
  readonly method: string
  /** With its parameters as `:name`, from the root. */
  readonly path: string
  readonly success: ReadonlySet<number>
  /** The closed set. */
  readonly errors: ReadonlySet<number>
}

/** Beside the contract: routes of the service itself. */
const ownRoutes: ReadonlyArray<readonly [method: string, path: string]> = [
  ["GET", "/healthz"],
  ["GET", "/readyz"],
  ["GET", "/metrics"],
  ["GET", "/openapi.json"],
  ["GET", "/docs"]
]

const byEndpoint = new Map<string, Operation>()

const endpointKey = (method: string, path: string): string => `${method} ${path}`

HttpApi.reflect(GatewayApi, {
  onGroup: () => {},
  onEndpoint: ({ endpoint, errors, successes }) => {
    byEndpoint.set(endpointKey(endpoint.method, endpoint.path), {
      name: endpoint.identifier,
      method: endpoint.method,
      path: endpoint.path,
      success: new Set(successes.keys()),
      errors: new Set(errors.keys())
    })
  }
})

/** Every operation of the contract. */
export const all: ReadonlyArray<Operation> = [...byEndpoint.values()]

/** The operation that an endpoint of the contract is; undefined for any other. */
export const of = (endpoint: HttpApiEndpoint.Top): Operation | undefined =>
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
 * A `;` or `#`, behind which the router would read a query; an empty segment, which it would take
 * for an empty parameter; or the percent-encoding of a character that needs none.
 */
const secondSpelling = /^[^?]*(?:[;#]|\/\/|%(?:2[DE]|3\d|4[1-9A-F]|5[\dAF]|6[1-9A-F]|7[\dAE]))|^[^?]+\/(?:\?|$)/i

/**
 * Whether a URL's path is spelled as the contract spells it, and not as a second spelling of
 * another path. A proxy in front would take that for a different path and apply the wrong rule.
 */
export const isExactPath = (url: string): boolean => url.startsWith("/") && !secondSpelling.test(url)

/** The methods that a path knows, in the `Allow` header's form; undefined where no path is like it. */
export const allowedMethods = (url: string): string | undefined => {
  if (!isExactPath(url)) return undefined
  const path = url.split(/[?#]/, 1)[0] ?? ""
  const methods = knownPaths.filter(({ pattern }) => pattern.test(path)).flatMap((known) => [...known.methods])
  return methods.length === 0 ? undefined : [...new Set(methods)].toSorted().join(", ")
}
