/**
 * Which URLs of callers and providers the service sends requests to: `https://` URLs whose host is
 * public.
 *
 * Such a URL must not reach the operator's own network, such as a database, a metadata service
 * or this gateway. A URL that is a valid one may still lead there: its name may resolve to such an
 * address, today or tomorrow. `OutboundHttp` therefore checks the addresses as well, when it
 * connects.
 *
 * Hosts in the setting `outbound-exempt-hosts` are allowed in any case, also over `http://`.
 */
import { Result } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/**
 * Networks that are not public unicast (IANA's special-purpose registries). Of IPv6, only
 * `2000::/3` is allocated for public unicast, so everything else is excluded by {@link ipv6Public}.
 */
const excluded = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  // IETF protocols, among them Teredo, which contains an IPv4 address.
  "2001::/23",
  "2001:db8::/32",
  // 6to4, which contains an IPv4 address.
  "2002::/16",
  "3fff::/20"
].map(IpNetwork.fromStringUnsafe)

const ipv6Public = IpNetwork.fromStringUnsafe("2000::/3")

/**
 * Whether an address is public unicast. IPv4 in IPv6 (`::ffff:10.0.0.1`) counts as the IPv4
 * address. Text that is not an address is not public.
 */
export const isPublicAddress = (text: string): boolean => {
  const parsed = NetAddress.ipFromString(text)
  if (Result.isFailure(parsed)) return false
  const address = NetAddress.toCanonical(parsed.success)
  if (NetAddress.isIpv6Address(address) && !IpNetwork.contains(ipv6Public, address)) return false
  return !excluded.some((network) => IpNetwork.contains(network, address))
}

const maxLength = 2048

/** The host of a URL as it is compared: without brackets and without the root's dot. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "")

/** Whether the operator exempts this host, an address or a name, from the checks. */
export const isExempt = (host: string, exemptHosts: ReadonlyArray<string>): boolean =>
  exemptHosts.includes(host.toLowerCase())

/** Whether a host is an address. */
export const isAddress = (host: string): boolean => Result.isSuccess(NetAddress.ipFromString(host))

/**
 * What is wrong with a URL to connect to, as {@link problemOf} says it. `URL` has one spelling for
 * each address, so `https://0x7f.1` and `https://2130706433` are `127.0.0.1` here.
 */
export const hostProblemOf = (url: URL, exemptHosts: ReadonlyArray<string>): string | undefined => {
  if (url.username !== "" || url.password !== "") return "Expected a URL without user name and password"
  const host = hostOf(url)
  if (isExempt(host, exemptHosts)) return undefined
  if (url.protocol !== "https:") return "Expected an https:// URL"
  return isAddress(host) && !isPublicAddress(host) ? "Expected a host with a public address" : undefined
}

/**
 * What is wrong with a caller's URL, as a phrase that follows the name of its field. Undefined if
 * nothing is.
 */
export const problemOf = (text: string, exemptHosts: ReadonlyArray<string>): string | undefined => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol)) return "Expected an https:// URL"
  if (url.href.length > maxLength) return `Expected a URL of at most ${maxLength} characters`
  return hostProblemOf(url, exemptHosts)
}
