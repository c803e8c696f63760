/**
 * The SQL of paid requests, and with it the rules of budgets.
 *
 * Both databases run the same text: SQLite one statement at a time, Postgres inside a function that
 * {@link inline} generates. Parameters are written `:name`.
 *
 * A row of `budgets` has the sums of all periods, so that a paid request touches it once. The
 * first write of a new period resets that period's sums. Periods only move forward: a process whose
 * clock is behind another's at midnight must count in the later day.
 */
import { addCounters, boundedModel, counters as dayCounters, place } from "../storage/sql/migrations/UsageDays.ts"
import type { Column } from "../storage/sql/Table.ts"
import { entries, reservations } from "./Ledger.ts"
import type { AnswerRow, ClaimRow } from "./LedgerStore.ts"

const counters = ["usage", "byok", "reserved", "byok_reserved"]
const periods = ["day", "week", "month"]

/** Adds to each counter in total and in the periods in which the change counts. */
const advance = [
  ...counters.map((counter) => `${counter} = ${counter} + :${counter}`),
  ...periods.map(
    (period) => `${period}_start = CASE WHEN ${period}_start < :${period} THEN :${period} ELSE ${period}_start END`
  ),
  ...counters.flatMap((counter) =>
    periods.map((period) => {
      const column = `${counter}_${period}`
      return `${column} = CASE WHEN ${period}_start = :${period} THEN ${column} + :${counter} WHEN ${period}_start < :${period} THEN :${counter} ELSE ${column} END`
    })
  )
].join(", ")

const counted = (suffix: string): string =>
  `usage${suffix} + reserved${suffix} + include_byok * (byok${suffix} + byok_reserved${suffix})`

const usedIn = (period: string): string =>
  `CASE WHEN ${period}_start = :${period} THEN ${counted(`_${period}`)} ELSE 0 END`

/**
 * Whether a budget allows a reservation of `:reserved` in credits and `:byok_reserved` as BYOK
 * usage, in the periods that start at `:day`, `:week` and `:month`.
 */
export const fits = `(limit_micro IS NULL OR CAST(:reserved AS BIGINT) + include_byok * :byok_reserved = 0 OR :reserved + include_byok * :byok_reserved + CASE limit_reset
  WHEN 'daily' THEN ${usedIn("day")}
  WHEN 'weekly' THEN ${usedIn("week")}
  WHEN 'monthly' THEN ${usedIn("month")}
  ELSE ${counted("")} END <= limit_micro)`

/** Applies a change to a budget, in those periods that are still current. */
export const applyToBudget = `UPDATE budgets SET ${advance} WHERE id = :budget_id`

/** Applies a reservation to a budget if it allows it. */
export const reserveInBudget = `${applyToBudget} AND day_start <= :day AND ${fits}`

/** Whether the credits of a workspace suffice to reserve `:credits`. */
export const affordable = `(CAST(:credits AS BIGINT) = 0 OR balance_micro - reserved_micro >= :credits)`

/** Reserves `:credits` of a workspace if they suffice. */
export const reserveInWorkspace = `UPDATE workspaces SET reserved_micro = reserved_micro + :credits WHERE id = :workspace_id AND ${affordable}`

/** Charges `:used` to a workspace and releases `:credits`. */
export const chargeWorkspace = `UPDATE workspaces SET balance_micro = balance_micro - :used, reserved_micro = reserved_micro - :credits WHERE id = :workspace_id`

/** The reservation of an id. */
export const selectReservation = `SELECT * FROM reservations WHERE id = :id`

const insertInto = (
  table: string,
  columns: ReadonlyArray<Column>,
  constants: Readonly<Record<string, string>> = {}
): string => {
  const names = columns.map(({ name }) => name)
  const values = [...names.map((name) => `:${name}`), ...Object.values(constants)]
  return `INSERT INTO ${table} (${[...names, ...Object.keys(constants)].join(", ")}) VALUES (${values.join(", ")}) ON CONFLICT (id) DO NOTHING`
}

/** Writes a reservation. Writes nothing if the id has one. */
export const insertReservation = insertInto("reservations", reservations.insertColumns)

/** Deletes an open reservation, so that it ends once. */
export const deleteOpenReservation = `DELETE FROM reservations WHERE id = :id AND state = 'open'`

/** Deletes a reservation and returns it, so that it ends once. */
export const takeReservation = `DELETE FROM reservations WHERE id = :id RETURNING *`

/** Marks an open reservation of the process `:owner` as abandoned. */
export const abandonReservation = `UPDATE reservations SET state = 'abandoned', abandoned_at = :now
  WHERE id = :id AND owner = :owner AND state = 'open' RETURNING *`

/**
 * Writes an entry of the usage ledger, once for each id, on SQLite. The writer adds it to the sums
 * of its day, so the trigger does not.
 */
export const insertEntry = insertInto("usage_ledger", entries.insertColumns, { is_summed: "1" })

const placeNames = place.split(", ")
const dayNames = [...placeNames, ...dayCounters]

/** Adds to the sums of a day in their row, if there is one. */
export const addToDay = `UPDATE usage_days SET ${dayCounters.map((name) => `${name} = ${name} + :${name}`).join(", ")}
  WHERE ${placeNames.map((name) => `${name} = :${name}`).join(" AND ")}`

/** Adds to the sums of a day, also if there is no row. */
export const insertDay = `INSERT INTO usage_days (${dayNames.join(", ")})
  VALUES (${dayNames.map((name) => `:${name}`).join(", ")}) ${addCounters}`

/**
 * Adds to the sums of a day of a workspace, for a model without a row. Returns the model under
 * which it counts.
 */
export const insertBoundedDay = `INSERT INTO usage_days (${dayNames.join(", ")})
  SELECT ${dayNames.map((name) => (name === "model" ? boundedModel("one_entry") : `:${name}`)).join(", ")}
  FROM (SELECT :workspace_id AS workspace_id, :day_start AS reserved_at, :model AS model, :provider AS provider,
    :cost_micro + :byok_micro AS cost_micro) AS one_entry WHERE true
  ${addCounters} RETURNING model`

/** The columns of a claim, with their types. */
export const claimColumns = {
  scope: "text",
  idempotency_key: "text",
  key_hash: "text",
  fingerprint: "text",
  owner: "text",
  created_at: "bigint",
  expires_at: "bigint"
} as const

/** The values of {@link claimColumns}. */
export const claimParams = ({ createdAt, expiresAt, fingerprint, key, keyHash, owner, scope }: ClaimRow) =>
  ({
    scope,
    idempotency_key: key,
    key_hash: keyHash,
    fingerprint,
    owner,
    created_at: createdAt,
    expires_at: expiresAt
  }) satisfies Record<keyof typeof claimColumns, unknown>

const claimNames = Object.keys(claimColumns)

/** Writes the claims of this clause. Leaves those whose key is claimed or has an answer. */
export const insertClaims = (rows: string): string =>
  `INSERT INTO idempotency (${claimNames.join(", ")}) ${rows} ON CONFLICT (scope, idempotency_key) DO NOTHING`

/** Writes one claim. */
export const insertClaim = insertClaims(`VALUES (${claimNames.map((name) => `:${name}`).join(", ")})`)

/** The parameters of {@link storeAnswer} and {@link countBytes}. */
export const answerParams = ({ bytes, body, headers, key, keyHash, owner, packed, scope, status }: AnswerRow) => ({
  scope,
  idempotency_key: key,
  answer_owner: owner,
  answer_key_hash: keyHash,
  answer_status: status,
  headers,
  body,
  packed,
  bytes
})

/** Stores the answer to an idempotency key that the process `:answer_owner` has claimed. */
export const storeAnswer = `UPDATE idempotency SET owner = NULL, status = :answer_status, headers = :headers, body = :body, packed = :packed, bytes = :bytes
  WHERE scope = :scope AND idempotency_key = :idempotency_key AND owner = :answer_owner`

/** Counts the stored bytes of an API key, and returns them all. */
export const countBytes = `INSERT INTO idempotency_bytes (key_hash, bytes) VALUES (:answer_key_hash, :bytes)
  ON CONFLICT (key_hash) DO UPDATE SET bytes = idempotency_bytes.bytes + excluded.bytes RETURNING bytes`

/** A statement with its parameters replaced by expressions, for the body of a function. */
export const inline = (statement: string, expressionOf: (parameter: string) => string | undefined): string =>
  statement.replaceAll(/:([a-z_]+)/g, (parameter, name: string) => {
    const expression = expressionOf(name)
    if (expression === undefined) throw new RangeError(`${parameter} has no expression`)
    return expression
  })
