/**
 * On SQLite, the service adds the entries of a commit to the sums of their days itself, once before
 * that commit (`accounting/DaySums.ts`). Requests that end at the same time share a commit, so the
 * rows of a busy key are updated once for all of them instead of twice for each (`pnpm bench
 * usage`).
 *
 * The trigger still adds all other entries: those that an earlier version writes, and those of
 * plain SQL.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { sqliteBody } from "./UsageDays.ts"

/** `is_summed`: whether the writer of the entry adds it to the sums of its day itself. */
const statements = [
  "ALTER TABLE usage_ledger ADD COLUMN is_summed INTEGER NOT NULL DEFAULT 0",
  "DROP TRIGGER usage_ledger_days",
  `CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger WHEN NEW.is_summed = 0 ${sqliteBody}`
]

/** Replaces the trigger on SQLite. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  const needed = sql.onDialectOrElse({ pg: () => [], orElse: () => statements })
  for (const statement of needed) yield* sql.unsafe(statement)
})
