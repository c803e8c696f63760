/** Hosts that may be used although they are not public. */
import { Result, Schema } from "effect"
import { Host } from "effect/net"

/** An address or a name, in lower case. */
export const ExemptHost = Schema.String.check(
  Schema.makeFilter((text: string) =>
    text === text.toLowerCase() && Result.isSuccess(Host.hostFromString(text))
      ? undefined
      : `${text} is not a host in lower case, such as collector.internal or 10.0.0.7`
  )
)
