/** The trace that a video job, and the webhook of its end, continue: a `traceparent`, or null. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE video_jobs ADD COLUMN trace_parent TEXT`
  yield* sql`ALTER TABLE webhook_deliveries ADD COLUMN trace_parent TEXT`
})
