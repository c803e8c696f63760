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
 * When a workspace has so many rows of a day, requests that cost nothing add none for further
 * models. When it has twice as many, neither do others. So requests that cost nothing cannot use up
 * the rows of the models that people pay for.
 */
const maxUnpaidRows = 500

/** Requests name no longer model. Earlier versions accepted longer ones. */
const maxModelLength = 256

/** The model of the row that has the sums of all further models. */
const otherModels = "other"

const place = "workspace_id, key_hash, day_start, model, provider"

const counters = ["requests", "failed", "cost_micro", "byok_micro", "prompt_tokens", "completion_tokens"]

const tokens = (count: string) =>
  `CASE WHEN CAST(${count} AS NUMERIC) BETWEEN 0 AND 1000000000 THEN CAST(CAST(${count} AS NUMERIC) AS BIGINT) ELSE 0 END`

const promptOf = (usage: string) => `coalesce(${usage} ->> 'input_tokens', ${usage} ->> 'total_tokens')`

const completionOf = (usage: string) => `${usage} ->> 'output_tokens'`

/** What one entry of the ledger adds. */
const ofEntry = (entry: string, prompt: string, completion: string): ReadonlyArray<string> => [
  "1",
  `CASE ${entry}.status WHEN 'completed' THEN 0 ELSE 1 END`,
  `CASE ${entry}.is_byok WHEN 0 THEN ${entry}.cost_micro ELSE 0 END`,
  `CASE ${entry}.is_byok WHEN 0 THEN 0 ELSE ${entry}.cost_micro END`,
  tokens(prompt),
  tokens(completion)
]

const dayOf = (entry: string): string => `${entry}.reserved_at - ${entry}.reserved_at % ${dayMillis}`

const placeOf = (entry: string, key: string, model = `${entry}.model`): string =>
  `${entry}.workspace_id, ${key}, ${dayOf(entry)}, ${model}, ${entry}.provider`

const sumsOf = (values: ReadonlyArray<string>): string => values.map((value) => `SUM(${value})`).join(", ")

const insert = `INSERT INTO usage_days (${place}, ${counters.join(", ")})`

const addToRow = `ON CONFLICT (${place}) DO UPDATE SET
  ${counters.map((counter) => `${counter} = usage_days.${counter} + excluded.${counter}`).join(", ")}`

/** Adds the entry `NEW`, to the sums of this model. */
const addTo = (model: string, prompt: string, completion: string): string => `${insert}
  SELECT ${placeOf("NEW", "k.key_hash", model)}, ${ofEntry("NEW", prompt, completion).join(", ")}
  FROM (SELECT '' AS key_hash UNION ALL SELECT NEW.key_hash) AS k WHERE true
  ${addToRow};`

const add = (prompt: string, completion: string): string => addTo("NEW.model", prompt, completion)

/** The row of the model that the entry `NEW` names, if it has one. */
const ownRow = `SELECT 1 FROM usage_days d WHERE d.workspace_id = NEW.workspace_id AND d.key_hash = ''
  AND d.day_start = ${dayOf("NEW")} AND d.model = NEW.model AND d.provider = NEW.provider`

/** The rows of the day, as far as they need to be counted. */
const rowsOfDay = `SELECT COUNT(*) FROM (SELECT 1 FROM usage_days d WHERE d.workspace_id = NEW.workspace_id
  AND d.key_hash = '' AND d.day_start = ${dayOf("NEW")} LIMIT ${2 * maxUnpaidRows}) AS rows_of_day`

/** The model under which the entry `NEW` counts. */
const boundedModel = `CASE WHEN length(NEW.model) > ${maxModelLength} THEN '${otherModels}'
  WHEN EXISTS (${ownRow}) THEN NEW.model
  WHEN (${rowsOfDay}) < CASE NEW.cost_micro WHEN 0 THEN ${maxUnpaidRows} ELSE ${2 * maxUnpaidRows} END THEN NEW.model
  ELSE '${otherModels}' END`

/** Adds the sums of models with longer names to those of the other models. */
const foldLongNames = [
  `${insert}
  SELECT workspace_id, key_hash, day_start, '${otherModels}', provider, ${sumsOf(counters)}
  FROM usage_days WHERE length(model) > ${maxModelLength} GROUP BY workspace_id, key_hash, day_start, provider
  ${addToRow}`,
  `DELETE FROM usage_days WHERE length(model) > ${maxModelLength}`
]

/** Adds the entries that exist to their keys. `entries` reads their JSON once. */
const addToKeys = (entries: string): string => `${insert}
  SELECT ${placeOf("l", "l.key_hash")}, ${sumsOf(ofEntry("l", "l.prompt", "l.completion"))}
  FROM (${entries}) AS l GROUP BY 1, 2, 3, 4, 5`

const entriesWith = (usage: string): string =>
  `SELECT *, ${promptOf(usage)} AS prompt, ${completionOf(usage)} AS completion FROM usage_ledger`

/** Adds the sums of the keys to their workspaces, instead of reading the ledger again. */
const addToWorkspaces = `${insert}
  SELECT workspace_id, '', day_start, model, provider, ${sumsOf(counters)}
  FROM usage_days GROUP BY workspace_id, day_start, model, provider`

/** Creates the table, the index and the trigger, and adds the entries of the ledger. */
export const migration = Effect.gen(function* () {
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
  // All workspaces of an organization: the sums of a deleted one remain.
  yield* sql`CREATE INDEX workspaces_usage ON workspaces (organization_id, id)`
  const { entries, trigger } = sql.onDialectOrElse({
    pg: () => ({
      // `OFFSET 0`: Postgres would read the JSON for each use of a count.
      entries: `${entriesWith("usage::json")} OFFSET 0`,
      trigger: [
        // The JSON is read once, because this runs in every paid request.
        `CREATE FUNCTION gateway_usage_days_1() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  usage json := NEW.usage::json;
  prompt numeric := CAST(${promptOf("usage")} AS NUMERIC);
  completion numeric := CAST(${completionOf("usage")} AS NUMERIC);
BEGIN
  ${add("prompt", "completion")}
  RETURN NULL;
END $$`,
        `CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger FOR EACH ROW EXECUTE FUNCTION gateway_usage_days_1()`
      ]
    }),
    orElse: () => ({
      entries: entriesWith("usage"),
      trigger: [
        `CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger BEGIN ${add(promptOf("NEW.usage"), completionOf("NEW.usage"))} END`
      ]
    })
  })
  // On Postgres, the trigger waits for those who write entries, and makes further ones wait.
  for (const statement of [...trigger, addToKeys(entries), addToWorkspaces]) yield* sql.unsafe(statement)
})

/**
 * Bounds the rows of a day. A caller may name any model where an offer takes all names, also ones
 * that no provider has. Beyond {@link maxUnpaidRows}, further models share a row, so that the sums
 * stay exact.
 *
 * Rows are counted only for a model without a row on that day.
 */
export const boundRows = Effect.gen(function* () {
  const sql = yield* SqlClient
  const trigger = sql.onDialectOrElse({
    pg: () => [
      "DROP TRIGGER usage_ledger_days ON usage_ledger",
      "DROP FUNCTION gateway_usage_days_1()",
      `CREATE FUNCTION gateway_usage_days_2() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  usage json := NEW.usage::json;
  prompt numeric := CAST(${promptOf("usage")} AS NUMERIC);
  completion numeric := CAST(${completionOf("usage")} AS NUMERIC);
  counted text := ${boundedModel};
BEGIN
  ${addTo("counted", "prompt", "completion")}
  RETURN NULL;
END $$`,
      `CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger FOR EACH ROW EXECUTE FUNCTION gateway_usage_days_2()`
    ],
    orElse: () => [
      "DROP TRIGGER usage_ledger_days",
      `CREATE TRIGGER usage_ledger_days AFTER INSERT ON usage_ledger BEGIN ${addTo(`(${boundedModel})`, promptOf("NEW.usage"), completionOf("NEW.usage"))} END`
    ]
  })
  for (const statement of [...trigger, ...foldLongNames]) yield* sql.unsafe(statement)
})
