/** An index of what is due to one receiver, so that all of it can be postponed. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** Creates the index. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE INDEX webhook_deliveries_receiver ON webhook_deliveries (workspace_id, host, due_at)
    WHERE due_at IS NOT NULL`
})
