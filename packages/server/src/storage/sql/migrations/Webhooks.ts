/**
 * Deliveries of webhooks, the attempts to deliver them, and the secrets that sign them.
 *
 * `due_at` is when a process looks at a delivery next: the time of the next attempt or, while one
 * is under way, the time at which another process takes it over. It is null when nothing is left to
 * do.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the tables. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE webhook_deliveries (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    job_id TEXT NOT NULL,
    type TEXT NOT NULL,
    url TEXT NOT NULL,
    host TEXT NOT NULL,
    body TEXT NOT NULL,
    status TEXT NOT NULL,
    tries INTEGER NOT NULL,
    claim TEXT,
    due_at BIGINT,
    created_at BIGINT NOT NULL,
    finished_at BIGINT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX webhook_deliveries_due ON webhook_deliveries (due_at, workspace_id, host)
    WHERE due_at IS NOT NULL`
  yield* sql`CREATE INDEX webhook_deliveries_finished ON webhook_deliveries (finished_at) WHERE finished_at IS NOT NULL`
  yield* sql`CREATE INDEX webhook_deliveries_job ON webhook_deliveries (job_id)`
  // One for each combination of filters, so that no page of a list is found by scanning.
  yield* sql`CREATE INDEX webhook_deliveries_workspace ON webhook_deliveries (workspace_id, created_at, id)`
  yield* sql`CREATE INDEX webhook_deliveries_status ON webhook_deliveries (workspace_id, status, created_at, id)`
  yield* sql`CREATE INDEX webhook_deliveries_type ON webhook_deliveries (workspace_id, type, created_at, id)`
  yield* sql`CREATE INDEX webhook_deliveries_both ON webhook_deliveries (workspace_id, status, type, created_at, id)`
  yield* sql`CREATE TABLE webhook_attempts (
    delivery_id TEXT NOT NULL REFERENCES webhook_deliveries (id),
    id TEXT NOT NULL,
    attempted_at BIGINT NOT NULL,
    status INTEGER,
    duration_ms BIGINT NOT NULL,
    error TEXT,
    excerpt TEXT,
    PRIMARY KEY (delivery_id, id)
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE TABLE webhook_secrets (
    workspace_id TEXT NOT NULL PRIMARY KEY REFERENCES workspaces (id),
    secrets TEXT NOT NULL,
    updated_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
})
