/** What a reservation holds besides its amount, for a request that may use a key of its caller. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the column. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE intents ADD COLUMN byok_extra_micro BIGINT NOT NULL DEFAULT 0`
})
