/** Provider keys of callers. Their secrets are encrypted; see `access/Vault.ts`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the table. */
export const migration = Effect.gen(function* () {
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
})
