/** The broadcast destinations of a deleted workspace. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { WorkspacePart } from "../storage/sql/WorkspacePart.ts"

/** Makes the part. */
export const make = Effect.map(SqlClient, (sql): WorkspacePart => ({
  remove: ({ id }) => Effect.asVoid(sql`DELETE FROM destinations WHERE workspace_id = ${id}`)
}))
