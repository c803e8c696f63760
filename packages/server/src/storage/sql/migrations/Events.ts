/** The outbox. Ids are UUIDs v7, so rows are stored in the order of time. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the table. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE events (
    id TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
  ) ${withoutRowId(sql)}`
})
