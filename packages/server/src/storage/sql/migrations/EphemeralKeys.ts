/** Ephemeral keys. They have no budget and no guardrail, because they act as their parent. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the table. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE ephemeral_keys (
    hash TEXT NOT NULL PRIMARY KEY,
    parent_hash TEXT NOT NULL REFERENCES keys (hash),
    label TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX ephemeral_keys_parent ON ephemeral_keys (parent_hash, created_at, hash)`
  yield* sql`CREATE INDEX ephemeral_keys_expiry ON ephemeral_keys (expires_at)`
})
