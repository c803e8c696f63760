/** The database of an attacked gateway, read beside it. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { startPostgres } from "@model-gateway/test-services/Postgres"

/** The columns of a row. */
export type Row = Readonly<Record<string, unknown>>

/** Runs one statement and returns its rows. */
export type Query = (statement: string) => Promise<ReadonlyArray<Row>>

/** The databases that attacks run on. */
export const stores = ["sqlite", "postgres"] as const

export type Store = (typeof stores)[number]

/** Reads the SQLite database of a data folder. */
export const sqlite =
  (dataDir: string): Query =>
  async (statement) => {
    const database = new DatabaseSync(join(dataDir, "gateway.db"), { readOnly: true, timeout: 10_000 })
    try {
      return database.prepare(statement).all()
    } finally {
      database.close()
    }
  }

/** Reads a database of Postgres, over a connection of its own for each statement. */
export const postgres =
  (url: string): Query =>
  (statement) =>
    Effect.runPromise(
      Effect.gen(function* () {
        const sql = yield* SqlClient
        return yield* sql.unsafe<Record<string, unknown>>(statement)
      }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
    )

/** A server of Postgres, with a database for each attack. */
export interface Server {
  /** Makes an empty database and returns its URL. */
  readonly create: () => Promise<string>
  /** Deletes the database. */
  readonly drop: (url: string) => Promise<void>
  readonly stop: () => Promise<void>
}

export const startServer = async (): Promise<Server> => {
  const server = await startPostgres()
  const run = postgres(server.url)
  let made = 0
  return {
    create: async () => {
      const url = new URL(server.url)
      const name = `attack_${++made}`
      await run(`CREATE DATABASE ${name}`)
      url.pathname = name
      return url.href
    },
    drop: async (url) => {
      await run(`DROP DATABASE IF EXISTS ${new URL(url).pathname.slice(1)} WITH (FORCE)`)
    },
    stop: server.remove
  }
}
