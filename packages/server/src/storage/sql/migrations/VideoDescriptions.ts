/**
 * The request of a video job without the content of its images and references, if it has any. Most
 * of what happens to a job needs no images, and they may be megabytes.
 *
 * `request` stays complete, so that a process of an earlier release can still submit the job.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the column. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE video_requests ADD COLUMN described TEXT`
})
