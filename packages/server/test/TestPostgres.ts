/** Databases for tests on the Postgres of this test run, each a copy of one that is migrated. */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { inject } from "vitest"
import * as PostgresClient from "../src/storage/postgres/PostgresClient.ts"
import * as Migrations from "../src/storage/sql/Migrations.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Where to ask for the URL of this run's Postgres; see scripts/postgresSetup.mjs. */
    readonly postgres: string | undefined
  }
}

const template = "migrated"

const provided = inject("postgres")

/** Whether this platform has a Postgres to test with. */
export const isInstalled = provided !== undefined

const withDatabase = (url: string, name: string): string => {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/** Runs statements on the database at the URL, over one connection. */
export const at = <A, E>(url: string, effect: Effect.Effect<A, E, SqlClient>) =>
  Effect.provide(effect, PostgresClient.layer({ url: Redacted.make(url), maxConnections: 1 }), { local: true })

/** The database of this run's Postgres that always exists. */
const admin = Effect.suspend(() => {
  return provided === undefined
    ? Effect.die(new Error("Postgres is not installed"))
    : Effect.promise(async () => {
        const response = await fetch(provided)
        const url = await response.text()
        if (!response.ok) throw new Error(url)
        return url
      })
})

/** Makes the template if no other process of this test run has. */
const prepare = Effect.fnUntraced(function* (url: string) {
  const sql = yield* SqlClient
  yield* sql`SELECT pg_advisory_lock(1)`
  const [found] = yield* sql`SELECT 1 FROM pg_database WHERE datname = ${template}`
  if (found === undefined) {
    yield* sql`CREATE DATABASE ${sql(`${template}_new`)}`
    yield* at(withDatabase(url, `${template}_new`), Migrations.run)
    yield* sql`ALTER DATABASE ${sql(`${template}_new`)} RENAME TO ${sql(template)}`
  }
  yield* sql`SELECT pg_advisory_unlock(1)`
})

const make = Effect.fnUntraced(function* (url: string, name: string, isEmpty: boolean) {
  const sql = yield* SqlClient
  if (!isEmpty) yield* prepare(url)
  yield* sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(isEmpty ? "template0" : template)} STRATEGY FILE_COPY`
})

const drop = Effect.fnUntraced(function* (name: string) {
  const sql = yield* SqlClient
  yield* sql`DROP DATABASE ${sql(name)} WITH (FORCE)`
})

const created = (isEmpty: boolean) =>
  Effect.gen(function* () {
    const url = yield* admin
    const name = `test_${randomUUID().replaceAll("-", "")}`
    yield* Effect.acquireRelease(at(url, make(url, name, isEmpty)), () => Effect.ignore(at(url, drop(name))))
    return withDatabase(url, name)
  }).pipe(Effect.orDie)

/** The URL of a new migrated database, which is deleted when the scope closes. */
export const create = created(false)

/** Like {@link create}, without tables. */
export const createEmpty = created(true)
