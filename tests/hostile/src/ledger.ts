/**
 * Whether the ledger is exact: every sum agrees with its entries, and nothing stays reserved for
 * work that has ended.
 *
 * Each check is one statement, so that it sees one moment while the gateway runs.
 */
import type { Query, Row } from "./database.ts"

const sumsOf = (owner: string): string => `SELECT ${owner} AS id,
    SUM(CASE is_byok WHEN 0 THEN cost_micro ELSE 0 END) AS charged,
    SUM(CASE is_byok WHEN 0 THEN 0 ELSE cost_micro END) AS byok
  FROM usage_ledger GROUP BY ${owner}`

const reservedOf = (owner: string): string => `SELECT ${owner} AS id,
    SUM(CASE is_byok WHEN 0 THEN amount_micro ELSE 0 END) AS reserved
  FROM reservations WHERE state = 'open' GROUP BY ${owner}`

const budgets = (kind: string, owner: string): string => `SELECT * FROM (
    SELECT b.id, b.usage, coalesce(u.charged, 0) AS charged, b.reserved, coalesce(i.reserved, 0) AS reservations
    FROM budgets b LEFT JOIN (${sumsOf(owner)}) u ON u.id = b.id LEFT JOIN (${reservedOf(owner)}) i ON i.id = b.id
    WHERE b.kind = '${kind}') AS all_rows
  WHERE usage <> charged OR reserved <> reservations LIMIT 3`

const workspaces = `SELECT * FROM (
    SELECT w.id, w.balance_micro AS balance, w.reserved_micro AS reserved, coalesce(i.reserved, 0) AS reservations,
      coalesce(c.added, 0) - coalesce(u.charged, 0) AS owed
    FROM workspaces w LEFT JOIN (${sumsOf("workspace_id")}) u ON u.id = w.id
      LEFT JOIN (${reservedOf("workspace_id")}) i ON i.id = w.id
      LEFT JOIN (SELECT workspace_id AS id, SUM(amount_micro) AS added FROM credit_ledger GROUP BY workspace_id) c
        ON c.id = w.id) AS all_rows
  WHERE balance <> owed OR reserved <> reservations LIMIT 3`

const days = (which: string): string => `SELECT * FROM (
    SELECT (SELECT coalesce(SUM(requests), 0) FROM usage_days WHERE ${which}) AS requests,
      (SELECT COUNT(*) FROM usage_ledger) AS entries,
      (SELECT coalesce(SUM(cost_micro + byok_micro), 0) FROM usage_days WHERE ${which}) AS summed,
      (SELECT coalesce(SUM(cost_micro), 0) FROM usage_ledger) AS charged) AS one_row
  WHERE requests <> entries OR summed <> charged`

/** A reservation of a job stays while the job runs. */
const left = `SELECT i.id, i.operation, i.model FROM reservations i LEFT JOIN video_jobs j ON j.id = i.job_id
  WHERE i.state = 'open' AND (i.job_id IS NULL OR j.id IS NULL OR j.completed_at IS NOT NULL) LIMIT 3`

const abandoned = "SELECT id, operation, model FROM reservations WHERE state = 'abandoned' LIMIT 3"

const checks: ReadonlyArray<readonly [name: string, statement: string]> = [
  ["the usage of a key is not the sum of its requests", budgets("key", "key_hash")],
  ["the usage of a guardrail is not the sum of its requests", budgets("guardrail", "guardrail_id")],
  ["the balance of a workspace is not what its ledgers say", workspaces],
  ["the days of the workspaces are not the sum of the requests", days("key_hash = ''")],
  ["the days of the keys are not the sum of the requests", days("key_hash <> ''")],
  ["a reservation is left open", left],
  ["a reservation was abandoned", abandoned]
]

/** Sums come as bigint, number or text. */
const textOf = (row: Row): string =>
  Object.entries(row)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(", ")

/** What is wrong now. Empty: the ledger is exact. */
const problems = async (query: Query): Promise<ReadonlyArray<string>> => {
  const found: Array<string> = []
  for (const [name, statement] of checks) {
    const [row] = await query(statement)
    if (row !== undefined) found.push(`${name} (${textOf(row)})`)
  }
  return found
}

/**
 * What is wrong with the ledger once the requests in progress have had `patience` milliseconds to
 * end.
 */
export const problemsOf = async (query: Query, patience: number): Promise<ReadonlyArray<string>> => {
  const startedAt = performance.now()
  for (;;) {
    const found = await problems(query)
    if (found.length === 0 || performance.now() - startedAt > patience) return found
    await new Promise((resume) => setTimeout(resume, 250))
  }
}
