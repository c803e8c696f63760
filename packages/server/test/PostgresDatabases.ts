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

const makeTemplate = Effect.fnUntraced(function* (url: string) {
  const sql = yield* SqlClient
  const unfinished = sql(`${template}_new`)
  // A test that was interrupted may have left it.
  yield* sql`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`
  yield* sql`CREATE DATABASE ${unfinished}`
  yield* at(withDatabase(url, `${template}_new`), Migrations.run)
  yield* sql`ALTER DATABASE ${unfinished} RENAME TO ${sql(template)}`
})

/** Makes the template if no other process of this test run has. */
const prepare = Effect.fnUntraced(function* (url: string) {
  const sql = yield* SqlClient
  // Outside a transaction, the connection would be closed after 5 seconds, and the lock with it.
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SET LOCAL idle_in_transaction_session_timeout = 0`
      yield* sql`SELECT pg_advisory_xact_lock(1)`
      const [found] = yield* sql`SELECT 1 FROM pg_database WHERE datname = ${template}`
      if (found === undefined) yield* at(url, makeTemplate(url))
    })
  )
})

const make = Effect.fnUntraced(function* (url: string, name: string, isEmpty: boolean) {
  const sql = yield* SqlClient
  if (!isEmpty) yield* prepare(url)
  yield* sql`CREATE DATABASE ${sql(name)} TEMPLATE ${sql(isEmpty ? "template0" : template)}`
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
