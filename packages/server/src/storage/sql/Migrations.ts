/**
 * Migrates a database: creates every table of the service, in order, each migration once.
 *
 * Each capability keeps its migration in its own file and is listed here. Migrations never change
 * after a release; a later change gets a new number.
 */
import { Effect, Layer, Record } from "effect"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import * as Conflicts from "../postgres/conflicts.ts"
import * as postgresMigrations from "../postgres/postgresMigrations.ts"
import * as sqliteMigrations from "../sqlite/sqliteMigrations.ts"
import * as Dialect from "./Dialect.ts"
import { IsMigrating } from "./IsMigrating.ts"
import * as accounting from "./migrations/Accounting.ts"
import * as byokReservations from "./migrations/ByokReservations.ts"
import * as creditTotals from "./migrations/CreditTotals.ts"
import * as destinations from "./migrations/Destinations.ts"
import * as ephemeralKeys from "./migrations/EphemeralKeys.ts"
import * as ephemeralLimits from "./migrations/EphemeralLimits.ts"
import * as ephemeralRequests from "./migrations/EphemeralRequests.ts"
import * as events from "./migrations/Events.ts"
import * as externalUsers from "./migrations/ExternalUsers.ts"
import * as files from "./migrations/Files.ts"
import * as keptAnswers from "./migrations/KeptAnswers.ts"
import * as guardrails from "./migrations/Guardrails.ts"
import * as keyLists from "./migrations/KeyLists.ts"
import * as masterKey from "./migrations/MasterKey.ts"
import * as ledgerFunctions from "./migrations/LedgerFunctions.ts"
import * as pagingIndexes from "./migrations/PagingIndexes.ts"
import * as providerKeys from "./migrations/ProviderKeys.ts"
import * as requestIds from "./migrations/RequestIds.ts"
import * as requestLog from "./migrations/RequestLog.ts"
import * as tenancy from "./migrations/Tenancy.ts"
import * as unusedIndexes from "./migrations/UnusedIndexes.ts"
import * as usageDays from "./migrations/UsageDays.ts"
import * as videoAttempts from "./migrations/VideoAttempts.ts"
import * as videoCandidates from "./migrations/VideoCandidates.ts"
import * as videoDescriptions from "./migrations/VideoDescriptions.ts"
import * as videoHandles from "./migrations/VideoHandles.ts"
import * as videoJobs from "./migrations/VideoJobs.ts"
import * as videoLists from "./migrations/VideoLists.ts"
import * as webhookReceivers from "./migrations/WebhookReceivers.ts"
import * as webhooks from "./migrations/Webhooks.ts"
import * as workspaceIndex from "./migrations/WorkspaceIndex.ts"
import * as workspaces from "./migrations/Workspaces.ts"
import { mapSqlError, StorageError } from "./StorageError.ts"

/** Every migration by `<number>_<name>`. */
export const migrations = {
  "0001_tenancy": tenancy.migration,
  "0002_accounting": accounting.migration,
  "0003_files": files.migration,
  "0004_video_jobs": videoJobs.migration,
  "0005_ephemeral_keys": ephemeralKeys.migration,
  "0006_video_candidates": videoCandidates.migration,
  "0007_unused_indexes": unusedIndexes.migration,
  "0008_kept_answers": keptAnswers.migration,
  "0009_paging_indexes": pagingIndexes.migration,
  "0010_ephemeral_limits": ephemeralLimits.migration,
  "0011_workspace_index": workspaceIndex.migration,
  "0012_events": events.migration,
  "0013_video_handles": videoHandles.migration,
  "0014_provider_keys": providerKeys.migration,
  "0015_byok_reservations": byokReservations.migration,
  "0016_destinations": destinations.migration,
  "0017_request_log": requestLog.migration,
  "0018_video_attempts": videoAttempts.migration,
  "0019_master_key": masterKey.migration,
  "0020_ledger_functions": ledgerFunctions.migration,
  "0021_webhooks": webhooks.migration,
  "0022_usage_days": usageDays.migration,
  "0023_guardrails": guardrails.migration,
  "0024_key_lists": keyLists.migration,
  "0025_credit_totals": creditTotals.migration,
  "0026_workspaces": workspaces.migration,
  "0027_video_lists": videoLists.migration,
  "0028_ephemeral_requests": ephemeralRequests.migration,
  "0029_webhook_receivers": webhookReceivers.migration,
  "0030_bounded_usage_days": usageDays.boundRows,
  "0031_external_users": externalUsers.migration,
  "0032_video_descriptions": videoDescriptions.migration,
  "0033_request_ids": requestIds.migration
}

/** Every table that the migrations create. */
export const tables = [
  "budgets",
  "credit_ledger",
  "destinations",
  "ephemeral_keys",
  "events",
  "files",
  "free_model_days",
  "guardrails",
  "idempotency",
  "idempotency_bytes",
  "intents",
  "keys",
  "master_key",
  "milestones",
  "organizations",
  "processes",
  "provider_keys",
  "usage_days",
  "usage_ledger",
  "video_jobs",
  "video_requests",
  "webhook_attempts",
  "webhook_deliveries",
  "webhook_secrets",
  "workspaces"
] as const

const newest = Math.max(...Object.keys(migrations).map((name) => Number.parseInt(name, 10)))

const migrate = Migrator.make({})

const newerSchema = (found: number) =>
  new StorageError({
    operation: "Migrations.run",
    message:
      `The database has schema ${found}, and this version of Model Gateway knows schema ${newest} and earlier ones. ` +
      `A newer version has upgraded it: run that version or a later one, or restore a backup from before the upgrade.`,
    retryable: false
  })

/**
 * Runs all pending migrations in one transaction. A second process that does the same waits and
 * then finds nothing to do. Fails without changes if a newer version has migrated the database.
 *
 * The first pending migration makes requests of an earlier version wait. If Postgres ends the
 * transaction because it and a request wait for each other, it runs again.
 */
export const run = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { finish, lock, stopWriters } = sql.onDialectOrElse({
    pg: () => postgresMigrations,
    orElse: () => sqliteMigrations
  })
  yield* Conflicts.retry(
    sql.withTransaction(
      Effect.gen(function* () {
        yield* lock
        const stop = yield* Effect.cached(stopWriters(tables))
        const steps = Record.map(migrations, (migration) => Effect.andThen(stop, migration))
        yield* migrate({ loader: Migrator.fromRecord(steps), table: "schema_migrations" })
        const [row] = yield* sql`SELECT migration_id FROM schema_migrations ORDER BY migration_id DESC LIMIT 1`
        const found = row === undefined ? 0 : Dialect.int(row, "migration_id")
        if (found > newest) return yield* newerSchema(found)
        yield* finish(tables)
      })
    )
  )
}).pipe(Effect.provideService(IsMigrating, true), mapSqlError("Migrations.run"))

/** Provides nothing, and completes when the database is migrated. Provide it to the stores. */
export const layer: Layer.Layer<never, StorageError, SqlClient> = Layer.effectDiscard(run)
