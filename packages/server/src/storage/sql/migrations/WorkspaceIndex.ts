/** Drops the index of an organization's workspaces. No operation lists them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Drops the index. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`DROP INDEX workspaces_organization`
})
