/** When a provider key was used last, and how that call ended. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Adds the columns. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`ALTER TABLE provider_keys ADD COLUMN used_at BIGINT`
  yield* sql`ALTER TABLE provider_keys ADD COLUMN outcome TEXT`
  yield* sql`ALTER TABLE provider_keys ADD COLUMN outcome_status INTEGER`
})
