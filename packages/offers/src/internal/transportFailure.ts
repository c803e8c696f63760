/** The reason for a call without an answer. */
import type { HttpClientError } from "effect/http"
import { BadResponse, ConnectionLost, ProviderError, type Reason, Timeout, Unavailable } from "../ProviderError.ts"
import { property } from "./errorBody.ts"

/** Codes of Node and undici for a connection that was never made. */
const notConnected = new Set([
  "ECONNREFUSED",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT"
])
const untrusted = /^(EPROTO$|ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_)/
/** Codes of Node and undici for a connection on which nothing came for too long. */
const silent = new Set(["ETIMEDOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT"])
const notHttp = /^(HPE_|UND_ERR_HEADERS_OVERFLOW$)/

/**
 * The reason for a failed transport. Unless the cause shows that no connection was made, the
 * upstream may have received the request, so the reason is `ConnectionLost`, or `Timeout` if the
 * connection was silent.
 */
export const reasonOfTransport = (cause: unknown): Reason => {
  for (let at = cause, depth = 0; at !== undefined && depth < 5; depth++) {
    const code = property(at, "code")
    const syscall = property(at, "syscall")
    if (syscall === "connect" || syscall === "getaddrinfo") return new Unavailable({})
    if (typeof code === "string" && (notConnected.has(code) || untrusted.test(code))) return new Unavailable({})
    if (property(at, "name") === "HTTPParserError" || (typeof code === "string" && notHttp.test(code))) {
      return new BadResponse({ description: "not HTTP" })
    }
    if (typeof code === "string" && silent.has(code)) return new Timeout()
    // Node tries all addresses of a host and lists the failures in `errors`.
    at = property(property(at, "errors"), "0") ?? property(at, "cause")
  }
  return new ConnectionLost()
}

/** The failure of a request or of a body that did not arrive. */
export const fromClientError = ({ reason }: HttpClientError.HttpClientError): ProviderError =>
  reason._tag === "InvalidUrlError" || reason._tag === "EncodeError"
    ? new ProviderError({ reason: new Unavailable({}) })
    : new ProviderError({ reason: reasonOfTransport(reason.cause) })
