/**
 * What each workspace and each key has used per UTC day, model and provider: the sums of the usage
 * ledger, so that a month of them is read in milliseconds however long the ledger is.
 *
 * A trigger of the ledger adds each new entry to the sums. So they are exact whichever version of
 * the service writes the entry, and they change in the transaction that ends the request. An entry
 * counts on the day on which its request was admitted. It is added twice: to its key, and with an
 * empty `key_hash` to its workspace. On Postgres, a transaction that ends a request has locked the
 * workspace before, so two of them never wait for each other's sums in a circle.
 *
 * Providers report tokens. A count that is no sensible number is left out, so that it never keeps a
 * request from ending.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { withoutRowId } from "../Dialect.ts"

const dayMillis = 86_400_000

/**
 * When a workspace has this many rows of a day, requests that cost nothing add none for further
 * models. When it has twice as many, neither do others. A caller may name any model where an offer
 * takes all names, also ones that no provider has. So requests that cost nothing cannot use up the
 * rows of the models that people pay for. Further models share a row, so that the sums stay exact.
 */
const maxUnpaidRows = 500

/** Requests name no longer model. */
const maxModelLength = 256

/** The model of the row that has the sums of all further models. */
const otherModels = "other"

const place = "workspace_id, key_hash, day_start, model, provider"

const counters = ["requests", "failed", "cost_micro", "byok_micro", "prompt_tokens", "completion_tokens"]

const tokens = (count: string) =>
  `CASE WHEN CAST(${count} AS NUMERIC) BETWEEN 0 AND 1000000000 THEN CAST(CAST(${count} AS NUMERIC) AS BIGINT) ELSE 0 END`

const promptOf = (usage: string) => `coalesce(${usage} ->> 'input_tokens', ${usage} ->> 'total_tokens')`

const completionOf = (usage: string) => `${usage} ->> 'output_tokens'`

const day = `NEW.reserved_at - NEW.reserved_at % ${dayMillis}`

/** Adds the entry `NEW`, to the sums of this model. */
const addTo = (
  model: string,
  prompt: string,
  completion: string
): string => `INSERT INTO usage_days (${place}, ${counters.join(", ")})
  SELECT NEW.workspace_id, k.key_hash, ${day}, ${model}, NEW.provider, 1,
    CASE NEW.status WHEN 'completed' THEN 0 ELSE 1 END,
    CASE NEW.is_byok WHEN 0 THEN NEW.cost_micro ELSE 0 END,
    CASE NEW.is_byok WHEN 0 THEN 0 ELSE NEW.cost_micro END,
    ${tokens(prompt)},
    ${tokens(completion)}
  FROM (SELECT '' AS key_hash UNION ALL SELECT NEW.key_hash) AS k WHERE true
  ON CONFLICT (${place}) DO UPDATE SET
  ${counters.map((counter) => `${counter} = usage_days.${counter} + excluded.${counter}`).join(", ")};`

/** The row of the model that the entry `NEW` names, if it has one. */
const ownRow = `SELECT 1 FROM usage_days d WHERE d.workspace_id = NEW.workspace_id AND d.key_hash = ''
  AND d.day_start = ${day} AND d.model = NEW.model AND d.provider = NEW.provider`

/** The rows of the day, as far as they need to be counted: only for a model without a row. */
const rowsOfDay = `SELECT COUNT(*) FROM (SELECT 1 FROM usage_days d WHERE d.workspace_id = NEW.workspace_id
  AND d.key_hash = '' AND d.day_start = ${day} LIMIT ${2 * maxUnpaidRows}) AS rows_of_day`

/** The model under which the entry `NEW` counts. */
const boundedModel = `CASE WHEN length(NEW.model) > ${maxModelLength} THEN '${otherModels}'
  WHEN EXISTS (${ownRow}) THEN NEW.model
  WHEN (${rowsOfDay}) < CASE NEW.cost_micro WHEN 0 THEN ${maxUnpaidRows} ELSE ${2 * maxUnpaidRows} END THEN NEW.model
  ELSE '${otherModels}' END`

/** The JSON is read once, because this runs in every paid request. */
const postgresTrigger = [
  `CREATE FUNCTION gateway_usage_days() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  usage json := NEW.usage::json;
  prompt numeric := CAST(${promptOf("usage")} AS NUMERIC);
  completion numeric := CAST(${completionOf("usage")} AS NUMERIC);
  counted text := ${boundedModel};
BEGIN
  ${addTo("counted", "prompt", "completion")}
  RETURN NULL;
END $$`,
  "CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger FOR EACH ROW EXECUTE FUNCTION gateway_usage_days()"
]

const sqliteTrigger = [
  `CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger BEGIN ${addTo(`(${boundedModel})`, promptOf("NEW.usage"), completionOf("NEW.usage"))} END`
]

/** Creates the table and the trigger. */
export const create = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE usage_days (
    workspace_id TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    day_start BIGINT NOT NULL,
    model TEXT NOT NULL,
    provider TEXT NOT NULL,
    requests BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    cost_micro BIGINT NOT NULL,
    byok_micro BIGINT NOT NULL,
    prompt_tokens BIGINT NOT NULL,
    completion_tokens BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, key_hash, day_start, model, provider)
  ) ${withoutRowId(sql)}`
  const trigger = sql.onDialectOrElse({ pg: () => postgresTrigger, orElse: () => sqliteTrigger })
  for (const statement of trigger) yield* sql.unsafe(statement)
})
