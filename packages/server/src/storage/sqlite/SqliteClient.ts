/**
 * `effect/sql` over `node:sqlite`: one connection for writes, used by one fiber at a time, and one
 * for reads.
 *
 * SQLite has one writer. In WAL mode readers never wait for it: a `SELECT` outside a transaction
 * runs immediately on the read connection and sees the last commit. Everything else runs on the
 * write connection, one at a time. Other processes may write to the same file. Every transaction
 * starts as a writer (`BEGIN IMMEDIATE`), so that it waits for their lock at its first statement
 * and never fails later because of a stale snapshot. Waiting never blocks the process; see
 * `sqliteConnection.ts`.
 */
import * as ErrorCode from "@model-gateway/core/unstable/ErrorCode"
import { Context, Effect, identity, Layer, type Scope, Semaphore, Stream } from "effect"
import { layer as layerReactivity, type Reactivity } from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import { makeCompilerSqlite } from "effect/sql/Statement"
import { accessSync, constants, existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync } from "node:sqlite"
import * as SqliteConnection from "./sqliteConnection.ts"
import * as SqliteEventLog from "./SqliteEventLog.ts"
import type { EventLog } from "../sql/EventLog.ts"
import { Transactions } from "../sql/Transactions.ts"
import * as Reader from "../sql/Reader.ts"
import { StorageError } from "../sql/StorageError.ts"
import * as SqliteTransactions from "./SqliteTransactions.ts"
import { describe, isLocked } from "./sqliteErrors.ts"

/** Location and options of the database. */
export interface Options {
  /**
   * Path of the database file. Its folder is created if missing. `:memory:` keeps the database in
   * memory.
   */
  readonly filename: string
  /**
   * How long a write waits while another process holds the lock, in milliseconds, before it fails.
   * Reads do not wait. Default: 5000.
   */
  readonly busyTimeout?: number | undefined
  /** The number of prepared statements cached per connection. Default: 500. */
  readonly preparedStatements?: number | undefined
  /** Wraps each connection, so that a test can make its statements fail. Default: as it is. */
  readonly wrap?: ((connection: Connection) => Connection) | undefined
  /** The same for synchronous statements. Runs the statement of this text. */
  readonly wrapLocal?: (<A>(text: string, statement: () => A) => A) | undefined
}

const cannotOpen = (filename: string, why: string, cause: unknown) =>
  new StorageError({
    operation: "SqliteClient.open",
    message: `The database ${filename} cannot be opened: ${why}.`,
    retryable: false,
    cause
  })

const folderProblem = (cause: unknown): string => {
  switch (ErrorCode.of(cause)) {
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return "its folder is not writable"
    case "ENOTDIR":
    case "EEXIST":
      return "its folder is a file"
    case "ENOSPC":
      return "the disk is full"
    default:
      return "its folder cannot be created"
  }
}

const prepareFolder = Effect.fnUntraced(function* (filename: string) {
  const folder = dirname(filename)
  yield* Effect.try({
    try: () => {
      mkdirSync(folder, { recursive: true })
      accessSync(folder, constants.W_OK | constants.X_OK)
    },
    catch: (cause) => cannotOpen(filename, folderProblem(cause), cause)
  })
  if (!existsSync(filename)) return
  yield* Effect.try({
    try: () => accessSync(filename, constants.R_OK | constants.W_OK),
    catch: (cause) => cannotOpen(filename, "the file is not writable", cause)
  })
})

/**
 * WAL with `synchronous = NORMAL` loses nothing when a process dies. A power failure may lose the
 * last commits, but never the database. A log of 16 MiB before a checkpoint (SQLite's default: 4
 * MiB) writes pages that change with every request to the database less often. The cache has 4 MiB.
 * A commit looks through all of it whenever an index has split a page, as idempotency keys make it
 * do: with 16 MiB the statements of such keys take 10 % more CPU.
 */
const settings = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -4096; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 4000`

const readerSettings = "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY"

const openFile = (
  filename: string,
  options: { readonly readOnly: boolean; readonly settings: string },
  end: bigint
) => {
  const failed = (cause: unknown) =>
    cannotOpen(filename, lowerFirst(describe(cause)) ?? "the file cannot be opened", cause)
  const configure = (db: DatabaseSync, tried: number): Effect.Effect<void, StorageError> =>
    Effect.suspend(() => {
      try {
        db.exec(options.settings)
        return Effect.void
      } catch (cause) {
        return isLocked(cause) && SqliteConnection.now() < end
          ? Effect.andThen(SqliteConnection.pause(tried), configure(db, tried + 1))
          : Effect.fail(failed(cause))
      }
    })
  return Effect.acquireRelease(
    Effect.try({
      // A timeout of 0: SQLite must not wait inside a statement.
      try: () =>
        new DatabaseSync(filename, { timeout: 0, readOnly: options.readOnly, enableForeignKeyConstraints: true }),
      catch: failed
    }),
    (db) => Effect.sync(() => db.close())
  ).pipe(Effect.tap((db) => configure(db, 0)))
}

/** The two connections. An in-memory database has only the writer. */
interface Databases {
  readonly writer: DatabaseSync
  readonly reader: DatabaseSync | undefined
}

const open = Effect.fnUntraced(function* (
  filename: string,
  busyTimeout: bigint
): Effect.fn.Return<Databases, StorageError, Scope.Scope> {
  const end = SqliteConnection.now() + busyTimeout
  if (filename === ":memory:") {
    return { writer: yield* openFile(filename, { readOnly: false, settings }, end), reader: undefined }
  }
  yield* prepareFolder(filename)
  const writer = yield* openFile(filename, { readOnly: false, settings }, end)
  return { writer, reader: yield* openFile(filename, { readOnly: true, settings: readerSettings }, end) }
})

const lowerFirst = (sentence: string | undefined): string | undefined =>
  sentence === undefined ? undefined : sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "")

const isRead = (text: string): boolean => /^\s*SELECT\b/i.test(text)

/** Runs `use` on the writer when no one else uses it. */
type Lend = <A>(use: (connection: Connection) => Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>

/**
 * Runs statements outside a transaction: reads on the reader, everything else in turn on the
 * writer.
 */
const makeShared = (reader: Connection | undefined, lend: Lend): Connection => {
  const on = <A>(text: string, use: (connection: Connection) => Effect.Effect<A, SqlError>) =>
    reader !== undefined && isRead(text) ? use(reader) : lend(use)
  const execute: Connection["execute"] = (text, params, transformRows) =>
    on(text, (connection) => connection.execute(text, params, transformRows))
  return {
    execute,
    executeRaw: (text, params) => on(text, (connection) => connection.executeRaw(text, params)),
    executeStream: (text, params, transformRows) =>
      Stream.unwrap(Effect.map(execute(text, params, transformRows), (all) => Stream.fromIterable(all))),
    executeValues: (text, params) => on(text, (connection) => connection.executeValues(text, params)),
    executeValuesUnprepared: (text, params) =>
      on(text, (connection) => connection.executeValuesUnprepared(text, params)),
    executeUnprepared: (text, params, transformRows) =>
      on(text, (connection) => connection.executeUnprepared(text, params, transformRows))
  }
}

/**
 * Opens the database and makes the client, its transactions and the reader. All close with the
 * scope.
 *
 * Fails with a {@link StorageError} with a one-sentence message if the folder is not writable, the
 * file is not a database, another process keeps it locked, or the disk is full.
 */
export const make = Effect.fnUntraced(function* (options: Options) {
  const { busyTimeout = 5000, filename, preparedStatements = 500, wrap = identity, wrapLocal } = options
  const patience = BigInt(Math.round(busyTimeout)) * 1_000_000n
  const { reader, writer } = yield* open(filename, patience)
  const reading =
    reader &&
    wrap(SqliteConnection.make(reader, { preparedStatements, deadline: () => SqliteConnection.now() + patience }))

  // Set by the current user of the writer. Time in the queue counts, so that no one waits longer
  // than the timeout.
  let deadline = 0n
  const writing = wrap(SqliteConnection.make(writer, { preparedStatements, deadline: () => deadline }))
  const { borrower, onCommitFailure, transactionAcquirer } = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(writing),
    semaphore: yield* Semaphore.make(1),
    isTransaction: () => writer.isTransaction
  })
  const lend: Lend = (use) =>
    Effect.suspend(() => {
      const end = SqliteConnection.now() + patience
      return borrower((connection) => {
        deadline = end
        return use(connection)
      })
    })
  const shared = makeShared(reading, lend)

  const client = yield* SqlClient.make({
    acquirer: Effect.succeed(shared),
    borrower: (use) => use(shared),
    transactionAcquirer: Effect.suspend(() => {
      const end = SqliteConnection.now() + patience
      return Effect.map(transactionAcquirer, (connection) => {
        deadline = end
        return connection
      })
    }),
    onCommitFailure,
    isTransaction: () => writer.isTransaction,
    compiler: makeCompilerSqlite(),
    driver: "node-sqlite",
    prepareTransactionControls: true,
    beginTransaction: "BEGIN IMMEDIATE",
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "sqlite"]]
  })
  /** Runs it in turn with the others that use the writer. */
  const inTurn = <A>(use: () => A) =>
    lend((connection) =>
      SqliteConnection.whenUnlocked(writer, () => deadline, use).pipe(
        Effect.onError(() => Effect.ignore(onCommitFailure(connection)))
      )
    )
  const around = wrapLocal ?? ((_, statement) => statement())
  /**
   * Fails, after it has rolled back the transaction that the error left open. At once, because
   * nobody has the connection: another fiber could begin a transaction in it otherwise.
   */
  const failed = (error: SqlError) => {
    if (writer.isTransaction) {
      try {
        around("ROLLBACK", () => writer.exec("ROLLBACK"))
      } catch {
        return lend((connection) => Effect.andThen(Effect.ignore(onCommitFailure(connection)), Effect.fail(error)))
      }
    }
    return Effect.fail(error)
  }
  const transactions = yield* SqliteTransactions.make(client, {
    database: writer,
    // It is synchronous, so it need not wait for its turn unless a transaction is open.
    exclusively: (use) =>
      Effect.suspend(() =>
        writer.isTransaction
          ? Effect.uninterruptible(inTurn(use))
          : SqliteConnection.attempt(writer, use, (error, isLock) =>
              Effect.uninterruptible(isLock ? Effect.andThen(SqliteConnection.pause(0), inTurn(use)) : failed(error))
            )
      ),
    around
  })
  return Context.make(SqlClient.SqlClient, client).pipe(
    Context.add(Transactions, transactions),
    Context.add(Reader.Reader, reading === undefined ? Reader.makeSql(client) : Reader.make(reading))
  )
})

/**
 * The SQLite database as a {@link SqlClient.SqlClient}, with small transactions
 * ({@link Transactions}) and reads beside them ({@link Reader.Reader}), for as long as the layer
 * lives.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import * as Migrations from "../sql/Migrations.ts"
 * import * as SqliteClient from "./SqliteClient.ts"
 *
 * const Storage = Migrations.layer.pipe(Layer.provideMerge(SqliteClient.layer({ filename:
 * ".data/gateway.db" })))
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<SqlClient.SqlClient | Transactions | EventLog | Reader.Reader | Reactivity, StorageError> =>
  SqliteEventLog.layer.pipe(Layer.provideMerge(Layer.effectContext(make(options))), Layer.provideMerge(layerReactivity))
