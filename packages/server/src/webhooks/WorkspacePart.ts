/** The signing secrets and the deliveries of a deleted workspace. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Purge from "../storage/sql/Purge.ts"
import type { WorkspacePart } from "../storage/sql/WorkspacePart.ts"
import * as DeliveryStore from "./DeliveryStore.ts"

/** Gives up what was not delivered. */
export const make = Effect.map(SqlClient, (sql): WorkspacePart => {
  const deleteSome = DeliveryStore.deleteSome(sql)
  return {
    remove: Effect.fnUntraced(function* ({ id }, now) {
      yield* sql`DELETE FROM webhook_secrets WHERE workspace_id = ${id}`
      yield* sql`UPDATE webhook_deliveries SET status = 'failed', claim = NULL, due_at = NULL, finished_at = ${now}
        WHERE workspace_id = ${id} AND status = 'pending'`
    }),
    purge: (id, end) =>
      Purge.all(
        deleteSome(sql`SELECT id FROM webhook_deliveries WHERE workspace_id = ${id} AND finished_at <= ${end}
          LIMIT ${Purge.atOnce} ${Dialect.locked(sql)}`)
      )
  }
})
