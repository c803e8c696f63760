/** Who changed what. Rows are added and, when they are old, deleted; nothing updates them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the table. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE audit_log (
    id TEXT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    organization_id TEXT NOT NULL,
    actor TEXT NOT NULL,
    actor_label TEXT NOT NULL,
    actor_role TEXT NOT NULL,
    address TEXT,
    action TEXT NOT NULL,
    target_kind TEXT NOT NULL,
    target_id TEXT NOT NULL,
    fields_before TEXT,
    fields_after TEXT,
    request_id TEXT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX audit_log_time ON audit_log (created_at, id)`
  yield* sql`CREATE INDEX audit_log_target ON audit_log (target_id, created_at, id)`
})
