/**
 * Budgets, open reservations, the usage ledger and the credit ledger.
 *
 * Keys and guardrails have the same limit and counters, so each has one row in `budgets`,
 * identified by the key's hash or the guardrail's id. The row contains the sums of the current UTC
 * day, ISO week and month, and the start of each period. The first write of a later period resets
 * its sum.
 *
 * An open reservation exists while its request is in progress, an abandoned one until an operator
 * settles or dismisses it. So the table stays small, and the reaper reads little. The usage ledger
 * gets one row per finished request, also for one that failed, and is append-only; `provider` and
 * `upstream_model` are empty if no provider was tried. Neither table has foreign keys to keys or
 * workspaces: the ledger outlives them, and the check would slow down every paid request.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the tables. */
export const create = Effect.gen(function* () {
  const sql = yield* SqlClient

  yield* sql`CREATE TABLE budgets (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    limit_micro BIGINT,
    limit_reset TEXT,
    include_byok BIGINT NOT NULL,
    day_start BIGINT NOT NULL DEFAULT 0,
    week_start BIGINT NOT NULL DEFAULT 0,
    month_start BIGINT NOT NULL DEFAULT 0,
    usage BIGINT NOT NULL DEFAULT 0,
    usage_day BIGINT NOT NULL DEFAULT 0,
    usage_week BIGINT NOT NULL DEFAULT 0,
    usage_month BIGINT NOT NULL DEFAULT 0,
    byok BIGINT NOT NULL DEFAULT 0,
    byok_day BIGINT NOT NULL DEFAULT 0,
    byok_week BIGINT NOT NULL DEFAULT 0,
    byok_month BIGINT NOT NULL DEFAULT 0,
    reserved BIGINT NOT NULL DEFAULT 0,
    reserved_day BIGINT NOT NULL DEFAULT 0,
    reserved_week BIGINT NOT NULL DEFAULT 0,
    reserved_month BIGINT NOT NULL DEFAULT 0,
    byok_reserved BIGINT NOT NULL DEFAULT 0,
    byok_reserved_day BIGINT NOT NULL DEFAULT 0,
    byok_reserved_week BIGINT NOT NULL DEFAULT 0,
    byok_reserved_month BIGINT NOT NULL DEFAULT 0
  ) ${withoutRowId(sql)}`

  // `byok_extra_micro` is what a request that may use a provider key reserves besides its
  // amount.
  yield* sql`CREATE TABLE reservations (
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
    abandoned_at BIGINT,
    byok_extra_micro BIGINT NOT NULL DEFAULT 0,
    ephemeral_hash TEXT,
    external_user TEXT,
    request_id TEXT
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
    settled_at BIGINT NOT NULL,
    status TEXT NOT NULL DEFAULT 'completed',
    error_status INTEGER,
    attempts TEXT,
    ephemeral_hash TEXT,
    external_user TEXT,
    request_id TEXT
  ) ${withoutRowId(sql)}`
  // Only contains rows that an operator should check, so ordinary requests do not pay for it.
  yield* sql`CREATE INDEX usage_ledger_notable ON usage_ledger (settled_at)
    WHERE cost_micro > reserved_micro OR is_late = 1`
  // Pages are read by the time of admission. Rows arrive almost in that order, so the index costs
  // each paid request little (`pnpm bench databases`). Indexes by key and by workspace would not.
  yield* sql`CREATE INDEX usage_ledger_time ON usage_ledger (reserved_at, id)`

  yield* sql`CREATE TABLE credit_ledger (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    amount_micro BIGINT NOT NULL,
    balance_micro BIGINT NOT NULL,
    note TEXT,
    created_at BIGINT NOT NULL
  )`
  // For the sum of the credits that were added to a workspace.
  yield* sql`CREATE INDEX credit_ledger_amounts ON credit_ledger (workspace_id, amount_micro)`
})
