/**
 * What an operator's tools do with the data beside the service: migrate, inspect and copy it.
 *
 * Nothing here creates or migrates a database, except {@link migrate}. The other functions need one
 * that exists, because SQLite creates the file that it opens.
 */
import type { PlatformError } from "effect/PlatformError"
import { Effect, FileSystem, Layer, Path, Stream } from "effect"
import * as SecureRandom from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as MasterKeys from "./access/MasterKeys.ts"
import * as ProviderKeys from "./access/ProviderKeys.ts"
import { mapVaultError } from "./access/Vault.ts"
import * as LedgerSql from "./accounting/LedgerSql.ts"
import * as Ledgers from "./accounting/LedgerSums.ts"
import * as DestinationStore from "./broadcast/DestinationStore.ts"
import * as Composition from "./Composition.ts"
import { ObjectStore, ObjectStoreError } from "./objects/ObjectStore.ts"
import * as DatabaseReadiness from "./storage/sql/DatabaseReadiness.ts"
import * as Dialect from "./storage/sql/Dialect.ts"
import * as Migrations from "./storage/sql/Migrations.ts"
import { mapSqlError, type StorageError } from "./storage/sql/StorageError.ts"
import * as FileLock from "./storage/sqlite/FileLock.ts"
import * as RedisConnection from "./storage/redis/RedisConnection.ts"
import * as VideoQueue from "./video/VideoQueue.ts"
import * as WebhookSecrets from "./webhooks/WebhookSecrets.ts"

/** The schema of a database, beside that of this version. */
export type Schema = Migrations.Schema

/** The schema of a database that does not exist yet. */
export const emptySchema: Schema = Migrations.empty

/** Sums of all ledgers by their names, in decimal texts. */
export type LedgerSums = Ledgers.LedgerSums

/** What the functions of a database need. */
type Platform = FileSystem.FileSystem | Path.Path

/**
 * Reads the schema and changes nothing. Fails if this version cannot use the database.
 */
export const schema = (options: Composition.DataOptions): Effect.Effect<Schema, StorageError, Platform> =>
  Effect.provide(Migrations.inspect, Composition.database(options))

/**
 * Migrates the database, creates it if it is a file, and returns the names of the migrations that
 * ran. A second process that does the same waits and then finds nothing to do. Also creates what
 * the service would create when it starts: functions, and the tables of its queue.
 */
export const migrate = (
  options: Composition.DataOptions
): Effect.Effect<ReadonlyArray<string>, StorageError, Platform> =>
  Effect.gen(function* () {
    const names = yield* Migrations.run
    yield* Effect.scoped(Layer.build(Layer.mergeAll(LedgerSql.layer, VideoQueue.layerSql)))
    return names
  }).pipe(Effect.provide(Composition.database(options)))

/** What a database contains, as a backup describes it. */
export interface Contents {
  readonly schema: Schema
  /** What SQLite finds damaged, at most 5 sentences. Postgres checks itself. */
  readonly damages: ReadonlyArray<string>
  readonly sums: LedgerSums
  /** Workspaces whose balance is not what was added less what was used. */
  readonly wrongBalances: ReadonlyArray<string>
  /** Reservations of dead processes that an operator has to look up. */
  readonly abandoned: number
  /** The ids of the master keys that encrypted stored secrets. */
  readonly masterKeyIds: ReadonlyArray<string>
  /** The version of the database's software. */
  readonly software: string
  /** The clock of Postgres, in epoch milliseconds. SQLite has that of this machine. */
  readonly now: number | undefined
}

const masterKeyIds = Effect.gen(function* () {
  const all = [
    ...(yield* ProviderKeys.masterKeyIds),
    ...(yield* DestinationStore.masterKeyIds),
    ...(yield* WebhookSecrets.masterKeyIds)
  ]
  return [...new Set(all)].toSorted()
})

const damages = Effect.gen(function* () {
  const sql = yield* SqlClient
  const check = sql.onDialectOrElse({
    pg: () => Effect.succeed([]),
    orElse: () =>
      Effect.map(sql.unsafe<Row>("SELECT integrity_check AS finding FROM pragma_integrity_check LIMIT 5"), (rows) =>
        rows.map((row) => Dialect.text(row, "finding")).filter((finding) => finding !== "ok")
      )
  })
  return yield* check
})

const software = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql.onDialectOrElse({
    pg: () => sql`SELECT current_setting('server_version') AS version,
      CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT) AS now`,
    orElse: () => sql`SELECT sqlite_version() AS version, NULL AS now`
  })
  if (row === undefined) return { software: "unknown", now: undefined }
  return { software: Dialect.text(row, "version"), now: Dialect.intOrNull(row, "now") ?? undefined }
})

const readContents = Effect.gen(function* () {
  return {
    schema: yield* Migrations.inspect,
    damages: yield* damages,
    sums: yield* Ledgers.all,
    wrongBalances: yield* Ledgers.wrongBalances,
    abandoned: yield* Ledgers.abandoned,
    masterKeyIds: yield* masterKeyIds,
    ...(yield* software)
  }
})

/**
 * Reads a database whose schema this version can use, with all rows of the ledgers. On Postgres,
 * everything is from one state of it. On SQLite, sums of a database that changes may differ by what
 * changed between them: to read one state would keep others from writing.
 */
export const contents = (options: Composition.DataOptions): Effect.Effect<Contents, StorageError, Platform> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* sql.onDialectOrElse({
      pg: () => sql.withTransaction(Effect.andThen(sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ`, readContents)),
      orElse: () => readContents
    })
  }).pipe(mapSqlError("Maintenance.contents"), Effect.provide(Composition.database(options)))

/**
 * Copies the SQLite database in the data folder to a new file, also while the service runs: the
 * copy is one state of it, and nobody waits. Deleted data is not copied.
 */
export const copyDatabase = (
  options: Pick<Composition.DataOptions, "dataDir">,
  file: string
): Effect.Effect<void, StorageError, Platform> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql`VACUUM INTO ${file}`
  }).pipe(mapSqlError("Maintenance.copyDatabase"), Effect.provide(Composition.database(options)))

/** Writes to the database and deletes what was written. Fails if a request could not be served. */
export const probeDatabase = (options: Composition.DataOptions): Effect.Effect<void, StorageError, Platform> =>
  Effect.flatMap(SecureRandom.SecureRandom, (random) => random.uuidV7()).pipe(
    Effect.flatMap((id) => Effect.flatten(DatabaseReadiness.checkAs(`probe ${id}`))),
    Effect.provide([SecureRandom.layerWebCrypto, Composition.database(options)])
  )

/**
 * Stores, reads and deletes a small object. Fails with the reason why files could not be stored.
 */
export const probeObjects = ({
  dataDir,
  objectStoreUrl
}: Composition.ObjectOptions & Pick<Composition.DataOptions, "dataDir">): Effect.Effect<
  void,
  ObjectStoreError | PlatformError,
  Platform
> =>
  Effect.gen(function* () {
    const objects = yield* ObjectStore
    const random = yield* SecureRandom.SecureRandom
    const key = `probe/${yield* random.uuidV7()}`
    const bytes = new TextEncoder().encode(key)
    const unequal = new ObjectStoreError({
      operation: "probe",
      reason: "unavailable",
      message: "An object that was just stored could not be read again."
    })
    yield* Effect.ensuring(
      Effect.gen(function* () {
        yield* objects.put(key, Stream.succeed(bytes))
        const found = yield* objects.open(key)
        const read = Buffer.concat(yield* Stream.runCollect(found.read()))
        if (!read.equals(bytes)) return yield* unequal
      }),
      Effect.ignore(objects.remove(key))
    )
  }).pipe(
    Effect.catchTags({
      ObjectNotFound: ({ message }) =>
        Effect.fail(new ObjectStoreError({ operation: "probe", reason: "unavailable", message })),
      ObjectTooLarge: Effect.die
    }),
    Effect.provide(Composition.objects(dataDir, { objectStoreUrl }, Composition.layerUploads(dataDir))),
    Effect.provide(SecureRandom.layerWebCrypto)
  )

/** Why Redis cannot count. Undefined if it can. Waits at most 2 seconds. */
export const redisProblem = (options: RedisConnection.Options): Effect.Effect<string | undefined> =>
  Effect.flatMap(RedisConnection.RedisConnection, ({ problem }) => problem).pipe(
    Effect.provide(RedisConnection.layer(options))
  )

const missingOf = (ids: ReadonlyArray<string>) =>
  Effect.fnUntraced(function* (keys: MasterKeys.MasterKeys) {
    const missing: Array<string> = []
    for (const id of ids) if ((yield* keys.find(id)) === undefined) missing.push(id)
    return missing
  })

/** Of these master keys, those that the settings and the place of a created key do not have. */
export const missingMasterKeys = (
  options: Composition.DataOptions,
  ids: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, StorageError, Platform> =>
  (options.databaseUrl === undefined
    ? Effect.flatMap(MasterKeys.inFile(options.dataDir), missingOf(ids))
    : Effect.flatMap(MasterKeys.inDatabase, missingOf(ids)).pipe(Effect.provide(Composition.database(options)))
  ).pipe(mapVaultError("Maintenance.missingMasterKeys"), Effect.provide(SecureRandom.layerWebCrypto))

/** The id of a master key in base64. Undefined if the text is none. */
export const masterKeyId = MasterKeys.idOf

/**
 * Whether a process of the service uses the data folder. Always false on Postgres, whose processes
 * need not share a machine.
 */
export const isRunning = (dataDir: string): Effect.Effect<boolean, never, Platform> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const folder = path.join(dataDir, Composition.processesFolder)
    for (const id of yield* Effect.orElseSucceed(fs.readDirectory(folder), () => [])) {
      if (!(yield* FileLock.isFree(path.join(folder, id)))) return true
    }
    return false
  })
