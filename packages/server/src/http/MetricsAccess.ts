/**
 * Who may read `/metrics`.
 *
 * Metrics reveal a business's traffic, so reaching the port is not enough. If a token is set,
 * everyone needs it. Otherwise only direct requests from this machine are answered, because
 * requests through a proxy may come from anywhere.
 */
import { Forbidden, Unauthorized } from "@model-gateway/core/GatewayError"
import { Option, Redacted, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"
import { createHash, timingSafeEqual } from "node:crypto"

const missing = new Unauthorized({
  error: { message: "missing authentication header: send the metrics token as a bearer token" }
})

const wrong = new Unauthorized({ error: { message: "invalid metrics token" } })

const notFromHere = new Forbidden({
  error: {
    message:
      "insufficient permissions: without a metrics token, /metrics answers only direct requests from the gateway's machine"
  }
})

/** Headers that show that the request came through a proxy. */
const passedOn = ["x-forwarded-for", "forwarded", "x-real-ip", "via"]

const isLocal = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest): boolean => {
  if (passedOn.some((name) => headers[name] !== undefined)) return false
  const peer = NetAddress.ipFromString(Option.getOrElse(remoteAddress, () => ""))
  return Result.isSuccess(peer) && NetAddress.isLoopback(NetAddress.toCanonical(peer.success))
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/**
 * Why a request may not read the metrics. Undefined if it may: it has the token or, if there is
 * none, is from this machine.
 */
export const refusalOf = (
  request: HttpServerRequest.HttpServerRequest,
  token: Redacted.Redacted | undefined
): Forbidden | Unauthorized | undefined => {
  if (token === undefined) return isLocal(request) ? undefined : notFromHere
  const credential = request.headers["authorization"]
  if (credential === undefined) return missing
  const [, given] = /^bearer +(\S+)$/i.exec(credential) ?? []
  // Digests have equal lengths, and the comparison takes constant time.
  return given !== undefined && timingSafeEqual(digest(given), digest(Redacted.value(token))) ? undefined : wrong
}
