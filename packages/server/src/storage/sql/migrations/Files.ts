/** Records of stored files. Their bytes are in the object store under `object_key`. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the table. */
export const migration = Effect.gen(function* () {
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
    created_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX files_workspace ON files (workspace_id, created_at, id)`
})
