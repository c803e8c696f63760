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
import * as Alerts from "./migrations/Alerts.ts"
import * as AnswersByArrival from "./migrations/AnswersByArrival.ts"
import * as AuditLog from "./migrations/AuditLog.ts"
import * as Baseline from "./migrations/Baseline.ts"
import * as Console from "./migrations/Console.ts"
import * as ConsoleSessionList from "./migrations/ConsoleSessionList.ts"
import * as CreditLedger from "./migrations/CreditLedger.ts"
import * as DestinationDeliveries from "./migrations/DestinationDeliveries.ts"
import * as FailedRequests from "./migrations/FailedRequests.ts"
import * as KeySecrets from "./migrations/KeySecrets.ts"
import * as Instances from "./migrations/Instances.ts"
import * as ProviderKeyUse from "./migrations/ProviderKeyUse.ts"
import * as RequestDetails from "./migrations/RequestDetails.ts"
import * as Roles from "./migrations/Roles.ts"
import * as TraceParent from "./migrations/TraceParent.ts"
import * as UsageDaysByFunction from "./migrations/UsageDaysByFunction.ts"
import * as UsageDaysOfBatches from "./migrations/UsageDaysOfBatches.ts"
import * as UsageDaysOfCommits from "./migrations/UsageDaysOfCommits.ts"
import * as UsageDaysOfOne from "./migrations/UsageDaysOfOne.ts"
import { mapSqlError, StorageError } from "./StorageError.ts"

/** Migrations in their order, by `<number>_<name>`. */
export type Migrations = Readonly<Record<string, Effect.Effect<void, SqlError, SqlClient>>>

/** The migrations of this version. */
export const migrations: Migrations = {
  "0001_tables": Baseline.migration,
  "0002_failed_requests": FailedRequests.migration,
  "0003_trace_parent": TraceParent.migration,
  "0004_usage_days_of_batches": UsageDaysOfBatches.migration,
  "0005_answers_by_arrival": AnswersByArrival.migration,
  "0006_usage_days_of_one": UsageDaysOfOne.migration,
  "0007_credit_ledger": CreditLedger.migration,
  "0008_request_details": RequestDetails.migration,
  "0009_roles": Roles.migration,
  "0010_audit_log": AuditLog.migration,
  "0011_key_secrets": KeySecrets.migration,
  "0012_console": Console.migration,
  "0013_instances": Instances.migration,
  "0014_destination_deliveries": DestinationDeliveries.migration,
  "0015_provider_key_use": ProviderKeyUse.migration,
  "0016_alerts": Alerts.migration,
  "0017_console_session_list": ConsoleSessionList.migration,
  "0018_usage_days_of_commits": UsageDaysOfCommits.migration,
  "0019_usage_days_by_function": UsageDaysByFunction.migration
}

/**
 * The folder of `src` that owns each table. Its SQL is the only one that names the table;
 * a test says which exceptions there are.
 */
export const owners: Readonly<Record<string, string>> = {
  alert_firings: "alerts",
  alerts: "alerts",
  audit_log: "audit",
  budgets: "accounting",
  console_links: "console",
  console_sessions: "console",
  credit_ledger: "accounting",
  destinations: "broadcast",
  ephemeral_keys: "access",
  events: "events",
  files: "objects",
  free_model_days: "accounting",
  guardrails: "access",
  idempotency: "admission",
  idempotency_bytes: "admission",
  key_secrets: "access",
  keys: "access",
  master_key: "access",
  milestones: "storage",
  organizations: "access",
  processes: "storage",
  provider_keys: "access",
  rejected_requests: "requests",
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

/** A migration that the database has run. */
interface Applied {
  readonly number: number
  readonly name: string
}

const applied = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT migration_id, name FROM schema_migrations ORDER BY migration_id`
  return rows.map((row): Applied => ({ number: Dialect.int(row, "migration_id"), name: Dialect.text(row, "name") }))
})

/** Whether any migration has run. */
const isMigrated = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql.onDialectOrElse({
    pg: () => sql`SELECT 1 FROM information_schema.tables
      WHERE table_schema = current_schema() AND table_name = 'schema_migrations'`,
    orElse: () => sql`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'`
  })
  return rows.length > 0
})

/**
 * The oldest schema whose versions can use the database after this migration:
 * `0007_drop_labels_needs_0005`. Without it, every earlier version can.
 */
const needed = ({ name }: Applied): number => Number(/_needs_(\d+)$/.exec(name)?.[1] ?? 0)

/** Fails if this version cannot use a database with these migrations. */
const checkSchema = Effect.fnUntraced(function* (found: ReadonlyArray<Applied>, known: ReadonlyArray<string>) {
  const newest = numberOf(known.at(-1) ?? "")
  const isKnown = ({ name, number }: (typeof found)[number]) =>
    number > newest || known.some((other) => numberOf(other) === number && other.endsWith(`_${name}`))
  if (!found.every(isKnown)) {
    return yield* refused(
      "The database was made by a version of Model Gateway from before its first release, which no released version can upgrade. " +
        "Start with a new database."
    )
  }
  const least = Math.max(0, ...found.filter(({ number }) => number > newest).map(needed))
  if (least > newest) {
    return yield* refused(
      `The database has schema ${found.at(-1)?.number ?? 0}, which versions of Model Gateway can use that know schema ${least}. ` +
        `This version knows schema ${newest} and earlier ones. ` +
        "A newer version has upgraded the database: run that version or a later one, or restore a backup from before the upgrade."
    )
  }
})

const numberOf = (name: string): number => Number.parseInt(name, 10)

/**
 * Runs all pending migrations in one transaction. A second process that does the same waits and
 * then finds nothing to do. Returns the names of those that it ran. Fails without changes if this
 * version cannot use the database.
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
    const check = Effect.flatMap(applied, (found) => checkSchema(found, Object.keys(migrations)))
    return yield* Conflicts.retry(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* lock
          const prepare = yield* Effect.cached(Effect.andThen(check, stopWriters(tables)))
          const steps = Record.map(migrations, (migration) => Effect.andThen(prepare, migration))
          const ran = yield* migrate({ loader: Migrator.fromRecord(steps), table: "schema_migrations" })
          yield* check
          yield* finish(tables)
          return namesOf(
            ran.map(([number]) => number),
            migrations
          )
        })
      )
    )
  },
  Effect.provideService(IsMigrating, true),
  Effect.catchTag("MigrationError", (error) => Effect.fail(error.cause instanceof StorageError ? error.cause : error)),
  mapSqlError("Migrations.run")
)

const namesOf = (numbers: ReadonlyArray<number>, migrations: Migrations): ReadonlyArray<string> =>
  Object.keys(migrations).filter((name) => numbers.includes(numberOf(name)))

/** Migrates the database to the schema of this version; see {@link runAll}. */
export const run = runAll(migrations)

/** The schema of a database, beside that of this version. */
export interface Schema {
  /** The number of the last migration that has run. 0 in an empty database. */
  readonly current: number
  /** The number of the last migration of this version. */
  readonly newest: number
  /** The names of the migrations that have not run. */
  readonly pending: ReadonlyArray<string>
}

const schemaOf = (current: number, migrations: Migrations): Schema => ({
  current,
  newest: numberOf(Object.keys(migrations).at(-1) ?? ""),
  pending: Object.keys(migrations).filter((name) => numberOf(name) > current)
})

/** The schema of an empty database. */
export const empty: Schema = schemaOf(0, migrations)

/** Reads the schema and changes nothing. Fails if this version cannot use the database. */
export const inspectAll = Effect.fnUntraced(function* (migrations: Migrations) {
  const found = (yield* isMigrated) ? yield* applied : []
  yield* checkSchema(found, Object.keys(migrations))
  return schemaOf(found.at(-1)?.number ?? 0, migrations)
}, mapSqlError("Migrations.inspect"))

/** Reads the schema; see {@link inspectAll}. */
export const inspect = inspectAll(migrations)

/** Provides nothing, and completes when the database is migrated. Provide it to the stores. */
export const layer: Layer.Layer<never, StorageError, SqlClient> = Layer.effectDiscard(run)

/** Like {@link layer}, but fails if a migration is pending, and changes nothing. */
export const layerNever: Layer.Layer<never, StorageError, SqlClient> = Layer.effectDiscard(
  Effect.flatMap(inspect, ({ current, newest, pending }) =>
    pending.length === 0
      ? Effect.void
      : refused(
          `The database has schema ${current}, and this version of Model Gateway needs schema ${newest}. ` +
            "It is not migrated here. Run model-gateway migrate first, with the settings of the service."
        )
  )
)
