/**
 * On Postgres, adds an entry that is written alone to the sums of its day with a shorter statement,
 * if its model has a row. The statement for many entries has sorts, windows and aggregates, which
 * take longer to start than to run.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { addCounters, completionOf, counters, dayOf, place, promptOf, rowOfModel, tokens } from "./UsageDays.ts"
import { addAll } from "./UsageDaysOfBatches.ts"

const addOne = `INSERT INTO usage_days (${place}, ${counters.join(", ")})
  SELECT e.workspace_id, k.key_hash, ${dayOf("e")}, e.model, e.provider, 1,
    CASE e.status WHEN 'completed' THEN 0 ELSE 1 END,
    CASE e.is_byok WHEN 0 THEN e.cost_micro ELSE 0 END,
    CASE e.is_byok WHEN 0 THEN 0 ELSE e.cost_micro END,
    ${tokens(promptOf("e.usage::json"))},
    ${tokens(completionOf("e.usage::json"))}
  FROM entries e CROSS JOIN LATERAL (VALUES (''), (e.key_hash)) AS k (key_hash)
  ${addCounters};`

/** The trigger stays. It calls the function by its name, which now has this body. */
const statement = `CREATE OR REPLACE FUNCTION gateway_usage_days_of_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (SELECT count(*) = 1 AND bool_and(EXISTS (${rowOfModel("e")})) FROM entries e) THEN
    ${addOne}
  ELSE
    ${addAll}
  END IF;
  RETURN NULL;
END $$`

/** Replaces the function of the trigger on Postgres. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient
  const needed = sql.onDialectOrElse({ pg: () => [statement], orElse: () => [] })
  for (const text of needed) yield* sql.unsafe(text)
})
