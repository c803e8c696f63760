/**
 * On Postgres, adds the entries of a statement to the sums of their days together. Requests end in
 * batches, and a batch writes its entries with one statement, so the rows of a busy workspace are
 * updated once for a batch instead of twice for each request (`pnpm bench usage`).
 *
 * It is a trigger, so the sums stay exact whichever version of the service writes the entries. A
 * transaction that ends requests has locked their workspaces before, and the rows are written in
 * order, so no two of them wait for each other's sums in a circle.
 *
 * `UsageDaysOfCommits.ts` is the same for SQLite.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import {
  addCounters,
  completionOf,
  counters,
  dayOf,
  maxModelLength,
  maxUnpaidRows,
  otherModels,
  place,
  promptOf,
  rowOfModel,
  rowsOfDay,
  tokens
} from "./UsageDays.ts"

/**
 * Models without a row get one while there is room: first those that are paid for, then the others,
 * in the order of their first entries.
 */
export const addAll = `INSERT INTO usage_days (${place}, ${counters.join(", ")})
  WITH entry AS MATERIALIZED (
    SELECT row_number() OVER () AS n, e.*, ${dayOf("e")} AS day_start, e.usage::json AS counts,
      EXISTS (${rowOfModel("e")}) AS has_row
    FROM entries e
  ), new_model AS (
    SELECT workspace_id, day_start, model, provider,
      row_number() OVER (PARTITION BY workspace_id, day_start ORDER BY max(cost_micro) = 0, min(n)) - 1 AS before
    FROM entry WHERE NOT has_row AND length(model) <= ${maxModelLength} GROUP BY workspace_id, day_start, model, provider
  ), counted AS (
    SELECT e.*, CASE WHEN length(e.model) > ${maxModelLength} THEN '${otherModels}'
      WHEN e.has_row THEN e.model
      WHEN (${rowsOfDay("e")}) + m.before < CASE e.cost_micro WHEN 0 THEN ${maxUnpaidRows} ELSE ${2 * maxUnpaidRows} END THEN e.model
      ELSE '${otherModels}' END AS row_model
    FROM entry e LEFT JOIN new_model m USING (workspace_id, day_start, model, provider)
  )
  SELECT workspace_id, k.key_hash, day_start, row_model, provider, count(*),
    count(*) FILTER (WHERE status <> 'completed'),
    coalesce(sum(cost_micro) FILTER (WHERE is_byok = 0), 0),
    coalesce(sum(cost_micro) FILTER (WHERE is_byok <> 0), 0),
    sum(${tokens(promptOf("counts"))}),
    sum(${tokens(completionOf("counts"))})
  FROM counted c CROSS JOIN LATERAL (VALUES (''), (c.key_hash)) AS k (key_hash)
  GROUP BY workspace_id, k.key_hash, day_start, row_model, provider
  ORDER BY workspace_id, k.key_hash, day_start, row_model, provider
  ${addCounters};`

const statements = [
  "DROP TRIGGER usage_ledger_days ON usage_ledger",
  "DROP FUNCTION gateway_usage_days()",
  `CREATE FUNCTION gateway_usage_days_of_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  ${addAll}
  RETURN NULL;
END $$`,
  `CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger REFERENCING NEW TABLE AS entries
  FOR EACH STATEMENT EXECUTE FUNCTION gateway_usage_days_of_batch()`
]

/** Replaces the trigger on Postgres. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  const needed = sql.onDialectOrElse({ pg: () => statements, orElse: () => [] })
  for (const statement of needed) yield* sql.unsafe(statement)
})
