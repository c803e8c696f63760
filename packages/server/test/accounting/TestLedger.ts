/** The whole ledger, for tests that check what was charged. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { entries, reservations } from "../../src/accounting/Ledger.ts"

/** The charged requests of the usage ledger, oldest first. */
export const usageOf = Effect.fnUntraced(function* (filter?: {
  readonly keyHash?: string
  readonly workspaceId?: string
}) {
  const rows = yield* (yield* SqlClient)`SELECT * FROM usage_ledger WHERE status = 'completed' ORDER BY settled_at, id`
  return rows
    .map(entries.read)
    .filter(({ keyHash }) => filter?.keyHash === undefined || keyHash === filter.keyHash)
    .filter(({ workspaceId }) => filter?.workspaceId === undefined || workspaceId === filter.workspaceId)
})

/** The requests of the usage ledger that were not completed, oldest first. */
export const failures = Effect.gen(function* () {
  const rows = yield* (yield* SqlClient)`SELECT * FROM usage_ledger WHERE status <> 'completed' ORDER BY settled_at, id`
  return rows.map(entries.read)
})

/** The open reservations, oldest first. */
export const openReservations = Effect.gen(function* () {
  const rows = yield* (yield* SqlClient)`SELECT * FROM reservations WHERE state = 'open' ORDER BY reserved_at, id`
  return rows.map(reservations.read)
})
