/**
 * Processes, open intents, the usage ledger, the credit ledger, free-model days and stored answers.
 *
 * An intent is a reservation of a request in progress. The table stays as small as the number of
 * requests in progress, so the reaper reads little. The usage ledger gets one row per finished
 * request and is append-only. Neither table has foreign keys to keys or workspaces: the ledger
 * outlives them, and the check would slow down every paid request.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the tables. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient

  yield* sql`CREATE TABLE processes (
    id TEXT NOT NULL PRIMARY KEY,
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`

  yield* sql`CREATE TABLE intents (
    id TEXT NOT NULL PRIMARY KEY,
    state TEXT NOT NULL,
    owner TEXT,
    job_id TEXT,
    key_hash TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    guardrail_id TEXT,
    operation TEXT NOT NULL,
    model TEXT NOT NULL,
    amount_micro BIGINT NOT NULL,
    is_byok INTEGER NOT NULL,
    day_start BIGINT NOT NULL,
    reserved_at BIGINT NOT NULL,
    abandoned_at BIGINT
  ) ${withoutRowId(sql)}`

  yield* sql`CREATE TABLE usage_ledger (
    id TEXT NOT NULL PRIMARY KEY,
    key_hash TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    guardrail_id TEXT,
    job_id TEXT,
    operation TEXT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    upstream_model TEXT NOT NULL,
    is_byok INTEGER NOT NULL,
    is_late INTEGER NOT NULL,
    reserved_micro BIGINT NOT NULL,
    cost_micro BIGINT NOT NULL,
    usage TEXT,
    reserved_at BIGINT NOT NULL,
    settled_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  // Only contains rows that an operator should check, so ordinary requests do not pay for it.
  yield* sql`CREATE INDEX usage_ledger_notable ON usage_ledger (settled_at)
    WHERE cost_micro > reserved_micro OR is_late = 1`

  yield* sql`CREATE TABLE credit_ledger (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    amount_micro BIGINT NOT NULL,
    balance_micro BIGINT NOT NULL,
    note TEXT,
    created_at BIGINT NOT NULL
  )`
  yield* sql`CREATE INDEX credit_ledger_workspace ON credit_ledger (workspace_id, created_at, id)`

  yield* sql`CREATE TABLE free_model_days (
    key_hash TEXT NOT NULL,
    day_start BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (key_hash, day_start)
  ) ${withoutRowId(sql)}`

  yield* sql`CREATE TABLE idempotency (
    scope TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    owner TEXT,
    status INTEGER,
    headers TEXT,
    body TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (scope, idempotency_key)
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX idempotency_expiry ON idempotency (expires_at)`
})
