/** A Postgres server of one test, and its rows. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Record, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { onTestFinished } from "vitest"
import { type Postgres, startPostgres } from "@model-gateway/test-services/Postgres"

/** Starts a server with one empty database. It ends with the test. */
export const startServer = async (): Promise<Postgres> => {
  const server = await startPostgres()
  onTestFinished(() => server.remove())
  return server
}

/** The rows of a query. Integers are numbers, as with SQLite. */
export const query =
  (url: string) =>
  async (text: string): Promise<ReadonlyArray<{ readonly [column: string]: unknown }>> => {
    const rows = await Effect.runPromise(
      Effect.flatMap(SqlClient, (sql) => sql.unsafe<{ readonly [column: string]: unknown }>(text)).pipe(
        Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 }))
      )
    )
    return rows.map((row) => Record.map(row, (value) => (typeof value === "bigint" ? Number(value) : value)))
  }
