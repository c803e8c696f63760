/** Where the database is: the URL of Postgres, or the file of SQLite in the data folder. */
import type { StorageError } from "@model-gateway/server/StorageError"
import { Effect, Redacted, Schema } from "effect"
import { statSync } from "node:fs"
import { join } from "node:path"
import { Failure } from "./Failure.ts"

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

/** The file of SQLite in the data folder. */
export const fileIn = (dataDir: string): string => join(dataDir, "gateway.db")

/** What says where the database is. */
export interface Location {
  readonly dataDir: string
  readonly databaseUrl: Redacted.Redacted | undefined
}

/** Whether there is a database. Postgres is there, or connecting to it fails. */
export const exists = ({ databaseUrl, dataDir }: Location): boolean =>
  databaseUrl !== undefined || (statSync(fileIn(dataDir), { throwIfNoEntry: false })?.size ?? 0) > 0

/** Fails if there is no database, because to open it would create it. */
export const required = (location: Location): Effect.Effect<void, Failure> =>
  exists(location)
    ? Effect.void
    : Effect.fail(
        new Failure({
          message:
            `There is no database in ${location.dataDir}. ` +
            "Choose its folder with --data-dir, or create it with model-gateway migrate or model-gateway serve."
        })
      )

/** The failure to open the database, which says where it is. */
export const openFailure = ({ databaseUrl, dataDir }: Location, { message }: StorageError): Failure =>
  new Failure({
    message: `${message} The database is ${databaseUrl === undefined ? fileIn(dataDir) : nameOf(databaseUrl)}.`
  })
