/** The keys, provider keys and guardrails of a deleted workspace. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { WorkspacePart } from "../storage/sql/WorkspacePart.ts"

/** Guardrails stay, because keys of other workspaces may have them, and are listed nowhere. */
export const make = Effect.map(SqlClient, (sql): WorkspacePart => {
  const keysOf = (id: string, organizationId: string) =>
    sql`organization_id = ${organizationId} AND workspace_id = ${id} AND deleted_at IS NULL`
  return {
    inUse: ({ id, organizationId }) =>
      Effect.map(sql`SELECT 1 FROM keys WHERE ${keysOf(id, organizationId)} LIMIT 1`, (rows) =>
        rows.length > 0 ? "The workspace has API keys. Delete them first, disabled ones too." : undefined
      ),
    remove: Effect.fnUntraced(function* ({ id, organizationId }, now) {
      yield* sql`UPDATE keys SET deleted_at = ${now}, guardrail_id = NULL WHERE ${keysOf(id, organizationId)}`
      yield* sql`UPDATE guardrails SET workspace_id = NULL WHERE workspace_id = ${id}`
      yield* sql`DELETE FROM provider_keys WHERE workspace_id = ${id}`
    })
  }
})
