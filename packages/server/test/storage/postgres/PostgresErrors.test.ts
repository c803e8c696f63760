/** What an operator reads when a real Postgres cannot serve. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { hasPostgres, startPostgres } from "@model-gateway/test-services/Postgres"
import * as PostgresClient from "../../../src/storage/postgres/PostgresClient.ts"
import * as Migrations from "../../../src/storage/sql/Migrations.ts"
import { mapSqlError } from "../../../src/storage/sql/StorageError.ts"

const at = (url: string | URL, maxConnections = 1) =>
  PostgresClient.layer({ url: Redacted.make(String(url)), maxConnections }).pipe(Layer.fresh)

/** Why the database at the URL cannot be opened. */
const unopened = (url: string | URL) => Effect.flip(Effect.scoped(Layer.build(at(url))))

const changed = (url: string, change: (url: URL) => void): URL => {
  const other = new URL(url)
  change(other)
  return other
}

describe.runIf(hasPostgres())("Postgres", () => {
  it.live(
    "says in one sentence why it cannot serve, without the password",
    () =>
      Effect.gen(function* () {
        const postgres = yield* Effect.acquireRelease(
          Effect.promise(() => startPostgres({ auth: "scram-sha-256", settings: { max_connections: 12 } })),
          (postgres) => Effect.promise(() => postgres.remove())
        )
        const { url } = postgres
        const wrong = yield* unopened(changed(url, (other) => (other.password = "wrong-password")))
        expect(wrong).toMatchObject({
          message: "Postgres rejected the user or the password of the database URL.",
          retryable: false
        })
        expect(String(wrong.message)).not.toContain("wrong-password")
        expect(yield* unopened(changed(url, (other) => (other.pathname = "/nowhere")))).toMatchObject({
          message: "Postgres has no database with the name in the database URL.",
          retryable: false
        })

        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* Migrations.run
          yield* sql`INSERT INTO schema_migrations (migration_id, name) VALUES (9000, 'later_needs_9000')`
          const { message } = yield* Effect.flip(Migrations.run)
          expect(message).toMatch(
            /^The database has schema 9000, which versions of Model Gateway can use that know schema 9000\./
          )
          yield* sql`SET default_transaction_read_only = on`
          const write = sql`INSERT INTO milestones (name, reached_at) VALUES ('a', 0)`
          expect(yield* Effect.flip(write.pipe(mapSqlError("test")))).toMatchObject({
            message: "The database is read-only: it may be a standby.",
            retryable: false
          })
        }).pipe(Effect.provide(at(url)))

        yield* Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* Effect.all(
            Array.from({ length: 12 }, () => sql.reserve),
            { concurrency: "unbounded" }
          )
          expect(yield* unopened(url)).toMatchObject({
            message: "Postgres accepts no more connections.",
            retryable: true
          })
        }).pipe(Effect.scoped, Effect.provide(at(url, 12)))

        yield* Effect.promise(() => postgres.stop())
        expect(yield* unopened(url)).toMatchObject({
          message: "Nothing accepts connections at the address of the database URL.",
          retryable: true
        })
      }).pipe(Effect.scoped),
    60_000
  )
})
