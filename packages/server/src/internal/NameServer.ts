/** Addresses of name servers, as Node's resolver takes them. */
import { Result, Schema } from "effect"
import { NetAddress } from "effect/net"

const isAddress = (text: string): boolean => Result.isSuccess(NetAddress.ipFromString(text))

const isNameServer = (text: string): boolean => {
  if (isAddress(text)) return true
  const [, ipv6, ipv4, port = "53"] = /^(?:\[([\da-f:.]+)\]|([\d.]+))(?::(\d{1,5}))?$/i.exec(text) ?? []
  return isAddress(ipv6 ?? ipv4 ?? "") && Number(port) >= 1 && Number(port) <= 65_535
}

/** An address, with or without a port. */
export const NameServer = Schema.String.check(
  Schema.makeFilter((text: string) =>
    isNameServer(text) ? undefined : `${text} is not the address of a name server, such as 10.0.0.53 or [::1]:5353`
  )
)
