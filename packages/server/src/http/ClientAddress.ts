/**
 * Whose address a request comes from: the peer's, or, where the peer is a proxy that is trusted, the one that it says it took the request from.
 *
 * Proxies append the address that they were called from to `X-Forwarded-For`, so the list is read from its right end and only as far as trusted proxies wrote it: everything further left
 * is what the caller made up. `Forwarded` (RFC 7239) is not read: hardly a proxy writes it, and one that does not passes on the caller's own.
 */
import { Option, Result } from "effect"
import type { HttpServerRequest } from "effect/http"
import { IpNetwork, NetAddress } from "effect/net"
import { BlockList, isIP } from "node:net"

/** The address to hold against a caller; `unknown` where the connection has none. */
export type ClientAddress = (request: HttpServerRequest.HttpServerRequest) => string

/**
 * What to count an address by: an IPv4 address by itself, an IPv6 address by its first 64 bits,
 * because one subscriber has all addresses that share them. An IPv4 address that is written as IPv6
 * is counted as IPv4; anything that is no address, by its text.
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

/** More proxies in a row are a loop or an attack: each costs time. */
const mostProxies = 32

interface Network {
  readonly address: string
  readonly family: "ipv4" | "ipv6"
  readonly prefix: number
}

const networkOf = (text: string): Network | undefined => {
  const [written = "", length, ...more] = text.split("/")
  const address = NetAddress.ipFromString(written)
  if (Result.isFailure(address) || more.length > 0) return undefined
  const width = NetAddress.width(address.success)
  if (length !== undefined && !(/^\d{1,3}$/.test(length) && Number(length) <= width)) return undefined
  const prefix = length === undefined ? width : Number(length)
  const canonical = NetAddress.toCanonical(address.success)
  // `::ffff:10.0.0.0/104` is another way to write `10.0.0.0/8`.
  const isMapped = NetAddress.width(canonical) !== width && prefix >= 96
  return {
    address: NetAddress.formatIp(isMapped ? canonical : address.success),
    family: isMapped || width === 32 ? "ipv4" : "ipv6",
    prefix: isMapped ? prefix - 96 : prefix
  }
}

/** What is wrong with an entry of the list of trusted proxies, as a sentence; undefined where nothing is. */
export const problemOf = (proxy: string): string | undefined => {
  const network = networkOf(proxy)
  if (network === undefined) return `${proxy} is not an address or block of addresses such as 10.0.0.0/8`
  return network.prefix === 0
    ? `${proxy} would let every caller choose its own address: list the addresses of your proxies`
    : undefined
}

const peerOf: ClientAddress = ({ remoteAddress }) => Option.getOrElse(remoteAddress, () => "unknown")

/** An address with or without a port, in one form however it was written. */
const addressOf = (entry: string): string | undefined => {
  const bare = entry.startsWith("[") && entry.endsWith("]") ? entry.slice(1, -1) : entry
  const address = NetAddress.ipFromString(bare)
  if (Result.isSuccess(address)) return NetAddress.formatIp(NetAddress.toCanonical(address.success))
  const withPort = NetAddress.inetAddressFromString(entry)
  return Result.isSuccess(withPort) ? NetAddress.formatIp(NetAddress.toCanonical(withPort.success.address)) : undefined
}

/**
 * The caller's address, with these proxies trusted: addresses and CIDR blocks, IPv4 or IPv6. Throws where one of them is none.
 *
 * A peer that is not trusted is the caller, whatever it says. Else it is the right-most address of `X-Forwarded-For` that is no trusted proxy; where all of them are, the left-most;
 * and where an entry is no address, the trusted proxy that wrote it, as nothing further left can be believed.
 */
export const make = (trustedProxies: ReadonlyArray<string>): ClientAddress => {
  if (trustedProxies.length === 0) return peerOf
  const problem = trustedProxies.map(problemOf).find((problem) => problem !== undefined)
  if (problem !== undefined) throw new RangeError(`trustedProxies: ${problem}`)
  const trusted = new BlockList()
  for (const proxy of trustedProxies) {
    const network = networkOf(proxy)
    if (network !== undefined) trusted.addSubnet(network.address, network.prefix, network.family)
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
