/** The alerts of a deleted workspace. Their firings stay until they are old. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { WorkspacePart } from "../storage/sql/WorkspacePart.ts"

/** Sends nothing: the messages of a deleted workspace are given up. */
export const make = Effect.map(SqlClient, (sql): WorkspacePart => ({
  remove: Effect.fnUntraced(function* ({ id, organizationId }, now) {
    yield* sql`UPDATE alert_firings SET resolved_at = ${now}, resolved_reason = 'deleted'
      WHERE organization_id = ${organizationId} AND workspace_id = ${id} AND resolved_at IS NULL`
    yield* sql`DELETE FROM alerts WHERE organization_id = ${organizationId} AND workspace_id = ${id}`
  })
}))
