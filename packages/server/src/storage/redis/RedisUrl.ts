/** The URL of a Redis: `redis://user:password@host:6379/0`, or `rediss://` for TLS. */
import * as Setting from "@model-gateway/settings/Setting"
import { Redacted, Schema } from "effect"

/** What a URL says. */
export interface RedisUrl {
  readonly host: string
  readonly port: number
  readonly tls: boolean
  readonly username: string | undefined
  readonly password: string | undefined
  /** The number of the database. */
  readonly database: number
}

/** How the URL is described in errors. */
export const allowed = "a URL such as redis://user:password@host:6379/0, or rediss:// for TLS"

const given = (text: string): string | undefined => (text === "" ? undefined : decodeURIComponent(text))

/** Reads a URL. Undefined if it is not one of a Redis. */
export const parse = (text: string): RedisUrl | undefined => {
  if (!URL.canParse(text)) return undefined
  const { hash, hostname, password, pathname, port, protocol, search, username } = new URL(text)
  if ((protocol !== "redis:" && protocol !== "rediss:") || hostname === "" || hash !== "" || search !== "") {
    return undefined
  }
  if (!/^(?:\/\d{0,6})?$/.test(pathname)) return undefined
  try {
    return {
      // The host of an IPv6 address is without its brackets.
      host: hostname.replace(/^\[(.*)\]$/, "$1"),
      port: port === "" ? 6379 : Number(port),
      tls: protocol === "rediss:",
      username: given(username),
      password: given(password),
      database: Number(pathname.slice(1))
    }
  } catch {
    // A user or a password with a broken escape.
    return undefined
  }
}

/** Host and port, for logs. */
export const addressOf = ({ host, port }: RedisUrl): string => `${host.includes(":") ? `[${host}]` : host}:${port}`

/** The URL as a secret, because it may have a password. */
export const Secret = Schema.Redacted(
  Schema.String.check(Schema.makeFilter((text) => (parse(text) === undefined ? `not ${allowed}` : undefined)))
)

/** A setting with such a URL. Without it, the value is undefined. */
export const setting = (name: string, options: Setting.Options): Setting.Setting<Redacted.Redacted | undefined> =>
  Setting.secret(name, { ...options, schema: Secret, allowed })

/** The parts of a URL. Throws a `RangeError` if it is not one of a Redis. */
export const fromSecret = (url: Redacted.Redacted): RedisUrl => {
  const parsed = parse(Redacted.value(url))
  if (parsed === undefined) throw new RangeError(`redisUrl is not ${allowed}.`)
  return parsed
}
