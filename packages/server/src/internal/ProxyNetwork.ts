/** The addresses of trusted proxies: one address, or a block such as `10.0.0.0/8`. */
import { Option, Result, Schema, SchemaGetter } from "effect"
import { IpNetwork, NetAddress } from "effect/net"

/**
 * The network that a text names. Unlike with `IpNetwork.fromString`, an address alone is a network
 * of one, host bits are allowed (`10.1.2.3/8`), and IPv4 inside IPv6 is IPv4:
 * `::ffff:10.0.0.0/104` is `10.0.0.0/8`.
 */
const fromString = (text: string): Option.Option<IpNetwork.IpNetwork> => {
  const [written = "", length, ...more] = text.split("/")
  const parsed = NetAddress.ipFromString(written)
  if (Result.isFailure(parsed) || more.length > 0) return Option.none()
  const address = parsed.success
  const width = NetAddress.width(address)
  if (length !== undefined && !(/^\d{1,3}$/.test(length) && Number(length) <= width)) return Option.none()
  const prefix = length === undefined ? width : Number(length)
  const canonical = NetAddress.toCanonical(address)
  const isMapped = NetAddress.width(canonical) !== width && prefix >= 96
  return Result.getSuccess(
    isMapped ? IpNetwork.fromAddress(canonical, prefix - 96) : IpNetwork.fromAddress(address, prefix)
  )
}

const everyAddress = (text: string): string =>
  `${text} would let every caller choose its own address: list the addresses of your proxies`

const problemOf = (text: string): string | undefined =>
  Option.match(fromString(text), {
    onNone: () => `${text} is not an address or block of addresses such as 10.0.0.0/8`,
    onSome: ({ prefixLength }) => (prefixLength === 0 ? everyAddress(text) : undefined)
  })

const Network = Schema.IpNetwork.check(
  Schema.makeFilter((network) => (network.prefixLength === 0 ? everyAddress(IpNetwork.format(network)) : undefined))
)

/** A network that does not contain all addresses, from its text. */
export const ProxyNetwork = Schema.String.check(Schema.makeFilter(problemOf)).pipe(
  Schema.decodeTo(Network, {
    decode: SchemaGetter.transform((text: string) => Option.getOrThrow(fromString(text))),
    encode: SchemaGetter.transform(IpNetwork.format)
  })
)
