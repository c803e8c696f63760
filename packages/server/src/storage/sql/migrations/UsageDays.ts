/**
 * What each workspace and each key has used per UTC day, model and provider: the sums of the usage
 * ledger, so that a month of them is read in milliseconds however long the ledger is.
 *
 * A trigger of the ledger adds each new entry to the sums. So they are exact whichever version of
 * the service writes the entry, and they change in the transaction that ends the request. An entry
 * counts on the day on which its request was admitted. It is added twice: to its key, and with an
 * empty `key_hash` to its workspace. On Postgres, a transaction that ends a request has locked the
 * workspace before, so two of them never wait for each other's sums in a circle.
 * `UsageDaysOfBatches.ts` and then `UsageDaysByFunction.ts` replace the trigger there, and
 * `UsageDaysOfCommits.ts` on SQLite.
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
export const maxUnpaidRows = 500

/** Requests name no longer model. */
export const maxModelLength = 256

/** The model of the row that has the sums of all further models. */
export const otherModels = "other"

/** The columns of the key of a row. */
export const place = "workspace_id, key_hash, day_start, model, provider"

/** The columns that are sums. */
export const counters = ["requests", "failed", "cost_micro", "byok_micro", "prompt_tokens", "completion_tokens"]

/** The largest sensible number of tokens. */
export const maxTokens = 1_000_000_000

/** A count of tokens, or 0 if it is no sensible number. */
export const tokens = (count: string) =>
  `CASE WHEN CAST(${count} AS NUMERIC) BETWEEN 0 AND ${maxTokens} THEN CAST(CAST(${count} AS NUMERIC) AS BIGINT) ELSE 0 END`

/** The prompt tokens in the counts of an entry. */
export const promptOf = (usage: string) => `coalesce(${usage} ->> 'input_tokens', ${usage} ->> 'total_tokens')`

/** The completion tokens in the counts of an entry. */
export const completionOf = (usage: string) => `${usage} ->> 'output_tokens'`

/** The start of the day of an entry. */
export const dayOf = (entry: string) => `${entry}.reserved_at - ${entry}.reserved_at % ${dayMillis}`

/** Adds to the row that exists already. */
export const addCounters = `ON CONFLICT (${place}) DO UPDATE SET
  ${counters.map((counter) => `${counter} = usage_days.${counter} + excluded.${counter}`).join(", ")}`

/** Adds the entry `NEW`, to the sums of this model. */
const addTo = (
  model: string,
  prompt: string,
  completion: string
): string => `INSERT INTO usage_days (${place}, ${counters.join(", ")})
  SELECT NEW.workspace_id, k.key_hash, ${dayOf("NEW")}, ${model}, NEW.provider, 1,
    CASE NEW.status WHEN 'completed' THEN 0 ELSE 1 END,
    CASE NEW.is_byok WHEN 0 THEN NEW.cost_micro ELSE 0 END,
    CASE NEW.is_byok WHEN 0 THEN 0 ELSE NEW.cost_micro END,
    ${tokens(prompt)},
    ${tokens(completion)}
  FROM (SELECT '' AS key_hash UNION ALL SELECT NEW.key_hash) AS k WHERE true
  ${addCounters};`

/** The row of the model that an entry names, if it has one. */
export const rowOfModel = (entry: string) =>
  `SELECT 1 FROM usage_days d WHERE d.workspace_id = ${entry}.workspace_id AND d.key_hash = ''
  AND d.day_start = ${dayOf(entry)} AND d.model = ${entry}.model AND d.provider = ${entry}.provider`

/** The rows of the day, as far as they need to be counted: only for a model without a row. */
export const rowsOfDay = (entry: string) =>
  `SELECT COUNT(*) FROM (SELECT 1 FROM usage_days d WHERE d.workspace_id = ${entry}.workspace_id
  AND d.key_hash = '' AND d.day_start = ${dayOf(entry)} LIMIT ${2 * maxUnpaidRows}) AS rows_of_day`

/** The model under which an entry counts. */
export const boundedModel = (
  entry: string
): string => `CASE WHEN length(${entry}.model) > ${maxModelLength} THEN '${otherModels}'
  WHEN EXISTS (${rowOfModel(entry)}) THEN ${entry}.model
  WHEN (${rowsOfDay(entry)}) < CASE ${entry}.cost_micro WHEN 0 THEN ${maxUnpaidRows} ELSE ${2 * maxUnpaidRows} END THEN ${entry}.model
  ELSE '${otherModels}' END`

/**
 * What the trigger does for each entry on Postgres. `whole` makes an integer of a number of tokens.
 * The JSON is read once, because this ran in every paid request.
 */
export const postgresFunction = (
  whole = (count: string) => count
) => `CREATE FUNCTION gateway_usage_days() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  usage json := NEW.usage::json;
  prompt numeric := ${whole(`CAST(${promptOf("usage")} AS NUMERIC)`)};
  completion numeric := ${whole(`CAST(${completionOf("usage")} AS NUMERIC)`)};
  counted text := ${boundedModel("NEW")};
BEGIN
  ${addTo("counted", "prompt", "completion")}
  RETURN NULL;
END $$`

const postgresTrigger = [
  postgresFunction(),
  "CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger FOR EACH ROW EXECUTE FUNCTION gateway_usage_days()"
]

/** What the trigger does for each entry on SQLite. */
export const sqliteBody = `BEGIN ${addTo(`(${boundedModel("NEW")})`, promptOf("NEW.usage"), completionOf("NEW.usage"))} END`

const sqliteTrigger = [`CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger ${sqliteBody}`]

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
