/** The reservations of a workspace. Its ledger stays. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { WorkspacePart } from "../storage/sql/WorkspacePart.ts"

/** Makes the part. */
export const make = Effect.map(SqlClient, (sql): WorkspacePart => ({
  inUse: ({ id }) =>
    Effect.map(sql`SELECT 1 FROM reservations WHERE workspace_id = ${id} AND state = 'open' LIMIT 1`, (rows) =>
      rows.length > 0
        ? "Requests or video jobs of the workspace are still running. Wait until they have ended."
        : undefined
    )
}))
