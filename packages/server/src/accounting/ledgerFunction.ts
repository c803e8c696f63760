/**
 * The function in the database that writes paid requests in one round trip. Its body is made of the
 * statements of `LedgerStatements.ts`.
 *
 * **Locks.** A batch first locks all rows that it may change: reservations, budgets and workspaces,
 * each sorted by id. Idempotency keys and the counters of their answers follow, the counters
 * sorted. All writers follow this order, so batches of several processes never wait for each other
 * in a circle. After that it checks and writes one item after the other, so that the rows show each
 * item what those before it did. An item that is refused has written nothing.
 */
import { announce } from "../storage/postgres/eventFunctions.ts"
import * as PostgresFunction from "../storage/postgres/PostgresFunction.ts"
import { insertEvent } from "../storage/sql/EventLog.ts"
import * as Statements from "./LedgerStatements.ts"

/** The fields of an item of a batch. */
const fields = [
  "kind text, id text, owner text, job_id text, key_hash text, workspace_id text, guardrail_id text",
  "ephemeral_hash text, external_user text, request_id text",
  "operation text, model text, amount bigint, is_byok bigint, byok_extra bigint, now bigint",
  "day bigint, week bigint, month bigint, credits bigint, byok bigint",
  "is_charged boolean, has_entry boolean, status text, error_status bigint, provider text, upstream_model text",
  "cost bigint, usage text, attempts text",
  "event_at bigint, event text",
  "scope text, idempotency_key text, answer_owner text, answer_key_hash text, answer_status bigint, headers text",
  "body text, packed text, bytes bigint"
].join(", ")

const starts = ["item.day", "item.week", "item.month"] as const

/** Checks a reservation against a budget, and leaves the item if the budget does not allow it. */
const checkBudget = (scope: "key" | "guardrail", id: string, byok: string, missing: string) => `
      SELECT b.*, ${Statements.inline(Statements.fits, "", ...starts, "", "", "item.credits", byok)} AS fits
        INTO budget FROM budgets b WHERE id = ${id};
      IF NOT FOUND THEN
        ${missing}
      ELSIF budget.day_start > item.day THEN
        RETURN NEXT json_build_object('refused', 'ClockBehind', 'day', budget.day_start);
        CONTINUE;
      ELSIF NOT budget.fits THEN
        RETURN NEXT json_build_object('refused', 'OverBudget', 'scope', '${scope}', 'budget', row_to_json(budget));
        CONTINUE;
      END IF;`

const leave = (what: string) => `RETURN NEXT json_build_object('refused', 'Missing', 'what', '${what}');
        CONTINUE;`

const hold = `
      SELECT * INTO intent FROM intents WHERE id = item.id;
      IF FOUND AND intent.state = 'open' THEN
        RETURN NEXT json_build_object('amount', intent.amount_micro, 'reserved_at', intent.reserved_at);
        CONTINUE;
      END IF;
      v_is_known := FOUND;
      ${checkBudget("key", "item.key_hash", "item.byok", leave("key"))}
      IF item.is_byok = 0 THEN
        IF item.guardrail_id IS NOT NULL THEN
          ${checkBudget("guardrail", "item.guardrail_id", "0", "-- It was deleted meanwhile.")}
        END IF;
        SELECT balance_micro, reserved_micro, ${Statements.inline(Statements.affordable, "", "item.credits")} AS affordable
          INTO workspace FROM workspaces WHERE id = item.workspace_id;
        IF NOT FOUND THEN
          ${leave("workspace")}
        ELSIF NOT workspace.affordable THEN
          RETURN NEXT json_build_object('refused', 'OverBalance', 'balance', workspace.balance_micro,
            'reserved', workspace.reserved_micro);
          CONTINUE;
        END IF;
      END IF;
      IF v_is_known THEN DELETE FROM intents WHERE id = item.id; END IF;
      ${Statements.inline(
        Statements.insertIntent,
        "item.id",
        "item.owner",
        "item.job_id",
        "item.key_hash",
        "item.workspace_id",
        "item.guardrail_id",
        "item.operation",
        "item.model",
        "item.amount",
        "item.is_byok",
        "item.byok_extra",
        "item.day",
        "item.now",
        "item.ephemeral_hash",
        "item.external_user",
        "item.request_id"
      )};
      ${Statements.inline(Statements.applyToBudget, "item.key_hash", ...starts, "0", "0", "item.credits", "item.byok")};
      IF item.is_byok = 0 THEN
        ${Statements.inline(Statements.applyToBudget, "item.guardrail_id", ...starts, "0", "0", "item.credits", "0")};
        ${Statements.inline(Statements.holdInWorkspace, "item.workspace_id", "item.credits")};
      END IF;
      RETURN NEXT json_build_object('amount', item.amount, 'reserved_at', item.now);`

const intentStarts = ["intent.day_start", "v_week", "v_month"] as const

/** Moves what an intent holds to what was used; see `SqliteLedger`. */
const move = `
      v_week := intent.day_start - mod(intent.day_start / 86400000 + 3, 7) * 86400000;
      v_month := extract(epoch FROM date_trunc('month', to_timestamp(intent.day_start / 1000) AT TIME ZONE 'UTC')
        AT TIME ZONE 'UTC')::bigint * 1000;
      ${Statements.inline(Statements.applyToBudget, "intent.key_hash", ...intentStarts, "v_used", "v_used_byok", "-v_held", "-v_held_byok")};
      IF v_used <> 0 OR v_held <> 0 THEN
        ${Statements.inline(Statements.applyToBudget, "intent.guardrail_id", ...intentStarts, "v_used", "0", "-v_held", "0")};
        ${Statements.inline(Statements.chargeWorkspace, "intent.workspace_id", "v_used", "v_held")};
      END IF;`

const holds = `
        v_held := CASE WHEN intent.is_byok = 1 THEN 0 ELSE intent.amount_micro END;
        v_held_byok := CASE WHEN intent.is_byok = 1 THEN intent.amount_micro ELSE intent.byok_extra_micro END;`

const end = `
      v_settlement := 'already';
      v_reserved := NULL;
      ${Statements.inline(Statements.takeIntent, "item.id")} INTO intent;
      IF FOUND THEN
        v_is_late := intent.state = 'abandoned';
        v_settlement := CASE WHEN v_is_late THEN 'late' ELSE 'done' END;
        v_is_byok := coalesce(item.is_byok, intent.is_byok);
        v_written := 0;
        IF item.has_entry THEN
          v_reserved := intent.amount_micro
            + CASE WHEN item.is_charged AND v_is_byok = 1 THEN intent.byok_extra_micro ELSE 0 END;
          ${Statements.inline(
            Statements.insertEntry,
            "item.id",
            "intent.key_hash",
            "intent.workspace_id",
            "intent.guardrail_id",
            "intent.job_id",
            "intent.operation",
            "intent.model",
            "item.provider",
            "item.upstream_model",
            "v_is_byok",
            "CASE WHEN item.is_charged AND v_is_late THEN 1 ELSE 0 END",
            "v_reserved",
            "item.cost",
            "item.usage",
            "intent.reserved_at",
            "item.now",
            "item.attempts",
            "item.status",
            "item.error_status",
            "intent.ephemeral_hash",
            "intent.external_user",
            "intent.request_id"
          )};
          GET DIAGNOSTICS v_written = ROW_COUNT;
        END IF;
        v_used := 0;
        v_used_byok := 0;
        v_held := 0;
        v_held_byok := 0;
        IF NOT v_is_late THEN ${holds}
        END IF;
        IF item.is_charged THEN
          IF v_written = 0 THEN
            v_settlement := 'already';
          ELSIF v_is_byok = 1 THEN
            v_used_byok := item.cost;
          ELSE
            v_used := item.cost;
          END IF;
        END IF;
        IF item.is_charged OR NOT v_is_late THEN ${move}
        END IF;
      END IF;
      IF item.event IS NOT NULL AND v_settlement <> 'already' THEN
        IF NOT v_announced THEN
          PERFORM ${announce.name}();
          v_announced := true;
        END IF;
        ${insertEvent("item.event_at", "item.event")};
      END IF;
      RETURN NEXT CASE WHEN item.is_charged AND v_settlement <> 'already'
        THEN json_build_object('settlement', v_settlement, 'operation', intent.operation, 'model', intent.model,
          'reserved', v_reserved)
        ELSE json_build_object('settlement', v_settlement) END;`

const abandon = `
      ${Statements.inline(Statements.abandonIntent, "item.id", "item.owner", "item.now")} INTO intent;
      IF FOUND THEN
        v_used := 0;
        v_used_byok := 0;
        ${holds}
        ${move}
        RETURN NEXT json_build_object('freed', 1);
      ELSE
        RETURN NEXT json_build_object('freed', 0);
      END IF;`

/**
 * Leaves an item whose process has lost the idempotency key, unless its reservation had ended
 * before.
 */
const claim = `
      PERFORM FROM idempotency i WHERE i.scope = item.scope AND i.idempotency_key = item.idempotency_key
        AND i.owner = item.answer_owner FOR UPDATE;
      v_is_holder := FOUND;
      IF NOT v_is_holder AND (item.id IS NULL OR EXISTS (SELECT FROM intents i WHERE i.id = item.id)) THEN
        RETURN NEXT json_build_object('lost', true);
        CONTINUE;
      END IF;`

const store = `
      ${Statements.inline(
        Statements.storeAnswer,
        "item.answer_status",
        "item.headers",
        "item.body",
        "decode(item.packed, 'base64')",
        "item.bytes",
        "item.scope",
        "item.idempotency_key",
        "item.answer_owner"
      )};
      counted_keys := counted_keys || item.answer_key_hash;
      counted_bytes := counted_bytes || item.bytes;`

/**
 * Writes a batch of reservations, ends and answers. Returns a result for each of them, in order,
 * and then the stored bytes of each API key that has stored an answer.
 */
export const apply = PostgresFunction.make(
  "gateway_ledger",
  `(batch text) RETURNS SETOF json LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  items json := batch::json;
  item record;
  intent record;
  budget record;
  workspace record;
  counter record;
  ids text[];
  budget_ids text[];
  workspace_ids text[];
  v_is_holder boolean;
  v_is_known boolean;
  v_is_late boolean;
  v_is_byok bigint;
  v_settlement text;
  v_reserved bigint;
  v_written bigint;
  v_used bigint;
  v_used_byok bigint;
  v_held bigint;
  v_held_byok bigint;
  v_week bigint;
  v_month bigint;
  v_total bigint;
  v_announced boolean := false;
  counted_keys text[] := '{}';
  counted_bytes bigint[] := '{}';
BEGIN
  SELECT array_agg(x.id), array_agg(x.key_hash) || array_agg(x.guardrail_id), array_agg(x.workspace_id)
    INTO ids, budget_ids, workspace_ids
    FROM json_to_recordset(items) AS x(id text, key_hash text, guardrail_id text, workspace_id text);
  PERFORM FROM intents i WHERE i.id = ANY (ids) ORDER BY i.id FOR UPDATE;
  SELECT budget_ids || array_agg(i.key_hash) || array_agg(i.guardrail_id), workspace_ids || array_agg(i.workspace_id)
    INTO budget_ids, workspace_ids FROM intents i WHERE i.id = ANY (ids);
  PERFORM FROM budgets b WHERE b.id = ANY (budget_ids) ORDER BY b.id FOR NO KEY UPDATE;
  PERFORM FROM workspaces w WHERE w.id = ANY (workspace_ids) ORDER BY w.id FOR NO KEY UPDATE;

  FOR item IN SELECT * FROM json_to_recordset(items) AS x(${fields}) LOOP
    v_is_holder := true;
    IF item.scope IS NOT NULL THEN ${claim}
    END IF;
    IF item.kind = 'hold' THEN ${hold}
    ELSIF item.kind = 'end' THEN ${end}
    ELSIF item.kind = 'abandon' THEN ${abandon}
    ELSE
      RETURN NEXT json_build_object('kept', true);
    END IF;
    IF item.scope IS NOT NULL AND v_is_holder THEN ${store}
    END IF;
  END LOOP;

  FOR counter IN SELECT x.key_hash, sum(x.bytes)::bigint AS bytes FROM unnest(counted_keys, counted_bytes) AS x(key_hash, bytes)
    GROUP BY x.key_hash ORDER BY x.key_hash COLLATE "C" LOOP
    ${Statements.inline(Statements.countBytes, "counter.key_hash", "counter.bytes")} INTO v_total;
    RETURN NEXT json_build_object('key_hash', counter.key_hash, 'bytes', v_total);
  END LOOP;
END $$`
)
