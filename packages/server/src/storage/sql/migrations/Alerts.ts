/** Rules that watch the gateway, and the times that they fired. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the tables, and the indexes of keys that expire. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE alerts (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL,
    workspace_id TEXT,
    sender_workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    threshold DOUBLE PRECISION NOT NULL,
    window_seconds INTEGER,
    min_requests INTEGER,
    key_hash TEXT,
    guardrail_id TEXT,
    model TEXT,
    provider TEXT,
    target_type TEXT NOT NULL,
    url TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    checked_at BIGINT NOT NULL,
    evaluated_at BIGINT,
    last_value DOUBLE PRECISION,
    firing_id TEXT,
    state_since BIGINT,
    ended_since BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX alerts_organization ON alerts (organization_id, created_at, id)`
  yield* sql`CREATE INDEX alerts_due ON alerts (checked_at) WHERE enabled = 1`
  yield* sql`CREATE TABLE alert_firings (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL,
    workspace_id TEXT,
    alert_id TEXT NOT NULL,
    alert_name TEXT NOT NULL,
    kind TEXT NOT NULL,
    value DOUBLE PRECISION NOT NULL,
    message TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    resolved_at BIGINT,
    resolved_reason TEXT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX alert_firings_organization ON alert_firings (organization_id, created_at, id)`
  yield* sql`CREATE INDEX alert_firings_alert ON alert_firings (alert_id, created_at, id)`
  yield* sql`CREATE INDEX alert_firings_time ON alert_firings (created_at, id)`
  // Keys without an expiry, most of all, are in none of these.
  yield* sql`CREATE INDEX keys_expiry ON keys (organization_id, expires_at)
    WHERE expires_at IS NOT NULL AND deleted_at IS NULL AND disabled = 0`
  yield* sql`CREATE INDEX keys_expiry_workspace ON keys (workspace_id, expires_at)
    WHERE expires_at IS NOT NULL AND deleted_at IS NULL AND disabled = 0`
})
