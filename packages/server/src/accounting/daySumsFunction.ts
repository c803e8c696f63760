/**
 * The function in the database that adds the entries of a batch to the sums of their days. Each row
 * of the sums is updated once for a batch. `UsageDays.ts` has the rules. The trigger adds only
 * entries whose `is_summed` is 0.
 *
 * **Locks.** The caller has locked the workspaces of the entries, and the rows are written in
 * order, so no two batches wait for each other's sums in a circle.
 *
 * `DaySums.ts` is the same for SQLite.
 */
import * as PostgresFunction from "../storage/postgres/PostgresFunction.ts"
import { counters } from "../storage/sql/migrations/UsageDays.ts"
import * as Statements from "./LedgerStatements.ts"

const run = (statement: string): string => Statements.inline(statement, (name) => `sums.${name}`)

/** What is added for a model, to the row of the workspace and then to that of each key. */
const grouped = `SELECT workspace_id, coalesce(key_hash, '') AS key_hash, day_start, model, provider,
      ${counters.map((name) => `sum(${name})::bigint AS ${name}`).join(", ")}
      FROM unnest(changes) GROUP BY workspace_id, day_start, model, provider, GROUPING SETS ((), (key_hash))
      ORDER BY workspace_id, day_start, model, provider, 2`

/**
 * Each of `changes` is what requests of a key add to the row of their model. Most often there is
 * one, for which grouping takes as long as all else.
 */
export const add = PostgresFunction.make(
  "gateway_day_sums",
  `(changes usage_days[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  rows usage_days[];
  sums usage_days;
  counted text;
BEGIN
  IF cardinality(changes) = 1 THEN
    rows := changes || changes;
    rows[1].key_hash := '';
  ELSE
    FOR sums IN ${grouped} LOOP
      rows := rows || sums;
    END LOOP;
  END IF;
  FOREACH sums IN ARRAY rows LOOP
    IF sums.key_hash <> '' THEN
      sums.model := counted;
    END IF;
    ${run(Statements.addToDay)};
    IF FOUND THEN
      counted := sums.model;
    ELSIF sums.key_hash <> '' THEN
      ${run(Statements.insertDay)};
    ELSE
      ${run(Statements.insertBoundedDay)} INTO counted;
    END IF;
  END LOOP;
END $$`
)
