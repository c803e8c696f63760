/**
 * Sign-in by a proxy in front of the gateway, which has authenticated the user and says who it is in
 * a header. Only a proxy of the setting `trusted-proxies` is believed: others could send the header,
 * too.
 */
import { Role } from "@model-gateway/core/Identifiers"
import type { HttpServerRequest } from "effect/http"
import type { IpNetwork } from "effect/net"
import * as ClientAddress from "../http/ClientAddress.ts"

/** The headers of the proxy. */
export interface Options {
  /** The header with the user. */
  readonly userHeader: string
  /** The header with the role. Undefined: all users have `role`. */
  readonly roleHeader?: string | undefined
  readonly role: Role
}

/** Who the proxy says that it is. */
export interface ProxyUser {
  readonly name: string
  /** Undefined: the header has none of the roles. */
  readonly role: Role | undefined
}

/** Reads the user of a request. Undefined: there is none, or it is not from a trusted proxy. */
export const make = (options: Options, trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>) => {
  const userHeader = options.userHeader.toLowerCase()
  const roleHeader = options.roleHeader?.toLowerCase()
  const isFromProxy = ClientAddress.isFromProxy(trustedProxies)
  return (request: HttpServerRequest.HttpServerRequest): ProxyUser | undefined => {
    const name = request.headers[userHeader]?.trim()
    if (name === undefined || name === "" || name.length > 256 || !isFromProxy(request)) return undefined
    const sent = roleHeader === undefined ? options.role : request.headers[roleHeader]?.trim()
    return { name, role: Role.literals.find((role) => role === sent) }
  }
}
