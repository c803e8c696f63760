/**
 * Deletes expired rows that no store purges itself.
 *
 * - Video jobs, some time after they end, if the operator has set a retention. Their videos are
 *   removed by the next object sweep.
 * - Requests of ended video jobs. They are deleted at the job's end; this handles jobs that an
 *   earlier release ended.
 * - Counts of free-model requests before yesterday, for keys that are no longer used.
 *
 * Stored answers and ephemeral keys are purged by their own services, messages by the queue. The
 * ledgers are kept.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { GatewayServerConfig } from "../../GatewayServerConfig.ts"
import * as Periods from "../../accounting/Periods.ts"
import * as Dialect from "./Dialect.ts"
import * as Purge from "./Purge.ts"
import { mapSqlError, type StorageError } from "./StorageError.ts"

/** The number of deleted rows. */
export interface Cleared {
  readonly videoJobs: number
  readonly videoRequests: number
  readonly freeModelDays: number
}

/** The sweep. */
export class Retention extends Context.Service<
  Retention,
  {
    /** Deletes everything that is due. */
    readonly run: Effect.Effect<Cleared, StorageError>
  }
>()("@model-gateway/server/storage/sql/Retention") {}

/** The interval of the sweep. */
export interface Options {
  /** Default: 10 minutes. */
  readonly every?: Duration.Input | undefined
}

/**
 * Sorts before every job identifier created at `time` or later. Identifiers start with their time
 * in 12 hex digits.
 */
const firstIdOf = (time: number): string => `video_${time.toString(16).padStart(12, "0")}`

/** Makes the sweep over the database, with the settings of {@link GatewayServerConfig}. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { videos } = yield* GatewayServerConfig

  /**
   * Starts from the requests, because there are few; a plain join would read every job. In small
   * batches, because each may contain megabytes of images.
   */
  const videoRequests = Effect.map(
    sql`DELETE FROM video_requests WHERE job_id IN (
      SELECT r.job_id FROM video_requests r CROSS JOIN video_jobs j
      WHERE j.id = r.job_id AND j.completed_at IS NOT NULL LIMIT 5
    ) RETURNING job_id`,
    (rows) => rows.length
  )

  /**
   * Needs no index on the end time: a job ends after its creation, and jobs are ordered by
   * creation.
   */
  const videoJobs = (retention: Duration.Duration) =>
    Effect.gen(function* () {
      const end = Math.floor((yield* Clock.currentTimeMillis) - Duration.toMillis(retention))
      if (end < 0) return 0
      const due = yield* sql`SELECT id FROM video_jobs WHERE id < ${firstIdOf(end + 1)} AND completed_at <= ${end}
        ORDER BY id LIMIT ${Purge.atOnce}`
      if (due.length === 0) return 0
      const ids = due.map((row) => Dialect.text(row, "id"))
      yield* sql`DELETE FROM video_requests WHERE ${sql.in("job_id", ids)}`
      yield* sql`DELETE FROM video_jobs WHERE ${sql.in("id", ids)}`
      return due.length
    }).pipe(sql.withTransaction)

  const freeModelDays = Effect.gen(function* () {
    // Another process's clock may not have reached midnight yet.
    const yesterday = Periods.startOfDay(yield* Clock.currentTimeMillis) - Periods.dayMillis
    const rows = yield* sql`DELETE FROM free_model_days WHERE (key_hash, day_start) IN (
      SELECT key_hash, day_start FROM free_model_days WHERE day_start < ${yesterday} LIMIT ${Purge.atOnce}
    ) RETURNING key_hash`
    return rows.length
  })

  return Retention.of({
    run: Effect.all({
      videoJobs: videos.retention === undefined ? Effect.succeed(0) : Purge.all(videoJobs(videos.retention)),
      videoRequests: Purge.all(videoRequests),
      freeModelDays: Purge.all(freeModelDays)
    }).pipe(mapSqlError("Retention.run"), Effect.withSpan("Retention.run"))
  })
})

/** The sweep. It runs only when called. */
export const layer: Layer.Layer<Retention, never, SqlClient> = Layer.effect(Retention, make)

/** Sweeps at the start and then at the interval, as long as the layer lives. */
export const layerRunning = (options?: Options): Layer.Layer<never, never, SqlClient> =>
  Layer.effectDiscard(
    Effect.flatMap(Retention, (retention) =>
      retention.run.pipe(
        Effect.catch((error) => Effect.logWarning("Expired rows could not be deleted", error.message)),
        Effect.repeat(Schedule.spaced(options?.every ?? "10 minutes")),
        Effect.forkScoped
      )
    )
  ).pipe(Layer.provide(layer))
