/**
 * Deletes what is over and nobody asks for any more, where no store of its own does so.
 *
 * - Video jobs, a while after they are over, where the operator has set how long that is; their videos go with the next sweep over the objects.
 * - What ended video jobs were asked for. A job's end deletes it; this is for those that an earlier release has ended.
 * - The counts of requests to free models of days before yesterday, for keys that have not come again.
 *
 * Kept answers and ephemeral keys are purged by their own services, messages by the queue. The ledgers are kept.
 */
import { Clock, Context, Duration, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Periods from "../keys/Periods.ts"
import * as Dialect from "../storage/Dialect.ts"
import * as Purge from "../storage/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/StorageError.ts"

/** How many rows went. */
export interface Cleared {
  readonly videoJobs: number
  readonly videoRequests: number
  readonly freeModelDays: number
}

/** The sweep. */
export class Retention extends Context.Service<
  Retention,
  {
    /** Deletes all that is due now. */
    readonly run: Effect.Effect<Cleared, StorageError>
  }
>()("@model-gateway/server/retention/Retention") {}

/** When it sweeps. */
export interface Options {
  /** Default 10 minutes. */
  readonly every?: Duration.Input | undefined
}

/** Before every identifier of a job that is made at that time or later: they begin with the time, in 12 hex digits. */
const firstIdOf = (time: number): string => `video_${time.toString(16).padStart(12, "0")}`

/** Over the database of the service, as {@link GatewayServerConfig} says. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { videos } = yield* GatewayServerConfig

  /**
   * Looked for from the side of the requests, of which there are few; a plain join would read every
   * job. Few at a time, because each may hold megabytes of images.
   */
  const videoRequests = Effect.map(
    sql`DELETE FROM video_requests WHERE job_id IN (
      SELECT r.job_id FROM video_requests r CROSS JOIN video_jobs j
      WHERE j.id = r.job_id AND j.completed_at IS NOT NULL LIMIT 5
    ) RETURNING job_id`,
    (rows) => rows.length
  )

  /** No index by the time of their end is needed: a job ends after it was made, and by that time they lie in order. */
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
    // The clock of another process may be behind midnight yet.
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

/** The sweep; it runs when it is told to. */
export const layer: Layer.Layer<Retention, never, SqlClient> = Layer.effect(Retention, make)

/** Sweeps at the start and then as often as told, for as long as the layer lives. */
export const layerRunning = (options?: Options): Layer.Layer<never, never, SqlClient> =>
  Layer.effectDiscard(
    Effect.flatMap(Retention, (retention) =>
      retention.run.pipe(
        Effect.catch((error) => Effect.logWarning("What is over could not be deleted", error.message)),
        Effect.repeat(Schedule.spaced(options?.every ?? "10 minutes")),
        Effect.forkScoped
      )
    )
  ).pipe(Layer.provide(layer))
