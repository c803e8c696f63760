/**
 * Brings a database up to date: every table of the service, in order, each step once.
 *
 * A capability keeps its step in a file of its own and is named here. Steps are never changed after a release; a later
 * need is a later number.
 */
import { Effect, Layer } from "effect"
import * as Migrator from "effect/sql/Migrator"
import type { SqlClient } from "effect/sql/SqlClient"
import * as accounting from "./migrations/Accounting.ts"
import * as ephemeralKeys from "./migrations/EphemeralKeys.ts"
import * as files from "./migrations/Files.ts"
import * as tenancy from "./migrations/Tenancy.ts"
import * as unusedIndexes from "./migrations/UnusedIndexes.ts"
import * as videoCandidates from "./migrations/VideoCandidates.ts"
import * as videoJobs from "./migrations/VideoJobs.ts"
import { refine, type StorageError } from "./StorageError.ts"

/** Every step by `<number>_<name>`. */
export const migrations = {
  "0001_tenancy": tenancy.migration,
  "0002_accounting": accounting.migration,
  "0003_files": files.migration,
  "0004_video_jobs": videoJobs.migration,
  "0005_ephemeral_keys": ephemeralKeys.migration,
  "0006_video_candidates": videoCandidates.migration,
  "0007_unused_indexes": unusedIndexes.migration
}

const migrate = Migrator.make({})

/**
 * Runs what has not run yet, in one transaction; a second process doing the same waits and then finds nothing to do.
 */
export const run = migrate({ loader: Migrator.fromRecord(migrations), table: "schema_migrations" }).pipe(
  Effect.asVoid,
  refine("Migrations.run")
)

/** Provides nothing, but is done only when the database is up to date: put it beneath the stores. */
export const layer: Layer.Layer<never, StorageError, SqlClient> = Layer.effectDiscard(run)
