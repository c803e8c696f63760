/** The URL of a Postgres database. */
import { Redacted, Schema } from "effect"

export const urlAllowed = "a URL such as postgres://user:password@host:5432/database"

/** The URL is a secret, because it has a password. */
export const Url = Schema.Redacted(
  Schema.String.check(
    Schema.makeFilter(
      (text: string) => {
        const url = URL.parse(text)
        return url !== null && /^postgres(?:ql)?:$/.test(url.protocol) && hasHost(url)
      },
      { expected: urlAllowed }
    )
  )
)

const hasHost = (url: URL): boolean => url.hostname !== "" || url.searchParams.has("host")

/** Names the database for people: its name, host and port, without user and password. */
export const nameOf = (url: Redacted.Redacted): string => {
  const { hostname, pathname, port, searchParams } = new URL(Redacted.value(url))
  const database = searchParams.get("dbname") ?? decodeURIComponent(pathname.slice(1))
  const host = searchParams.get("host") ?? hostname
  return `Postgres at ${host}:${searchParams.get("port") ?? (port === "" ? "5432" : port)}/${database}`
}
