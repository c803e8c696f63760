/**
 * The outbox. Its key is a plain sequence: SQLite appends to such a table with the least work, and
 * every paid request appends to it.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Creates the table. */
export const migration = Effect.gen(function* () {
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
