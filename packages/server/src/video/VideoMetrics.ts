/** The video jobs that wait, and their queue, in the metrics. */
import { Clock, Effect, type Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Metrics from "../observability/Metrics.ts"
import * as Scrape from "../observability/Scrape.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError } from "../storage/sql/StorageError.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient

  // The clock of the database, by which it decides what is due. Times without a zone are in the
  // zone of the connection.
  const now = sql.onDialectOrElse({
    pg: () => sql.literal("LOCALTIMESTAMP"),
    orElse: () => sql.literal("CURRENT_TIMESTAMP")
  })
  const lag = sql.onDialectOrElse({
    pg: () => sql.literal("CAST(EXTRACT(EPOCH FROM (LOCALTIMESTAMP - MIN(visible_at))) AS DOUBLE PRECISION)"),
    orElse: () => sql.literal("CAST(strftime('%s', 'now') - strftime('%s', MIN(visible_at)) AS REAL)")
  })

  const queue = Effect.gen(function* () {
    const [row] = yield* sql`SELECT COUNT(*) AS total, ${lag} AS lag FROM (
      SELECT visible_at FROM effect_queue WHERE queue_name = 'video_jobs' AND state = 'pending' AND visible_at <= ${now}
      AND acquired_by IS NULL ORDER BY visible_at LIMIT 10000) AS waiting`
    if (row === undefined) return
    yield* Metrics.videoQueue(Dialect.int(row, "total"), Math.max(0, Dialect.realOrNull(row, "lag") ?? 0))
  }).pipe(mapSqlError("VideoMetrics.queue"))

  const jobs = Effect.gen(function* () {
    const [counted] = yield* sql`SELECT COUNT(*) AS total FROM (
      SELECT 1 AS one FROM video_jobs WHERE completed_at IS NULL AND deadline_at >= 0 LIMIT 10000) AS waiting`
    const [oldest] = yield* sql`SELECT created_at FROM video_jobs
      WHERE completed_at IS NULL AND deadline_at >= 0 ORDER BY deadline_at LIMIT 1`
    const time = yield* Clock.currentTimeMillis
    const age = oldest === undefined ? 0 : time - Dialect.int(oldest, "created_at")
    yield* Metrics.videoJobsOpen(counted === undefined ? 0 : Dialect.int(counted, "total"), Math.max(0, age) / 1000)
  }).pipe(mapSqlError("VideoMetrics.jobs"))

  return [
    { name: "video_queue", update: queue },
    { name: "video_jobs", update: jobs }
  ]
})

/** Registers both sources. */
export const layer: Layer.Layer<never, never, Scrape.Scrape | SqlClient> = Scrape.layerSources(make)
