/** Sessions of the console, and links that sign in to it once. Both are few, and are deleted. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the tables. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE console_sessions (
    hash TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    secret_hash TEXT,
    actor TEXT NOT NULL,
    label TEXT NOT NULL,
    organization_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    role TEXT NOT NULL,
    workspace_ids TEXT,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX console_sessions_actor ON console_sessions (actor, created_at, hash)`
  yield* sql`CREATE INDEX console_sessions_end ON console_sessions (expires_at, hash)`
  yield* sql`CREATE TABLE console_links (
    hash TEXT NOT NULL PRIMARY KEY,
    organization_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL,
    role TEXT NOT NULL,
    workspace_ids TEXT,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX console_links_end ON console_links (expires_at, hash)`
})
