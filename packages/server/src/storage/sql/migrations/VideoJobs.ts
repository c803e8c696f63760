/**
 * Video jobs. The row is authoritative and the queue only wakes it: every transition increments
 * `step`, and a message with an older step is skipped. Provider and upstream model are those of the
 * current candidate. The credential is the one used at submission.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the tables. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE video_jobs (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_hash TEXT NOT NULL,
    status TEXT NOT NULL,
    step INTEGER NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    upstream_model TEXT NOT NULL,
    credential TEXT,
    upstream_job_id TEXT,
    generation_id TEXT,
    progress DOUBLE PRECISION,
    intent_id TEXT NOT NULL,
    is_byok INTEGER NOT NULL,
    cost_micro BIGINT,
    outputs TEXT,
    error TEXT,
    callback_url TEXT,
    cancel_requested_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    completed_at BIGINT
  ) ${withoutRowId(sql)}`
  // In a separate table, because it may contain megabytes of images and the job is read and written
  // often.
  yield* sql`CREATE TABLE video_requests (
    job_id TEXT NOT NULL PRIMARY KEY REFERENCES video_jobs (id),
    request TEXT NOT NULL
  )`
  yield* sql`CREATE INDEX video_jobs_workspace ON video_jobs (workspace_id, created_at, id)`
  yield* sql`CREATE INDEX video_jobs_open ON video_jobs (deadline_at) WHERE completed_at IS NULL`
})
