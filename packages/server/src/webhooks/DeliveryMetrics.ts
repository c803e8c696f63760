/** The webhooks that wait, in the metrics. */
import { Clock, Effect, type Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Metrics from "../observability/Metrics.ts"
import * as Scrape from "../observability/Scrape.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError } from "../storage/sql/StorageError.ts"

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const update = Effect.gen(function* () {
    const [waiting] = yield* sql`SELECT COUNT(*) AS total FROM (
      SELECT 1 AS one FROM webhook_deliveries WHERE due_at >= 0 LIMIT 10000) AS waiting`
    const now = yield* Clock.currentTimeMillis
    const due = yield* sql`SELECT due_at, created_at FROM webhook_deliveries WHERE due_at <= ${now}
      ORDER BY due_at LIMIT 100`
    // A new delivery is due at 0.
    const lags = due.map((row) => now - Math.max(Dialect.int(row, "due_at"), Dialect.int(row, "created_at")))
    yield* Metrics.webhooksWaiting(
      waiting === undefined ? 0 : Dialect.int(waiting, "total"),
      Math.max(0, ...lags) / 1000
    )
  }).pipe(mapSqlError("DeliveryMetrics.update"))
  return [{ name: "webhooks", update }]
})

/** Registers the source. */
export const layer: Layer.Layer<never, never, Scrape.Scrape | SqlClient> = Scrape.layerSources(make)
