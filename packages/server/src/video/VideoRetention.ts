/**
 * Deletes video jobs and requests that are no longer needed.
 *
 * - Jobs, some time after they end, if the operator has set a retention. Their videos are removed
 *   by the next object sweep.
 * - Requests of jobs that ended during their submission. Others are deleted at the job's end.
 */
import { Clock, Duration, Effect, type Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as VideoJobId from "./VideoJobId.ts"

/** The number of deleted rows. */
export interface Deleted {
  readonly jobs: number
  readonly requests: number
}

/**
 * In milliseconds. A job that ended during its submission keeps its request for its worker, which
 * needs it within minutes (`VideoJob.isUnresolved`).
 */
const resolvedWithin = 3_600_000

/** Deletes the jobs that the query finds, with their requests. Returns their number. */
export const deleteSome = (sql: SqlClient) => (found: Effect.Effect<ReadonlyArray<Row>, SqlError>) =>
  Effect.gen(function* () {
    const ids = (yield* found).map((row) => Dialect.text(row, "id"))
    if (ids.length === 0) return 0
    yield* sql`DELETE FROM video_requests WHERE ${sql.in("job_id", ids)}`
    yield* sql`DELETE FROM video_jobs WHERE ${sql.in("id", ids)}`
    return ids.length
  }).pipe(sql.withTransaction)

/**
 * Deletes everything that is due from the database in the context. `videos.retention` of
 * {@link GatewayServerConfig} says when.
 */
export const purge: Effect.Effect<Deleted, StorageError, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { retention } = (yield* GatewayServerConfig).videos

  /**
   * Starts from the requests, because there are few; a plain join would read every job. In small
   * batches, because each may contain megabytes of images.
   */
  const requests = Effect.gen(function* () {
    const longAgo = (yield* Clock.currentTimeMillis) - resolvedWithin
    const rows = yield* sql`DELETE FROM video_requests WHERE job_id IN (
      SELECT r.job_id FROM video_requests r CROSS JOIN video_jobs j
      WHERE j.id = r.job_id AND j.completed_at IS NOT NULL
        AND (j.asked_at IS NULL OR j.upstream_job_id IS NOT NULL OR j.completed_at <= ${longAgo}) LIMIT 5
    ) RETURNING job_id`
    return rows.length
  })

  /**
   * Needs no index on the end time: a job ends after its creation, and jobs are ordered by
   * creation.
   */
  const jobsEndedBefore = (age: Duration.Duration) =>
    Effect.gen(function* () {
      const end = Math.floor((yield* Clock.currentTimeMillis) - Duration.toMillis(age))
      if (end < 0) return 0
      return yield* deleteSome(sql)(
        sql`SELECT id FROM video_jobs WHERE id < ${VideoJobId.firstOf(end + 1)} AND completed_at <= ${end}
          ORDER BY id LIMIT ${Purge.atOnce}`
      )
    })

  return {
    jobs: retention === undefined ? 0 : yield* Purge.all(jobsEndedBefore(retention)),
    requests: yield* Purge.all(requests)
  }
}).pipe(mapSqlError("VideoRetention.purge"), Effect.withSpan("VideoRetention.purge"))

/** Purges in the background, at the start and then at an interval (default: 10 minutes). */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, SqlClient> =>
  Background.layer({
    work: purge,
    every: options?.every ?? "10 minutes",
    failure: "Old video jobs could not be deleted"
  })
