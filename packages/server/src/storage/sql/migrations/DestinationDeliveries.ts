/** How a broadcast destination is doing: what it accepted last, what failed, and what waits. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE destinations ADD COLUMN delivered_at BIGINT`
  yield* sql`ALTER TABLE destinations ADD COLUMN waiting_since BIGINT`
  yield* sql`ALTER TABLE destinations ADD COLUMN dropped BIGINT NOT NULL DEFAULT 0`
  yield* sql`ALTER TABLE destinations ADD COLUMN error TEXT`
  yield* sql`ALTER TABLE destinations ADD COLUMN error_at BIGINT`
})
