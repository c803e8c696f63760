/**
 * Migrates a database: creates every table of the service, in order, each migration once.
 *
 * `migrations/HowToAdd.md` says how to add one. Migrations never change after a release.
 */
import { Effect, Layer, Record } from "effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Conflicts from "../postgres/conflicts.ts"
import * as postgresMigrations from "../postgres/postgresMigrations.ts"
import * as sqliteMigrations from "../sqlite/sqliteMigrations.ts"
import * as Dialect from "./Dialect.ts"
import { IsMigrating } from "./IsMigrating.ts"
import * as Baseline from "./migrations/Baseline.ts"
import { mapSqlError, StorageError } from "./StorageError.ts"

/** Migrations in their order, by `<number>_<name>`. */
export type Migrations = Readonly<Record<string, Effect.Effect<void, SqlError, SqlClient>>>

/** The migrations of this version. */
export const migrations: Migrations = {
  "0001_tables": Baseline.migration
}

/**
 * The folder of `src` that owns each table. Its SQL is the only one that names the table;
 * a test says which exceptions there are.
 */
export const owners: Readonly<Record<string, string>> = {
  budgets: "accounting",
  credit_ledger: "accounting",
  destinations: "broadcast",
  ephemeral_keys: "access",
  events: "events",
  files: "objects",
  free_model_days: "accounting",
  guardrails: "access",
  idempotency: "admission",
  idempotency_bytes: "admission",
  keys: "access",
  master_key: "access",
  milestones: "storage",
  organizations: "access",
  processes: "storage",
  provider_keys: "access",
  reservations: "accounting",
  usage_days: "accounting",
  usage_ledger: "accounting",
  video_jobs: "video",
  video_requests: "video",
  webhook_attempts: "webhooks",
  webhook_deliveries: "webhooks",
  webhook_secrets: "webhooks",
  workspaces: "access"
}

/** Every table that the migrations create. */
export const tables: ReadonlyArray<string> = Object.keys(owners)

const migrate = Migrator.make({})

const refused = (message: string) => new StorageError({ operation: "Migrations.run", message, retryable: false })

/** Fails if the database has a schema that this version does not know. */
const checkSchema = Effect.fnUntraced(function* (known: ReadonlyArray<string>) {
  const sql = yield* SqlClient
  const newest = numberOf(known.at(-1) ?? "")
  const rows = yield* sql`SELECT migration_id, name FROM schema_migrations ORDER BY migration_id`
  const found = rows.map((row) => ({ number: Dialect.int(row, "migration_id"), name: Dialect.text(row, "name") }))
  const isKnown = ({ name, number }: (typeof found)[number]) =>
    number > newest || known.some((other) => numberOf(other) === number && other.endsWith(`_${name}`))
  if (!found.every(isKnown)) {
    return yield* refused(
      "The database was made by a version of Model Gateway from before its first release, which no released version can upgrade. " +
        "Start with a new database."
    )
  }
  const last = found.at(-1)?.number ?? 0
  if (last > newest) {
    return yield* refused(
      `The database has schema ${last}, and this version of Model Gateway knows schema ${newest} and earlier ones. ` +
        `A newer version has upgraded it: run that version or a later one, or restore a backup from before the upgrade.`
    )
  }
})

const numberOf = (name: string): number => Number.parseInt(name, 10)

/**
 * Runs all pending migrations in one transaction. A second process that does the same waits and
 * then finds nothing to do. Fails without changes if the database has another schema than the
 * migrations make.
 *
 * The first pending migration makes requests of an earlier version wait. If Postgres ends the
 * transaction because it and a request wait for each other, it runs again.
 */
export const runAll = Effect.fnUntraced(
  function* (migrations: Migrations) {
    const sql = yield* SqlClient
    const { finish, lock, stopWriters } = sql.onDialectOrElse({
      pg: () => postgresMigrations,
      orElse: () => sqliteMigrations
    })
    const check = checkSchema(Object.keys(migrations))
    yield* Conflicts.retry(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* lock
          const prepare = yield* Effect.cached(Effect.andThen(check, stopWriters(tables)))
          const steps = Record.map(migrations, (migration) => Effect.andThen(prepare, migration))
          yield* migrate({ loader: Migrator.fromRecord(steps), table: "schema_migrations" })
          yield* check
          yield* finish(tables)
        })
      )
    )
  },
  Effect.provideService(IsMigrating, true),
  Effect.catchTag("MigrationError", (error) => Effect.fail(error.cause instanceof StorageError ? error.cause : error)),
  mapSqlError("Migrations.run")
)

/** Migrates the database to the schema of this version; see {@link runAll}. */
export const run = runAll(migrations)

/** Provides nothing, and completes when the database is migrated. Provide it to the stores. */
export const layer: Layer.Layer<never, StorageError, SqlClient> = Layer.effectDiscard(run)
