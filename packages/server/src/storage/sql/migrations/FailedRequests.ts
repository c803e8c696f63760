/**
 * Finds a request by its id: an index of the usage ledger, and the requests that never got there
 * because they were rejected.
 *
 * Ids of requests that the service made grow with time within a process, so that the index costs a
 * paid request little (`pnpm bench databases`).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

/** Creates the index and the table. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE INDEX usage_ledger_request ON usage_ledger (request_id, reserved_at, id)
    WHERE request_id IS NOT NULL`
  // `omitted` counts similar requests of the same minute that were left out.
  yield* sql`CREATE TABLE rejected_requests (
    id TEXT NOT NULL PRIMARY KEY,
    created_at BIGINT NOT NULL,
    request_id TEXT NOT NULL,
    organization_id TEXT,
    workspace_id TEXT,
    key_hash TEXT,
    operation TEXT NOT NULL,
    model TEXT,
    status INTEGER NOT NULL,
    message TEXT,
    address TEXT NOT NULL,
    duration_ms BIGINT NOT NULL,
    omitted BIGINT NOT NULL DEFAULT 0
  ) ${withoutRowId(sql)}`
  yield* sql`CREATE INDEX rejected_requests_time ON rejected_requests (created_at, id)`
  yield* sql`CREATE INDEX rejected_requests_request ON rejected_requests (request_id, created_at, id)`
})
