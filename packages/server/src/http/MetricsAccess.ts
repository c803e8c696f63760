/**
 * Who may read `/metrics`.
 *
 * It tells of a business's traffic, so whoever merely reaches the port does not get it. With a token set it asks for that token, from everybody. Without one it answers programs on this machine
 * that ask directly, and nobody else: what a proxy passes on may come from anywhere.
 */
import { Forbidden, Unauthorized } from "@model-gateway/core/GatewayError"
import { Option, Redacted, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { NetAddress } from "effect/net"
import { createHash, timingSafeEqual } from "node:crypto"

/** Long enough that nobody guesses it, in the characters that a bearer token may have (RFC 6750). */
export const tokenForm = /^[\w.~+/-]{16,512}={0,2}$/

const missing = new Unauthorized({
  error: { message: "missing authentication header: the metrics are read with the metrics token" }
})

const wrong = new Unauthorized({ error: { message: "invalid metrics token" } })

const notFromHere = new Forbidden({
  error: {
    message:
      "insufficient permissions: without a metrics token, the metrics are for programs on the gateway's machine alone"
  }
})

/** Headers that say that a proxy stands between. */
const passedOn = ["x-forwarded-for", "forwarded", "x-real-ip", "via"]

const isLocal = ({ headers, remoteAddress }: HttpServerRequest.HttpServerRequest): boolean => {
  if (passedOn.some((name) => headers[name] !== undefined)) return false
  const peer = NetAddress.ipFromString(Option.getOrElse(remoteAddress, () => ""))
  return Result.isSuccess(peer) && NetAddress.isLoopback(NetAddress.toCanonical(peer.success))
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** Why a request may not read the metrics; undefined where it may. */
export type MetricsAccess = (request: HttpServerRequest.HttpServerRequest) => Forbidden | Unauthorized | undefined

/** Access by this token; without one, from this machine. Throws where the token is none. */
export const make = (token: Redacted.Redacted | undefined): MetricsAccess => {
  if (token === undefined) return (request) => (isLocal(request) ? undefined : notFromHere)
  if (!tokenForm.test(Redacted.value(token)))
    throw new RangeError("metricsToken: this is no token of 16 to 512 characters")
  const expected = digest(Redacted.value(token))
  return ({ headers }) => {
    const credential = headers["authorization"]
    if (credential === undefined) return missing
    const [, given] = /^bearer +(\S+)$/i.exec(credential) ?? []
    // Digests are of one length, and equal ones are found in the same time as others.
    return given !== undefined && timingSafeEqual(digest(given), expected) ? undefined : wrong
  }
}
