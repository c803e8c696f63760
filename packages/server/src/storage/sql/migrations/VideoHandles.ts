/**
 * `upstream_job_id` of a video job holds the upstream's handle as JSON, so that an upstream may
 * name its jobs by more than a string.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../Dialect.ts"

/** Turns each upstream's job id into a JSON string. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT id, upstream_job_id FROM video_jobs WHERE upstream_job_id IS NOT NULL`
  for (const row of rows) {
    const handle = JSON.stringify(Dialect.text(row, "upstream_job_id"))
    yield* sql`UPDATE video_jobs SET upstream_job_id = ${handle} WHERE id = ${Dialect.text(row, "id")}`
  }
})
