/**
 * On SQLite, stores the answers to idempotency keys in the order in which they arrive, with an
 * index of their keys. Before, the table was ordered by its keys, which clients draw at random. So
 * each answer was written in the middle of others, between pages that were no longer in memory, and
 * the other two indexes contained both parts of each key.
 *
 * It copies the stored answers, at most `kept-answers-total`: 1 GiB took 18 seconds on a busy
 * machine.
 *
 * Postgres stores its tables like this anyway.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

const columns =
  "scope, idempotency_key, fingerprint, owner, status, headers, body, created_at, expires_at, key_hash, bytes, packed"

const statements = [
  "DROP INDEX idempotency_expiry",
  "DROP INDEX idempotency_kept",
  "ALTER TABLE idempotency RENAME TO idempotency_upgrade",
  `CREATE TABLE idempotency (
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
    packed BLOB,
    PRIMARY KEY (scope, idempotency_key)
  )`,
  "CREATE INDEX idempotency_expiry ON idempotency (expires_at)",
  "CREATE INDEX idempotency_kept ON idempotency (key_hash, expires_at, bytes) WHERE bytes > 0",
  `INSERT INTO idempotency (${columns}) SELECT ${columns} FROM idempotency_upgrade`,
  "DROP TABLE idempotency_upgrade"
]

/** Copies the table on SQLite. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  const needed = sql.onDialectOrElse({ pg: () => [], orElse: () => statements })
  for (const statement of needed) yield* sql.unsafe(statement)
})
