/**
 * The SQL of paid requests, and with it the rules of budgets.
 *
 * Both databases run the same text: SQLite one statement at a time, Postgres inside a function that
 * {@link inline} generates. Parameters are written `?1`, `?2`, …
 *
 * A row of `budgets` holds the sums of all periods, so that a paid request touches it once. The
 * first write of a new period resets that period's sums. Periods only move forward: a process whose
 * clock is behind another's at midnight must count in the later day.
 */

/** The change to each counter of a budget. */
const counters = [
  ["usage", "?5"],
  ["byok", "?6"],
  ["held", "?7"],
  ["byok_held", "?8"]
] as const

/** The starts of the periods in which the change counts. */
const periods = [
  ["day", "?2"],
  ["week", "?3"],
  ["month", "?4"]
] as const

const advance = [
  ...counters.map(([counter, delta]) => `${counter} = ${counter} + ${delta}`),
  ...periods.map(
    ([period, start]) => `${period}_start = CASE WHEN ${period}_start < ${start} THEN ${start} ELSE ${period}_start END`
  ),
  ...counters.flatMap(([counter, delta]) =>
    periods.map(([period, start]) => {
      const column = `${counter}_${period}`
      return `${column} = CASE WHEN ${period}_start = ${start} THEN ${column} + ${delta} WHEN ${period}_start < ${start} THEN ${delta} ELSE ${column} END`
    })
  )
].join(", ")

const counted = (suffix: string): string =>
  `usage${suffix} + held${suffix} + include_byok * (byok${suffix} + byok_held${suffix})`

const within = (period: string, start: string): string =>
  `CASE WHEN ${period}_start = ${start} THEN ${counted(`_${period}`)} ELSE 0 END`

/**
 * Whether a budget allows a reservation of `?7` in credits and `?8` as BYOK usage, in the periods
 * `?2` to `?4`.
 */
export const fits = `(limit_micro IS NULL OR CAST(?7 AS BIGINT) + include_byok * ?8 = 0 OR ?7 + include_byok * ?8 + CASE limit_reset
  WHEN 'daily' THEN ${within("day", "?2")}
  WHEN 'weekly' THEN ${within("week", "?3")}
  WHEN 'monthly' THEN ${within("month", "?4")}
  ELSE ${counted("")} END <= limit_micro)`

/** Applies a change to the budget `?1`, in those periods that are still current. */
export const applyToBudget = `UPDATE budgets SET ${advance} WHERE id = ?1`

/** Applies a reservation to the budget `?1` if it allows it. */
export const holdInBudget = `${applyToBudget} AND day_start <= ?2 AND ${fits}`

/** Whether the credits of a workspace suffice to hold `?2`. */
export const affordable = `(CAST(?2 AS BIGINT) = 0 OR balance_micro - reserved_micro >= ?2)`

/** Reserves `?2` of the credits of the workspace `?1` if they suffice. */
export const holdInWorkspace = `UPDATE workspaces SET reserved_micro = reserved_micro + ?2 WHERE id = ?1 AND ${affordable}`

/** Charges `?2` to the workspace `?1` and releases `?3`. */
export const chargeWorkspace = `UPDATE workspaces SET balance_micro = balance_micro - ?2, reserved_micro = reserved_micro - ?3 WHERE id = ?1`

/** The reservation of an id. */
export const selectIntent = `SELECT * FROM intents WHERE id = ?1`

/** Writes a reservation. Writes nothing if the id has one. */
export const insertIntent = `INSERT INTO intents (id, state, owner, job_id, key_hash, workspace_id, guardrail_id, operation, model,
    amount_micro, is_byok, byok_extra_micro, day_start, reserved_at, ephemeral_hash, external_user,
    request_id)
  VALUES (?1, 'open', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) ON CONFLICT (id) DO NOTHING`

/** Deletes a reservation and returns it, so that it ends once. */
export const takeIntent = `DELETE FROM intents WHERE id = ?1 RETURNING *`

/** Marks an open reservation of the process `?2` as abandoned. */
export const abandonIntent = `UPDATE intents SET state = 'abandoned', abandoned_at = ?3
  WHERE id = ?1 AND owner = ?2 AND state = 'open' RETURNING *`

/** Writes an entry of the usage ledger, once for each id. */
export const insertEntry = `INSERT INTO usage_ledger (id, key_hash, workspace_id, guardrail_id, job_id, operation, model, provider,
    upstream_model, is_byok, is_late, reserved_micro, cost_micro, usage, reserved_at, settled_at, attempts, status, error_status, ephemeral_hash,
    external_user, request_id)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22) ON CONFLICT (id) DO NOTHING`

/** Stores the answer to an idempotency key that the process `?8` holds. */
export const storeAnswer = `UPDATE idempotency SET owner = NULL, status = ?1, headers = ?2, body = ?3, packed = ?4, bytes = ?5
  WHERE scope = ?6 AND idempotency_key = ?7 AND owner = ?8`

/** Counts the stored bytes of an API key, and returns them all. */
export const countBytes = `INSERT INTO idempotency_bytes (key_hash, bytes) VALUES (?1, ?2)
  ON CONFLICT (key_hash) DO UPDATE SET bytes = idempotency_bytes.bytes + excluded.bytes RETURNING bytes`

/** A statement with its parameters replaced by expressions, for the body of a function. */
export const inline = (statement: string, ...expressions: ReadonlyArray<string>): string =>
  statement.replaceAll(/\?(\d+)/g, (parameter, number: string) => {
    const expression = expressions[Number(number) - 1]
    if (expression === undefined) throw new RangeError(`${parameter} has no expression`)
    return expression
  })
