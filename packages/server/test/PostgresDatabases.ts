/** Databases on a Postgres server, most of them copies of one that is migrated. */
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import * as PostgresClient from "../src/storage/postgres/PostgresClient.ts"
import * as Migrations from "../src/storage/sql/Migrations.ts"

const template = "migrated"

const withDatabase = (url: string, name: string): string => {
  const other = new URL(url)
  other.pathname = `/${name}`
  return other.href
}

/**
 * Runs statements on the database at the URL, over one connection. On a busy machine the copy of a
 * database takes longer than the service lets a statement take.
 */
export const at = <A, E>(url: string, effect: Effect.Effect<A, E, SqlClient>) =>
  Effect.provide(effect, PostgresClient.layer({ url: Redacted.make(url), maxConnections: 1, timeout: 60_000 }), {
    local: true
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

/**
 * The URL of a new database on the server at this URL, migrated or without tables. It is deleted
 * when the scope closes.
 */
export const createAt = Effect.fnUntraced(function* (url: string, isEmpty: boolean) {
  const name = `test_${randomUUID().replaceAll("-", "")}`
  yield* Effect.acquireRelease(at(url, make(url, name, isEmpty)), () => Effect.ignore(at(url, drop(name))))
  return withDatabase(url, name)
}, Effect.orDie)
