/**
 * Limits for stored answers: the owner and the size of each, and a counter per API key. Large
 * answers are stored compressed in the last column, so that reading the other columns does not read
 * it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Adds the columns and the counter. Existing answers stay uncounted until they expire. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  const blob = sql.onDialectOrElse({ sqlite: () => sql.literal("BLOB"), orElse: () => sql.literal("BYTEA") })
  yield* sql`ALTER TABLE idempotency ADD COLUMN key_hash TEXT NOT NULL DEFAULT ''`
  yield* sql`ALTER TABLE idempotency ADD COLUMN bytes BIGINT NOT NULL DEFAULT 0`
  yield* sql`ALTER TABLE idempotency ADD COLUMN packed ${blob}`
  yield* sql`CREATE INDEX idempotency_kept ON idempotency (key_hash, expires_at, bytes) WHERE bytes > 0`
  yield* sql`CREATE TABLE idempotency_bytes (
    key_hash TEXT NOT NULL PRIMARY KEY,
    bytes BIGINT NOT NULL
  ) ${withoutRowId(sql)}`
})
