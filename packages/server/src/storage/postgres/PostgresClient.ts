/**
 * `effect/sql` over a pool of connections to Postgres.
 *
 * The connections are opened when they are needed, and replaced when they are lost: after Postgres
 * was away, requests work again by themselves.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import type { PgConnection } from "@effect/sql-pg/PgConnection"
import * as PgPool from "@effect/sql-pg/PgPool"
import { Context, Effect, identity, Layer, type Redacted } from "effect"
import { layer as layerReactivity, type Reactivity } from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { ConnectionError, SqlError, UnknownError } from "effect/sql/SqlError"
import * as RealClock from "../../internal/RealClock.ts"
import * as Metrics from "../../observability/Metrics.ts"
import type { EventLog } from "../sql/EventLog.ts"
import type { Transactions } from "../sql/Transactions.ts"
import * as Reader from "../sql/Reader.ts"
import { mapSqlError, type StorageError } from "../sql/StorageError.ts"
import * as PostgresConnection from "./postgresConnection.ts"
import * as PostgresEventLog from "./PostgresEventLog.ts"
import * as PostgresProcessLocks from "./PostgresProcessLocks.ts"
import * as PostgresTransactions from "./PostgresTransactions.ts"

/** Location and options of the database. */
export interface Options {
  /** `postgres://user:password@host:port/database`, with the query parameters of libpq. */
  readonly url: Redacted.Redacted
  /** The greatest number of connections. Default: 10. */
  readonly maxConnections?: number | undefined
  /**
   * How long a statement may take, and how long it may wait for a connection, in milliseconds. A
   * statement that Postgres does not answer at all fails 5 seconds later. Default: 5000.
   */
  readonly timeout?: number | undefined
  /** Wraps each connection, so that a test can make its statements fail. Default: as it is. */
  readonly wrap?: ((connection: Connection) => Connection) | undefined
}

const busy = new SqlError({
  reason: new ConnectionError({ cause: new Error("All connections of the pool are in use"), operation: "acquire" })
})

/** Postgres answers `ROLLBACK` to the `COMMIT` of a transaction that has failed. */
const commit = (connection: Connection): Effect.Effect<void, SqlError> =>
  Effect.flatMap(connection.executeRaw("COMMIT", []), (result) =>
    typeof result === "object" && result !== null && "command" in result && result.command === "ROLLBACK"
      ? Effect.fail(rolledBack())
      : Effect.void
  )

const rolledBack = () =>
  new SqlError({
    reason: new UnknownError({ cause: new Error("The transaction was rolled back"), operation: "commit" })
  })

/**
 * Connects to the database and makes the client and the reader. They close with the scope.
 *
 * Fails with a {@link StorageError} with a one-sentence message if the database does not accept a
 * connection.
 */
export const make = Effect.fnUntraced(function* ({
  maxConnections = 10,
  timeout = 5000,
  url,
  wrap = identity
}: Options) {
  const pool = yield* RealClock.provide(
    PgPool.make({
      url,
      maxConnections,
      applicationName: "model-gateway",
      types: PostgresConnection.types,
      keepAlive: "30 seconds",
      // A connection keeps a buffer of the size of the largest row that it has read.
      idleTimeout: "5 seconds",
      // So that the rows that a process has locked become free when its machine hangs.
      startupParameters: { idle_in_transaction_session_timeout: "30s" }
    })
  )
  const adapt = (connection: PgConnection) => wrap(PostgresConnection.make(connection, timeout))
  /** Connections that are used or waited for. */
  let wanted = 0
  const want = Effect.sync(() => {
    wanted++
  })
  const release = Effect.sync(() => {
    wanted--
  })
  const inTime = <R>(acquire: Effect.Effect<PgConnection, SqlError, R>) =>
    Effect.acquireRelease(want, () => release).pipe(
      Effect.andThen(
        Effect.timeoutOrElse(Effect.interruptible(acquire), { duration: timeout, orElse: () => Effect.fail(busy) })
      ),
      RealClock.provide,
      Effect.map(adapt)
    )
  yield* Metrics.observeConnections(maxConnections, () => ({
    inUse: Math.min(wanted, maxConnections),
    waiting: Math.max(0, wanted - maxConnections)
  }))
  const acquirer = inTime(pool.get)
  const client = yield* SqlClient.make({
    acquirer,
    borrower: (use) =>
      Effect.suspend(() =>
        wanted < maxConnections
          ? // Without a timeout and a scope, because a connection is free.
            Effect.acquireUseRelease(
              want,
              () => RealClock.provide(pool.use((connection) => use(adapt(connection)))),
              () => release
            )
          : Effect.scoped(Effect.flatMap(acquirer, use))
      ),
    transactionAcquirer: inTime(pool.reserve),
    compiler: PgClient.makeCompiler(),
    driver: "pg",
    prepareTransactionControls: true,
    commit,
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "postgresql"]]
  })
  yield* client`SELECT 1`
  return { client, reader: Reader.makeSql(client) }
}, mapSqlError("PostgresClient.open"))

/**
 * The Postgres database as a {@link SqlClient.SqlClient}, with transactions ({@link Transactions}),
 * the table of events ({@link EventLog}), and reads beside them ({@link Reader.Reader}), for as
 * long as the layer lives.
 *
 * @example
 * ```ts
 * import { Layer, Redacted } from "effect"
 * import * as Migrations from "../sql/Migrations.ts"
 * import * as PostgresClient from "./PostgresClient.ts"
 *
 * const Storage = Migrations.layer.pipe(
 *   Layer.provideMerge(PostgresClient.layer({ url: Redacted.make("postgres://gateway@localhost/gateway") }))
 * )
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<SqlClient.SqlClient | Transactions | EventLog | Reader.Reader | Reactivity, StorageError> =>
  Layer.mergeAll(PostgresTransactions.layer, PostgresEventLog.layer, PostgresProcessLocks.layer).pipe(
    Layer.provideMerge(
      Layer.effectContext(
        Effect.map(make(options), ({ client, reader }) =>
          Context.make(SqlClient.SqlClient, client).pipe(Context.add(Reader.Reader, reader))
        )
      )
    ),
    Layer.provideMerge(layerReactivity)
  )
