/**
 * Organizations, workspaces, keys, guardrails, and the budgets of keys and guardrails.
 *
 * Keys and guardrails have the same limit and counters, so each has one row in `budgets`,
 * identified by the key's hash or the guardrail's id. The row contains the sums of the current UTC
 * day, ISO week and month, and the start of each period. The first write of a later period resets
 * its sum. Amounts are micro-credits, times are epoch milliseconds.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the tables. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient

  yield* sql`CREATE TABLE organizations (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`

  yield* sql`CREATE TABLE workspaces (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    is_default INTEGER NOT NULL,
    default_callback_url TEXT,
    file_shape TEXT NOT NULL,
    balance_micro BIGINT NOT NULL,
    reserved_micro BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE UNIQUE INDEX workspaces_default ON workspaces (organization_id) WHERE is_default = 1`
  yield* sql`CREATE INDEX workspaces_organization ON workspaces (organization_id, created_at, id)`

  yield* sql`CREATE TABLE guardrails (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    description TEXT,
    allowed_models TEXT,
    allowed_providers TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX guardrails_organization ON guardrails (organization_id, created_at, id)`

  yield* sql`CREATE TABLE keys (
    hash TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    guardrail_id TEXT REFERENCES guardrails (id),
    name TEXT NOT NULL,
    label TEXT NOT NULL,
    is_management INTEGER NOT NULL,
    is_free_tier INTEGER NOT NULL,
    creator_user_id TEXT,
    expires_at BIGINT,
    disabled INTEGER NOT NULL,
    deleted_at BIGINT,
    free_daily_limit INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX keys_organization ON keys (organization_id, created_at, hash)`
  yield* sql`CREATE INDEX keys_guardrail ON keys (guardrail_id) WHERE guardrail_id IS NOT NULL`

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
    held BIGINT NOT NULL DEFAULT 0,
    held_day BIGINT NOT NULL DEFAULT 0,
    held_week BIGINT NOT NULL DEFAULT 0,
    held_month BIGINT NOT NULL DEFAULT 0,
    byok_held BIGINT NOT NULL DEFAULT 0,
    byok_held_day BIGINT NOT NULL DEFAULT 0,
    byok_held_week BIGINT NOT NULL DEFAULT 0,
    byok_held_month BIGINT NOT NULL DEFAULT 0
  ) ${withoutRowId(sql)}`

  // Things that may happen only once in the life of a database, such as creating the first keys.
  yield* sql`CREATE TABLE milestones (
    name TEXT NOT NULL PRIMARY KEY,
    reached_at BIGINT NOT NULL
  )`
})
