/** Broadcast destinations, each with the sequence of the last event that is done with. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the table. */
export const migration = Effect.gen(function* () {
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
