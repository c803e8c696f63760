/** The whole ledger, for tests that check what was charged. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { intentRow, usageRow } from "../../src/accounting/Ledger.ts"

/** The entries of the usage ledger, oldest first. */
export const usageOf = Effect.fnUntraced(function* (filter?: {
  readonly keyHash?: string
  readonly workspaceId?: string
}) {
  const rows = yield* (yield* SqlClient)`SELECT * FROM usage_ledger ORDER BY settled_at, id`
  return rows
    .map(usageRow)
    .filter(({ keyHash }) => filter?.keyHash === undefined || keyHash === filter.keyHash)
    .filter(({ workspaceId }) => filter?.workspaceId === undefined || workspaceId === filter.workspaceId)
})

/** The open intents, oldest first. */
export const openIntents = Effect.gen(function* () {
  const rows = yield* (yield* SqlClient)`SELECT * FROM intents WHERE state = 'open' ORDER BY reserved_at, id`
  return rows.map(intentRow)
})
