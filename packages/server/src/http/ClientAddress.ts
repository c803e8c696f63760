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

/** The address that limits apply to, or `unknown` if the connection has none. */
export type ClientAddress = (request: HttpServerRequest.HttpServerRequest) => string

/** The address of a peer, without the zone of a link-local one (`fe80::1%eth0`). */
const parse = (text: string): Option.Option<NetAddress.IpAddress> =>
  Option.map(Result.getSuccess(NetAddress.ipFromString(text.replace(/%.*$/, ""))), (address) =>
    NetAddress.toCanonical(address)
  )

/**
 * The key under which an address is counted: an IPv4 address itself, or the first 64 bits of an
 * IPv6 address, because one subscriber has all addresses that share them. An IPv4-mapped IPv6
 * address counts as IPv4. Text that is not an address counts as itself.
 */
export const countedBy = (text: string): string =>
  Option.match(parse(text), {
    onNone: () => text,
    onSome: (address) =>
      NetAddress.isIpv4Address(address)
        ? NetAddress.formatIp(address)
        : IpNetwork.format(IpNetwork.fromAddressUnsafe(address, 64))
  })

const isIn =
  (networks: ReadonlyArray<IpNetwork.IpNetwork>) =>
  (address: NetAddress.IpAddress): boolean =>
    networks.some((network) => IpNetwork.contains(network, address))

/** More proxies in a row are a loop or an attack, and each one costs time. */
const maxProxies = 32

const peerOf: ClientAddress = ({ remoteAddress }) => Option.getOrElse(remoteAddress, () => "unknown")

/** The address of an entry of the list, with or without a port. */
const parseEntry = (entry: string): Option.Option<NetAddress.IpAddress> => {
  const bare = entry.startsWith("[") && entry.endsWith("]") ? entry.slice(1, -1) : entry
  const address = Result.orElse(NetAddress.ipFromString(bare), () =>
    Result.map(NetAddress.inetAddressFromString(entry), ({ address }) => address)
  )
  return Option.map(Result.getSuccess(address), (address) => NetAddress.toCanonical(address))
}

/** Whether the peer of a request is one of these proxies. */
export const isFromProxy = (trustedProxies: ReadonlyArray<IpNetwork.IpNetwork>) => {
  const isTrusted = isIn(trustedProxies)
  return (request: HttpServerRequest.HttpServerRequest): boolean => Option.exists(parse(peerOf(request)), isTrusted)
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
  const isTrusted = isIn(trustedProxies)

  return (request) => {
    const peer = peerOf(request)
    const list = request.headers["x-forwarded-for"]
    if (list === undefined || !Option.exists(parse(peer), isTrusted)) return peer
    let caller = peer
    let end = list.length
    for (let steps = 0; steps < maxProxies && end > 0; steps++) {
      const comma = list.lastIndexOf(",", end - 1)
      const entry = list.slice(comma + 1, end).trim()
      end = comma
      if (entry === "") continue
      const address = parseEntry(entry)
      if (Option.isNone(address)) return caller
      caller = NetAddress.formatIp(address.value)
      if (!isTrusted(address.value)) return caller
    }
    return caller
  }
}
