/** The video jobs of a deleted workspace. The object sweep removes their videos. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Purge from "../storage/sql/Purge.ts"
import type { WorkspacePart } from "../storage/sql/WorkspacePart.ts"
import * as VideoRetention from "./VideoRetention.ts"

/** Makes the part. */
export const make = Effect.map(SqlClient, (sql): WorkspacePart => {
  const deleteSome = VideoRetention.deleteSome(sql)
  return {
    purge: (id, end) =>
      Purge.all(
        deleteSome(sql`SELECT id FROM video_jobs WHERE workspace_id = ${id} AND completed_at <= ${end}
          LIMIT ${Purge.atOnce} ${Dialect.locked(sql)}`)
      ),
    isEmpty: (id) =>
      Effect.map(sql`SELECT 1 FROM video_jobs WHERE workspace_id = ${id} LIMIT 1`, (rows) => rows.length === 0)
  }
})
