/**
 * `effect/sql` over Node's own SQLite: one connection, lent to one fiber at a time.
 *
 * SQLite has one writer, and `node:sqlite` is synchronous, so more connections in one process would only wait for each other.
 * Other processes may write to the same file: every transaction begins as a writer (`BEGIN IMMEDIATE`), so that it waits
 * its turn at its first statement and never fails half-way for a stale snapshot.
 */
import { Context, Effect, Layer, Schedule, Semaphore, Stream } from "effect"
import { layer as layerReactivity, type Reactivity } from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection, Row } from "effect/sql/SqlConnection"
import { classifySqliteError, SqlError } from "effect/sql/SqlError"
import { makeCompilerSqlite } from "effect/sql/Statement"
import { accessSync, constants, existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"
import * as GroupCommit from "./GroupCommit.ts"
import * as LruMap from "./LruMap.ts"
import * as Reader from "./Reader.ts"
import { describe, StorageError } from "./StorageError.ts"

/** Where and how the database is opened. */
export interface Options {
  /** Path of the database file; its folder is made when missing. `:memory:` keeps it in memory. */
  readonly filename: string
  /** How long a statement waits for another process's lock, in milliseconds. Default 5000. */
  readonly busyTimeout?: number | undefined
  /** How many prepared statements are kept. Default 500. */
  readonly preparedStatements?: number | undefined
}

/** Columns that `node:sqlite` cannot bind as they are (booleans, undefined) are a mistake of the caller and are refused by it. */
const isInput = (value: unknown): value is SQLInputValue =>
  value === null ||
  typeof value === "number" ||
  typeof value === "bigint" ||
  typeof value === "string" ||
  ArrayBuffer.isView(value)

interface Prepared {
  readonly statement: StatementSync
  readonly returnsRows: boolean
  readsBigInts: boolean
}

const sqlError = (cause: unknown, message: string, operation: string): SqlError => {
  // The classifier reads `errno`; node:sqlite calls the same number `errcode`.
  if (typeof cause === "object" && cause !== null && "errcode" in cause && !("errno" in cause)) {
    Object.assign(cause, { errno: cause.errcode })
  }
  return new SqlError({ reason: classifySqliteError(cause, { message, operation }) })
}

const makeConnection = (db: DatabaseSync, capacity: number, used: () => void): Connection => {
  const prepared = LruMap.make<string, Prepared>(capacity)

  const prepare = (text: string, keep: boolean): Prepared => {
    const known = prepared.get(text)
    if (known !== undefined) return known
    const statement = db.prepare(text)
    const made: Prepared = { statement, returnsRows: statement.columns().length > 0, readsBigInts: false }
    if (keep) prepared.set(text, made)
    return made
  }

  const use = <A>(
    text: string,
    params: ReadonlyArray<unknown>,
    keep: boolean,
    read: (prepared: Prepared, values: ReadonlyArray<SQLInputValue>) => A
  ): Effect.Effect<A, SqlError> =>
    Effect.withFiber((fiber) => {
      try {
        const made = prepare(text, keep)
        const bigInts = fiber.getRef(SqlClient.SafeIntegers)
        if (bigInts !== made.readsBigInts) {
          made.statement.setReadBigInts(bigInts)
          made.readsBigInts = bigInts
        }
        if (!params.every(isInput)) throw new TypeError("A parameter is of a type that SQLite cannot hold")
        return Effect.succeed(read(made, params))
      } catch (cause) {
        return Effect.fail(sqlError(cause, "Failed to execute statement", "execute"))
      } finally {
        used()
      }
    })

  const rows = ({ returnsRows, statement }: Prepared, values: ReadonlyArray<SQLInputValue>): ReadonlyArray<object> => {
    if (returnsRows) return statement.all(...values)
    statement.run(...values)
    return []
  }

  const arrays = ({ returnsRows, statement }: Prepared, values: ReadonlyArray<SQLInputValue>) => {
    if (!returnsRows) {
      statement.run(...values)
      return []
    }
    statement.setReturnArrays(true)
    try {
      // With arrays on, `all` answers arrays; its declared type knows only of records.
      return statement.all(...values).map((row): ReadonlyArray<unknown> => Object.values(row))
    } finally {
      statement.setReturnArrays(false)
    }
  }

  const execute: Connection["execute"] = (text, params, transformRows) => {
    const result = use(text, params, true, rows)
    return transformRows === undefined ? result : Effect.map(result, transformRows)
  }

  return {
    execute,
    executeRaw: (text, params) =>
      use(text, params, true, ({ returnsRows, statement }, values) =>
        returnsRows ? statement.all(...values) : statement.run(...values)
      ),
    executeStream: (text, params, transformRows) =>
      Stream.unwrap(Effect.map(execute(text, params, transformRows), (all) => Stream.fromIterable(all))),
    executeValues: (text, params) => use(text, params, true, arrays),
    executeValuesUnprepared: (text, params) => use(text, params, false, arrays),
    executeUnprepared: (text, params, transformRows) => {
      const result = use(text, params, false, rows)
      return transformRows === undefined ? result : Effect.map(result, transformRows)
    }
  }
}

const unopened = (filename: string, why: string, cause: unknown) =>
  new StorageError({
    operation: "SqliteClient.open",
    message: `The database ${filename} cannot be opened: ${why}.`,
    retryable: false,
    cause
  })

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string" ? cause.code : ""

const folderProblem = (cause: unknown): string => {
  switch (codeOf(cause)) {
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
      return "its folder cannot be made"
  }
}

const prepareFolder = Effect.fnUntraced(function* (filename: string) {
  const folder = dirname(filename)
  yield* Effect.try({
    try: () => {
      mkdirSync(folder, { recursive: true })
      accessSync(folder, constants.W_OK | constants.X_OK)
    },
    catch: (cause) => unopened(filename, folderProblem(cause), cause)
  })
  if (!existsSync(filename)) return
  yield* Effect.try({
    try: () => accessSync(filename, constants.R_OK | constants.W_OK),
    catch: (cause) => unopened(filename, "the file is not writable", cause)
  })
})

/**
 * A commit writes whole pages to the log, and rows here are small: pages of 2 KiB halve what a small transaction writes. WAL with `synchronous = NORMAL` loses nothing when a process dies; a
 * power cut may lose the last commits, never the database.
 */
const settings = `PRAGMA page_size = 2048; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY`

const isLocked = (cause: unknown): boolean => describe(cause) === "The database is locked by another process."

const open = Effect.fnUntraced(function* (options: Options) {
  const { filename } = options
  const busyTimeout = options.busyTimeout ?? 5000
  if (filename !== ":memory:") yield* prepareFolder(filename)
  const db = yield* Effect.acquireRelease(
    Effect.try({
      try: () => new DatabaseSync(filename, { timeout: busyTimeout, enableForeignKeyConstraints: true }),
      catch: (cause) => unopened(filename, lowerFirst(describe(cause)) ?? "the file cannot be opened", cause)
    }),
    (db) => Effect.sync(() => db.close())
  )
  yield* Effect.try({ try: () => db.exec(settings), catch: (cause) => cause }).pipe(
    // Switching to WAL gives up at once when another process is switching too, whatever the busy timeout.
    Effect.retry({ schedule: Schedule.spaced("20 millis"), times: 100, while: isLocked }),
    Effect.mapError((cause) => unopened(filename, lowerFirst(describe(cause)) ?? "it does not answer", cause))
  )
  return db
})

const lowerFirst = (sentence: string | undefined): string | undefined =>
  sentence === undefined ? undefined : sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "")

/**
 * Opens the database and makes the client. The connection closes with the scope. `used` is called after each statement.
 *
 * Fails with a {@link StorageError} whose message is one plain sentence when the folder is not writable, the file is no
 * database, or the disk is full.
 */
export const make = Effect.fnUntraced(function* (options: Options, used: () => void = () => {}) {
  const db = yield* open(options)
  const connection = makeConnection(db, options.preparedStatements ?? 500, used)
  const semaphore = yield* Semaphore.make(1)
  const acquirers = SqlClient.makeSqliteAcquirers({
    connection: Effect.succeed(connection),
    semaphore,
    isTransaction: () => db.isTransaction
  })
  return yield* SqlClient.make({
    ...acquirers,
    compiler: makeCompilerSqlite(),
    driver: "node-sqlite",
    prepareTransactionControls: true,
    beginTransaction: "BEGIN IMMEDIATE",
    releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`,
    spanAttributes: [["db.system.name", "sqlite"]]
  })
})

/** Answers kept of each statement that is read. */
const rememberedReads = 1000

/**
 * Which commit is the last, as far as one has to know. To ask costs a lock of the file, so it is asked at most once in a turn of the event loop, and again after each statement of this process's own:
 * what another process commits is seen with the next turn.
 */
const makeLastCommit = () => {
  let known: unknown
  let isKnown = false
  const forget = () => {
    isKnown = false
  }
  return {
    forget,
    /** A value that is another one after a commit of another connection, of this process or of another. */
    version: (statement: StatementSync): unknown => {
      if (isKnown) return known
      known = statement.get()?.["data_version"]
      isKnown = true
      setImmediate(forget)
      return known
    }
  }
}

type LastCommit = ReturnType<typeof makeLastCommit>

/** Reads over a connection of their own; the file is there, as the client has opened it. What was read since the last commit is not read again. */
const makeReader = ({ busyTimeout, filename }: Options, lastCommit: LastCommit) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.try({
        try: () => new DatabaseSync(filename, { timeout: busyTimeout ?? 5000, readOnly: true }),
        catch: (cause) => unopened(filename, lowerFirst(describe(cause)) ?? "it does not answer", cause)
      }),
      (db) => Effect.sync(() => db.close())
    ),
    (db) => {
      let dataVersion: StatementSync | undefined
      return Reader.Reader.of({
        prepare: (text) => {
          // Prepared with the first use: the tables may not be there before.
          let statement: StatementSync | undefined
          const answers = LruMap.make<string, ReadonlyArray<Row>>(rememberedReads)
          let version: unknown
          return (...params) =>
            Effect.suspend(() => {
              try {
                const now = lastCommit.version((dataVersion ??= db.prepare("PRAGMA data_version")))
                if (now !== version) {
                  answers.clear()
                  version = now
                }
                const question = JSON.stringify(params)
                const known = answers.get(question)
                if (known !== undefined) return Effect.succeed(known)
                statement ??= db.prepare(text)
                const rows = statement.all(...params)
                answers.set(question, rows)
                return Effect.succeed(rows)
              } catch (cause) {
                return Effect.fail(sqlError(cause, "Failed to read", "read"))
              }
            })
        }
      })
    }
  )

const layerReader = (
  options: Options,
  lastCommit: LastCommit
): Layer.Layer<Reader.Reader, StorageError, SqlClient.SqlClient> =>
  options.filename === ":memory:"
    ? Reader.layerSql
    : // After the client, which makes the file.
      Layer.effect(Reader.Reader, Effect.andThen(SqlClient.SqlClient, makeReader(options, lastCommit)))

/**
 * The SQLite database as a {@link SqlClient.SqlClient}, with commits shared ({@link GroupCommit.GroupCommit}) and reads beside them ({@link Reader.Reader}), for as long as the layer lives.
 *
 * @example
 * ```ts
 * import { Layer } from "effect"
 * import * as Migrations from "@model-gateway/server/storage/Migrations"
 * import * as SqliteClient from "@model-gateway/server/storage/SqliteClient"
 *
 * const Storage = Migrations.layer.pipe(Layer.provideMerge(SqliteClient.layer({ filename: ".data/gateway.db" })))
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<SqlClient.SqlClient | GroupCommit.GroupCommit | Reader.Reader | Reactivity, StorageError> =>
  Layer.suspend(() => {
    const lastCommit = makeLastCommit()
    return Layer.merge(GroupCommit.layer, layerReader(options, lastCommit)).pipe(
      Layer.provideMerge(
        Layer.effectContext(
          Effect.map(make(options, lastCommit.forget), (client) => Context.make(SqlClient.SqlClient, client))
        )
      ),
      Layer.provideMerge(layerReactivity)
    )
  })
