/**
 * The money in the metrics: reservations, and what workspaces have left.
 *
 * A series for each workspace would have no bound, so workspaces are counted by what they have
 * left. The statements read a limited number of rows: a gateway with more workspaces sees those of
 * the first 10,000.
 */
import { Clock, Duration, Effect, type Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Metrics from "../observability/Metrics.ts"
import * as Scrape from "../observability/Scrape.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError } from "../storage/sql/StorageError.ts"

/** One credit in micro-credits. */
const credit = "1000000"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient

  const readReservations = sql`SELECT state, is_job, COUNT(*) AS total,
      CAST(SUM(amount_micro) AS BIGINT) AS amount, MIN(reserved_at) AS oldest
    FROM (SELECT state, job_id IS NOT NULL AS is_job, amount_micro, reserved_at FROM reservations LIMIT 10000) AS waiting
    GROUP BY state, is_job`

  const readWorkspaces = sql`SELECT CAST(SUM(credits) AS BIGINT) AS total,
      COUNT(CASE WHEN credits <= 0 THEN 1 END) AS none,
      COUNT(CASE WHEN credits > 0 AND credits < ${sql.literal(credit)} THEN 1 END) AS below_1,
      COUNT(CASE WHEN credits >= ${sql.literal(credit)} AND credits < 10 * ${sql.literal(credit)} THEN 1 END) AS below_10,
      COUNT(CASE WHEN credits >= 10 * ${sql.literal(credit)} THEN 1 END) AS more
    FROM (SELECT counted.balance_micro - counted.reserved_micro AS credits FROM workspaces counted
      WHERE counted.deleted_at IS NULL LIMIT 10000) AS waiting`

  const reservations = Effect.gen(function* () {
    const rows = yield* readReservations
    const now = yield* Clock.currentTimeMillis
    const sum = (state: string, column: string) =>
      rows.reduce((total, row) => total + (row.state === state ? (Dialect.intOrNull(row, column) ?? 0) : 0), 0)
    for (const state of ["open", "abandoned"] as const) {
      yield* Metrics.reserved(state, sum(state, "total"), sum(state, "amount"))
    }
    const isRequest = ({ is_job, state }: Row) => state === "open" && (is_job === 0 || is_job === false)
    const oldest = rows.filter(isRequest).map((row) => Dialect.int(row, "oldest"))
    yield* Metrics.oldestRequestReservation(oldest.length === 0 ? 0 : Math.max(0, now - Math.min(...oldest)) / 1000)
  }).pipe(mapSqlError("MoneyMetrics.reservations"))

  const workspaces = Effect.gen(function* () {
    const [row] = yield* readWorkspaces
    if (row === undefined) return
    const { below_1, below_10, more, none } = row
    yield* Metrics.workspacesHave(Dialect.intOrNull(row, "total") ?? 0, {
      none: Number(none),
      below_1: Number(below_1),
      below_10: Number(below_10),
      more: Number(more)
    })
  }).pipe(mapSqlError("MoneyMetrics.workspaces"))

  return { reservations, workspaces }
})

/** Registers both sources. The workspaces are read at most once a minute. */
export const layer: Layer.Layer<never, never, Scrape.Scrape | SqlClient> = Scrape.layerSources(
  Effect.map(make, ({ reservations, workspaces }) => [
    { name: "reservations", update: reservations },
    { name: "workspaces", update: workspaces, every: Duration.minutes(1) }
  ])
)
