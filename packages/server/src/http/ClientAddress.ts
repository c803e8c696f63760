/**
 * The client address of a request: the peer's address or, if the peer is a trusted proxy, the
 * address that it reports.
 *
 * Proxies append the address of their caller to `X-Forwarded-For`. The list is therefore read from
 * its right end, only as far as trusted proxies wrote it; everything further left is the caller's
 * own claim. `Forwarded` (RFC 7239) is not read: hardly any proxy writes it, and most pass the
 * caller's own header on.
 */
import { Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import { BlockList, isIP } from "node:net"

/** The address that limits apply to, or `unknown` if the connection has none. */
export type ClientAddress = (request: HttpServerRequest.HttpServerRequest) => string

/**
 * The key under which an address is counted: an IPv4 address itself, or the first 64 bits of an
 * IPv6 address, because one subscriber has all addresses that share them. An IPv4-mapped IPv6
 * address counts as IPv4. Text that is not an address counts as itself.
 */
export const countedBy = (address: string): string => {
  const [bare = ""] = address.split("%")
  const parsed = NetAddress.ipFromString(bare)
  if (Result.isFailure(parsed)) return address
  const canonical = NetAddress.toCanonical(parsed.success)
  return NetAddress.isIpv4Address(canonical)
    ? NetAddress.formatIp(canonical)
    : IpNetwork.format(IpNetwork.fromAddressUnsafe(canonical, 64))
}

/** More proxies in a row are a loop or an attack, and each one costs time. */
const mostProxies = 32

const peerOf: ClientAddress = ({ remoteAddress }) => Option.getOrElse(remoteAddress, () => "unknown")

/** Normalizes an address with or without a port. */
const addressOf = (entry: string): string | undefined => {
  const bare = entry.startsWith("[") && entry.endsWith("]") ? entry.slice(1, -1) : entry
  const address = NetAddress.ipFromString(bare)
  if (Result.isSuccess(address)) return NetAddress.formatIp(NetAddress.toCanonical(address.success))
  const withPort = NetAddress.inetAddressFromString(entry)
  return Result.isSuccess(withPort) ? NetAddress.formatIp(NetAddress.toCanonical(withPort.success.address)) : undefined
}

/**
 * The client address, with these trusted proxies.
 *
 * An untrusted peer is the client, whatever it sends. Otherwise it is the right-most address of
 * `X-Forwarded-For` that is not a trusted proxy, or the left-most address if all are trusted. If an
 * entry is not an address, it is the trusted proxy that wrote the entry, because nothing further
 * left can be trusted.
 */
export const make = (trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>): ClientAddress => {
  if (trustedProxies.length === 0) return peerOf
  const trusted = new BlockList()
  for (const { address, prefixLength } of trustedProxies) {
    trusted.addSubnet(NetAddress.formatIp(address), prefixLength, NetAddress.isIpv4Address(address) ? "ipv4" : "ipv6")
  }
  const isTrusted = (address: string): boolean => {
    const version = isIP(address)
    return version !== 0 && trusted.check(address, version === 4 ? "ipv4" : "ipv6")
  }

  return (request) => {
    const peer = peerOf(request)
    const list = request.headers["x-forwarded-for"]
    if (list === undefined || !isTrusted(peer)) return peer
    let caller = peer
    let end = list.length
    for (let steps = 0; steps < mostProxies && end > 0; steps++) {
      const comma = list.lastIndexOf(",", end - 1)
      const entry = list.slice(comma + 1, end).trim()
      end = comma
      if (entry === "") continue
      const address = addressOf(entry)
      if (address === undefined) return caller
      caller = address
      if (!isTrusted(address)) return caller
    }
    return caller
  }
}
