/**
 * What /mcp says about how to authenticate: OAuth 2.0 Protected Resource Metadata (RFC 9728), as
 * far as it is true of a gateway with API keys. The gateway is no authorization server and accepts no
 * tokens of one, so it names none. A client that expects one has to be given a key instead.
 */
import { HttpServerResponse } from "effect/http"

/** The path of the endpoint. */
export const endpoint = "/mcp"

const wellKnown = "/.well-known/oauth-protected-resource"

/** The paths of the metadata: that of the endpoint, and that of the origin. */
export const paths: ReadonlySet<string> = new Set([wellKnown, `${wellKnown}${endpoint}`])

/** Of the Host header, which anyone can write, only what a host can be. */
const host = /^[\w.-]+(?::\d+)?$|^\[[\da-f:.]+\](?::\d+)?$/i

/** The origin of the gateway as the client of a request sees it. */
export const originOf = (publicUrl: string | undefined, hostHeader: string | undefined): string => {
  if (publicUrl !== undefined) return new URL(publicUrl).origin
  return hostHeader !== undefined && host.test(hostHeader) ? `http://${hostHeader}` : "http://localhost"
}

/** The value of `WWW-Authenticate`. */
export const challenge = (origin: string): string => `Bearer resource_metadata="${origin}${wellKnown}${endpoint}"`

/** The metadata. */
export const respond = (origin: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe({
    resource: `${origin}${endpoint}`,
    resource_name: "Model Gateway",
    bearer_methods_supported: ["header"],
    resource_documentation: "https://github.com/model-gateway/model-gateway/blob/main/docs/client/mcp.md"
  })
