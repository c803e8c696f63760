/** The files of a deleted workspace. The object sweep removes their bytes. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { WorkspacePart } from "../storage/sql/WorkspacePart.ts"

/** Makes the part. */
export const make = Effect.map(SqlClient, (sql): WorkspacePart => ({
  inUse: ({ id }) =>
    Effect.map(sql`SELECT 1 FROM files WHERE workspace_id = ${id} LIMIT 1`, (rows) =>
      rows.length > 0 ? "The workspace has files. Delete them first." : undefined
    ),
  remove: ({ id }) => Effect.asVoid(sql`DELETE FROM files WHERE workspace_id = ${id}`)
}))
