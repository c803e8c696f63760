/**
 * The tables of the first release. Those of paid requests are in `LedgerTables.ts` and
 * `UsageDays.ts`.
 *
 * Amounts are micro-credits, times are epoch milliseconds. A list that is read in pages has an
 * index with exactly its rows in its order, so that every page costs the same. Where a page skips
 * rows, its index also contains the columns of its own condition, because SQLite checks the
 * condition again: without them it would read the row of every skipped item.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"
import * as LedgerTables from "./LedgerTables.ts"
import * as UsageDays from "./UsageDays.ts"

/** Processes, and things that may happen only once in the life of a database. */
const processes = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE processes (
    id TEXT NOT NULL PRIMARY KEY,
    started_at BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE TABLE milestones (
    name TEXT NOT NULL PRIMARY KEY,
    reached_at BIGINT NOT NULL
  )`
})

/** Organizations and workspaces. The row of a deleted workspace stays: ledgers refer to it. */
const workspaces = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE organizations (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  // `emptied_at` is when nothing but ledgers and deleted keys referred to the workspace any more.
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
    updated_at BIGINT NOT NULL,
    slug TEXT NOT NULL DEFAULT '',
    description TEXT,
    created_by TEXT,
    deleted_at BIGINT,
    emptied_at BIGINT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE UNIQUE INDEX workspaces_default ON workspaces (organization_id) WHERE is_default = 1`
  yield* sql`CREATE UNIQUE INDEX workspaces_slug ON workspaces (organization_id, slug) WHERE deleted_at IS NULL`
  yield* sql`CREATE INDEX workspaces_organization ON workspaces (organization_id, created_at, id) WHERE deleted_at IS NULL`
  yield* sql`CREATE INDEX workspaces_deleted ON workspaces (deleted_at) WHERE emptied_at IS NULL`
  // All workspaces of an organization: the sums of a deleted one remain.
  yield* sql`CREATE INDEX workspaces_usage ON workspaces (organization_id, id)`
})

/** Guardrails and keys. Their limits are in the table `budgets`. */
const keys = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE guardrails (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    name TEXT NOT NULL,
    description TEXT,
    allowed_models TEXT,
    allowed_providers TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    workspace_id TEXT REFERENCES workspaces (id) ON DELETE SET NULL,
    ignored_models TEXT,
    ignored_providers TEXT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX guardrails_organization ON guardrails (organization_id, created_at, id)`
  yield* sql`CREATE INDEX guardrails_workspace ON guardrails (workspace_id, organization_id, created_at, id)
    WHERE workspace_id IS NOT NULL`
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
    updated_at BIGINT NOT NULL,
    guardrail_assigned_at BIGINT,
    guardrail_assigned_by TEXT,
    external_user TEXT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX keys_organization ON keys (organization_id, created_at, hash, deleted_at)
    WHERE deleted_at IS NULL`
  yield* sql`CREATE INDEX keys_workspace ON keys (organization_id, workspace_id, created_at, hash, deleted_at)
    WHERE deleted_at IS NULL`
  yield* sql`CREATE INDEX keys_organization_enabled ON keys (organization_id, created_at, hash, deleted_at, disabled)
    WHERE deleted_at IS NULL AND disabled = 0`
  yield* sql`CREATE INDEX keys_workspace_enabled ON keys (organization_id, workspace_id, created_at, hash, deleted_at, disabled)
    WHERE deleted_at IS NULL AND disabled = 0`
  // Assignments of one guardrail, and those of an organization.
  yield* sql`CREATE INDEX keys_guardrail ON keys (guardrail_id, guardrail_assigned_at, hash) WHERE guardrail_id IS NOT NULL`
  yield* sql`CREATE INDEX keys_guarded ON keys (organization_id, guardrail_assigned_at, hash, guardrail_id)
    WHERE guardrail_id IS NOT NULL`
})

/**
 * Ephemeral keys. They have no budget and no guardrail, because they act as their parent.
 *
 * They expire in another order than they are created. The index of their list also contains the
 * expiry, so that expired keys are skipped without reading their rows.
 */
const ephemeralKeys = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE ephemeral_keys (
    hash TEXT NOT NULL PRIMARY KEY,
    parent_hash TEXT NOT NULL REFERENCES keys (hash),
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    operations TEXT,
    own_files INTEGER NOT NULL DEFAULT 0
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX ephemeral_keys_parent ON ephemeral_keys (parent_hash, created_at, hash, expires_at)`
  yield* sql`CREATE INDEX ephemeral_keys_unexpired ON ephemeral_keys (parent_hash, expires_at)`
  yield* sql`CREATE INDEX ephemeral_keys_expiry ON ephemeral_keys (expires_at)`
})

/** Provider keys of callers. Their secrets are encrypted; see `access/Vault.ts`. */
const providerKeys = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE provider_keys (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    provider TEXT NOT NULL,
    name TEXT,
    label TEXT NOT NULL,
    master_key_id TEXT NOT NULL,
    data_key TEXT NOT NULL,
    secret TEXT NOT NULL,
    disabled INTEGER NOT NULL,
    is_fallback INTEGER NOT NULL,
    is_required INTEGER NOT NULL,
    is_byok_only INTEGER NOT NULL,
    declared_zdr INTEGER,
    allowed_keys TEXT,
    allowed_models TEXT,
    allowed_users TEXT,
    sort_order INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX provider_keys_workspace ON provider_keys (workspace_id, created_at, id)`
  // The master key of a database whose processes have none in their settings: at most one row.
  yield* sql`CREATE TABLE master_key (
    id INTEGER NOT NULL PRIMARY KEY CHECK (id = 1),
    secret TEXT NOT NULL
  )`
})

/**
 * Stored answers, with a counter of their bytes per API key. Large answers are stored compressed in
 * the last column, so that reading the other columns does not read it.
 */
const answers = Effect.gen(function* () {
  const sql = yield* SqlClient
  const blob = sql.onDialectOrElse({ sqlite: () => sql.literal("BLOB"), orElse: () => sql.literal("BYTEA") })
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
    key_hash TEXT NOT NULL DEFAULT '',
    bytes BIGINT NOT NULL DEFAULT 0,
    packed ${blob},
    PRIMARY KEY (scope, idempotency_key)
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX idempotency_expiry ON idempotency (expires_at)`
  yield* sql`CREATE INDEX idempotency_kept ON idempotency (key_hash, expires_at, bytes) WHERE bytes > 0`
  yield* sql`CREATE TABLE idempotency_bytes (
    key_hash TEXT NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE TABLE free_model_days (
    key_hash TEXT NOT NULL,
    day_start BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (key_hash, day_start)
  ) ${withoutRowId(sql)}`
})

/** Records of stored files. Their bytes are in the object store under `object_key`. */
const files = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE files (
    id TEXT NOT NULL PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    key_hash TEXT NOT NULL,
    filename TEXT NOT NULL,
    purpose TEXT NOT NULL,
    content_type TEXT NOT NULL,
    size_bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    object_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ephemeral_hash TEXT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX files_workspace ON files (workspace_id, created_at, id)`
  yield* sql`CREATE INDEX files_ephemeral ON files (ephemeral_hash, created_at, id) WHERE ephemeral_hash IS NOT NULL`
})

/**
 * Video jobs. The row is authoritative and the queue only wakes it: every transition increments
 * `step`, and a message with an older step is skipped.
 *
 * Provider and upstream model are those of the current candidate, and `upstream_job_id` is the
 * upstream's handle as JSON. `asked_at` is since when the current candidate may have the job, so
 * that it is then tried nowhere else. The credential is the one used at submission.
 */
const videos = Effect.gen(function* () {
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
    reservation_id TEXT NOT NULL,
    is_byok INTEGER NOT NULL,
    cost_micro BIGINT,
    outputs TEXT,
    error TEXT,
    callback_url TEXT,
    cancel_requested_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deadline_at BIGINT NOT NULL,
    completed_at BIGINT,
    candidates TEXT,
    asked_at BIGINT,
    ephemeral_hash TEXT,
    attempts TEXT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX video_jobs_open ON video_jobs (deadline_at) WHERE completed_at IS NULL`
  // Identifiers start with their time, so their order is that of the list.
  yield* sql`CREATE INDEX video_jobs_newest ON video_jobs (workspace_id, id)`
  yield* sql`CREATE INDEX video_jobs_status ON video_jobs (workspace_id, status, id)`
  yield* sql`CREATE INDEX video_jobs_ephemeral ON video_jobs (workspace_id, ephemeral_hash, id)
    WHERE ephemeral_hash IS NOT NULL`
  // In a separate table, because it may contain megabytes of images and the job is read and written
  // often. `described` is the request without the content of its images and references.
  yield* sql`CREATE TABLE video_requests (
    job_id TEXT NOT NULL PRIMARY KEY REFERENCES video_jobs (id),
    request TEXT NOT NULL,
    described TEXT
  )`
})

/**
 * The outbox. Its key is a plain sequence: SQLite appends to such a table with the least work, and
 * paid requests append to it.
 */
const events = Effect.gen(function* () {
  const sql = yield* SqlClient
  const sequence = sql.onDialectOrElse({
    sqlite: () => sql.literal("INTEGER PRIMARY KEY"),
    orElse: () => sql.literal("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY")
  })
  yield* sql`CREATE TABLE events (
    sequence ${sequence},
    created_at BIGINT NOT NULL,
    body TEXT NOT NULL
  )`
})

/** Broadcast destinations, each with the sequence of the last event that is done with. */
const destinations = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE destinations (
    id TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    workspace_id TEXT NOT NULL REFERENCES workspaces (id),
    name TEXT NOT NULL,
    type TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    options TEXT NOT NULL,
    secrets TEXT NOT NULL,
    revision INTEGER NOT NULL,
    delivered BIGINT NOT NULL,
    process_id TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX destinations_workspace ON destinations (workspace_id, created_at, id)`
  yield* sql`CREATE INDEX destinations_enabled ON destinations (enabled, id)`
})

/**
 * Deliveries of webhooks, the attempts to deliver them, and the secrets that sign them.
 *
 * `due_at` is when a process looks at a delivery next: the time of the next attempt or, while one
 * is under way, the time at which another process takes it over. It is null when nothing is left to
 * do.
 */
const webhooks = Effect.gen(function* () {
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
  // What is due to one receiver, so that all of it can be postponed.
  yield* sql`CREATE INDEX webhook_deliveries_receiver ON webhook_deliveries (workspace_id, host, due_at)
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

/** Creates all tables. A table that refers to another comes after it. */
export const migration = Effect.all(
  [
    processes,
    workspaces,
    keys,
    ephemeralKeys,
    providerKeys,
    LedgerTables.create,
    UsageDays.create,
    answers,
    files,
    videos,
    events,
    destinations,
    webhooks
  ],
  { discard: true }
)
