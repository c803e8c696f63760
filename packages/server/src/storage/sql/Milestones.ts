/** Things that happen only once in the life of a database. */
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"

/**
 * Whether this transaction is the first to reach the milestone. Concurrent ones wait for it and
 * return false.
 */
export const reach = Effect.fnUntraced(function* (sql: SqlClient, name: string) {
  const now = yield* Clock.currentTimeMillis
  const rows = yield* sql`INSERT INTO milestones (name, reached_at) VALUES (${name}, ${now})
    ON CONFLICT (name) DO NOTHING RETURNING name`
  return rows.length > 0
})
