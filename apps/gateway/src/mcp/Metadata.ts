/**
 * What /mcp says about how to authenticate: OAuth 2.0 Protected Resource Metadata (RFC 9728), as
 * far as it is true of a gateway with API keys. The gateway is no authorization server and accepts no
 * tokens of one, so it names none. A client that expects one has to be given a key instead.
 */
import { HttpServerResponse } from "effect/http"

/** The path of the endpoint. */
export const endpoint = "/mcp"

const wellKnown = "/.well-known/oauth-protected-resource"

/**
 * The paths of the metadata: that of the endpoint and that of the origin, of which a proxy passes on
 * only what is below the base path, and the one that the standard derives from the endpoint's URL.
 */
export const pathsOf = (basePath: string): ReadonlySet<string> =>
  new Set([`${basePath}${wellKnown}`, `${basePath}${wellKnown}${endpoint}`, `${wellKnown}${basePath}${endpoint}`])

/** Of the Host header, which anyone can write, only what a host can be. */
const host = /^[\w.-]+(?::\d+)?$|^\[[\da-f:.]+\](?::\d+)?$/i

/** Where the gateway is. */
export interface Location {
  readonly publicUrl: string | undefined
  /** Whether it has a certificate. */
  readonly isSecure: boolean
  /** Empty: the root. */
  readonly basePath: string
}

/** The URL of the gateway as the client of a request sees it, without a slash at its end. */
export const urlOf = ({ basePath, isSecure, publicUrl }: Location, hostHeader: string | undefined): string => {
  if (publicUrl !== undefined) return new URL(publicUrl).origin + basePath
  const name = hostHeader !== undefined && host.test(hostHeader) ? hostHeader : "localhost"
  return `${isSecure ? "https" : "http"}://${name}${basePath}`
}

/** The value of `WWW-Authenticate`. */
export const challenge = (url: string): string => `Bearer resource_metadata="${url}${wellKnown}${endpoint}"`

/** The metadata. */
export const respond = (url: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe({
    resource: `${url}${endpoint}`,
    resource_name: "Model Gateway",
    bearer_methods_supported: ["header"],
    resource_documentation: "https://github.com/model-gateway/model-gateway/blob/main/docs/client/mcp.md"
  })
