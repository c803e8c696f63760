/** The secrets of keys that were rotated: the first one, the newest, and one whose grace runs. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the table. A key without rows has the secret that it was created with. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE key_secrets (
    hash TEXT NOT NULL PRIMARY KEY,
    key_hash TEXT NOT NULL REFERENCES keys (hash),
    ends_at BIGINT
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX key_secrets_key ON key_secrets (key_hash)`
})
