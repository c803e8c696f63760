/** The database of a run, which outlives the processes of the service. */
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { DatabaseSync } from "node:sqlite"
import { ProcessLocks } from "../../../packages/server/src/storage/sql/ProcessLocks.ts"
import * as PostgresClient from "../../../packages/server/src/storage/postgres/PostgresClient.ts"
import * as SqliteClient from "../../../packages/server/src/storage/sqlite/SqliteClient.ts"
import * as FaultyConnection from "./FaultyConnection.ts"
import * as Relay from "./Relay.ts"
import type { Process, World } from "./World.ts"

/** The storage of a process. */
type Storage = Layer.Layer<
  Layer.Success<ReturnType<typeof SqliteClient.layer>>,
  Layer.Error<ReturnType<typeof SqliteClient.layer>>
>

/** A row as the database returns it. */
export type Row = Readonly<Record<string, unknown>>

/** A database. */
export interface Database {
  /** The storage of a process. */
  readonly connect: (process: Process) => Storage
  /** Closes the connections of a process, as the system does when it dies. */
  readonly disconnect: (name: string) => void
  /** Whether something was committed since the last call. */
  readonly hasChanged: () => boolean
  /** Committed rows, of one moment. */
  readonly read: (queries: ReadonlyArray<string>) => Promise<ReadonlyArray<ReadonlyArray<Row>>>
  readonly close: () => Promise<void>
}

/** SQLite in a file. `changed` is called after each commit, before anything else runs. */
export const sqlite = (
  world: World,
  filename: string,
  changed: (read: (query: string) => ReadonlyArray<Row>) => void
): Database => {
  let reader: DatabaseSync | undefined
  const rows = (query: string): ReadonlyArray<Row> => {
    reader ??= new DatabaseSync(filename, { readOnly: true })
    return reader.prepare(query).all()
  }
  const connections = new Map<string, Array<Connection>>()
  const keep = ({ name }: Process, connection: Connection): Connection => {
    connections.set(name, [...(connections.get(name) ?? []), connection])
    return connection
  }
  /** The process that has acquired each lock, by its name. */
  const lockedBy = new Map<string, string>()
  const locks = ({ name }: Process) =>
    Layer.succeed(ProcessLocks, {
      grace: 0,
      acquire: (id) =>
        Effect.acquireRelease(
          Effect.sync(() => lockedBy.set(id, name)),
          () => Effect.sync(() => lockedBy.delete(id))
        ),
      released: (ids) => Effect.sync(() => new Set(ids.filter((id) => !lockedBy.has(id)))),
      removeExcept: () => Effect.void
    })
  return {
    connect: (process) => {
      const { wrap, wrapLocal } = FaultyConnection.make(world, process, "sqlite", (statements) => {
        if (statements.some((text) => /budgets|workspaces|reservations|_ledger|video_jobs/.test(text))) changed(rows)
      })
      return Layer.merge(
        SqliteClient.layer({ filename, wrap: (connection) => wrap(keep(process, connection)), wrapLocal }),
        locks(process)
      )
    },
    // The system closes a dead process's files, and so ends its transaction and releases its locks.
    disconnect: (name) => {
      for (const connection of connections.get(name) ?? []) {
        Effect.runSync(Effect.ignore(connection.executeUnprepared("ROLLBACK", [], undefined)))
      }
      for (const [id, owner] of lockedBy) if (owner === name) lockedBy.delete(id)
    },
    // Each commit was checked at once.
    hasChanged: () => false,
    read: async (queries) => queries.map(rows),
    close: async () => reader?.close()
  }
}

/** Postgres at this URL. Its connections are real, so the order of answers is not determined. */
export const postgres = async (world: World, url: string): Promise<Database> => {
  const scope = Scope.makeUnsafe()
  const client = await Effect.runPromise(
    Effect.map(
      Layer.buildWithScope(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 2 }), scope),
      Context.get(SqlClient)
    )
  )
  const relays = new Map<string, Relay.Relay>()
  const { hostname: host, port } = new URL(url)
  let changed = false
  return {
    connect: (process) =>
      Layer.unwrap(
        Effect.promise(async () => {
          const done = world.simulation.external()
          const relay = await Relay.open(world.simulation, { host, port: Number(port) })
          done()
          if (process.isAlive()) relays.set(process.name, relay)
          else relay.cut()
          const through = new URL(url)
          through.port = String(relay.port)
          return PostgresClient.layer({
            url: Redacted.make(through.href),
            wrap: FaultyConnection.make(world, process, "postgres", () => {
              changed = true
            }).wrap
          })
        })
      ),
    disconnect: (name) => relays.get(name)?.cut(),
    hasChanged: () => {
      const was = changed
      changed = false
      return was
    },
    read: (queries) =>
      Effect.runPromise(
        client.withTransaction(
          Effect.andThen(
            client`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`,
            Effect.forEach(queries, (query) => client.unsafe<Row>(query))
          )
        )
      ),
    close: async () => {
      for (const relay of relays.values()) relay.cut()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}
