/**
 * The function in the database that writes paid requests in one round trip. Its body is made of the
 * statements of `LedgerStatements.ts`.
 *
 * **Locks.** A batch first locks all rows that it may change: reservations, budgets and workspaces,
 * each sorted by id. Idempotency keys and the counters of their answers follow, the counters
 * sorted. All writers follow this order, so batches of several processes never wait for each other
 * in a circle. After that it checks and writes one item after the other, so that the rows show each
 * item what those before it did. An item that is refused has written nothing. The entries of all
 * are written together, and so are the sums of their days (`daySumsFunction.ts`).
 */
import { dayMillis } from "../internal/Periods.ts"
import { announce } from "../storage/postgres/eventFunctions.ts"
import * as PostgresFunction from "../storage/postgres/PostgresFunction.ts"
import { enabledDestination, insertEvent } from "../storage/sql/EventLog.ts"
import { entries, originColumns, reservations, resultColumns } from "./Ledger.ts"
import * as daySums from "./daySumsFunction.ts"
import * as Statements from "./LedgerStatements.ts"

/** The field of an item that has this column of its claim. */
export const claimField = (column: string): string => `claim_${column}`

/** The fields of an item of a batch, with their types: the columns that it writes, and others. */
const fields = new Map([
  ["kind", "text"],
  ...[...reservations.insertColumns, ...resultColumns].map(({ name, type }) => [name, type] as const),
  ...Object.entries(Statements.claimColumns).map(([name, type]) => [claimField(name), type] as const),
  ...[
    "prompt_tokens",
    "completion_tokens",
    "now",
    "week",
    "month",
    "credits",
    "byok",
    "event_at",
    "answer_status",
    "bytes"
  ].map((name) => [name, "bigint"] as const),
  ...[
    "event",
    "event_workspace",
    "scope",
    "idempotency_key",
    "answer_owner",
    "answer_key_hash",
    "headers",
    "body",
    "packed"
  ].map((name) => [name, "text"] as const)
])

/** A statement whose parameters are these expressions, and by default fields of the item. */
const run = (statement: string, expressions: Readonly<Record<string, string>> = {}): string =>
  Statements.inline(statement, (name) => expressions[name] ?? (fields.has(name) ? `item.${name}` : undefined))

const starts = { day: "item.day_start", week: "item.week", month: "item.month" }

/** A reservation in a budget. */
const reservedIn = (id: string, byok: string) => ({
  ...starts,
  budget_id: id,
  usage: "0",
  byok: "0",
  reserved: "item.credits",
  byok_reserved: byok
})

/** Checks a reservation against a budget, and leaves the item if the budget does not allow it. */
const checkBudget = (scope: "key" | "guardrail", id: string, byok: string, missing: string) => `
      SELECT b.*, ${run(Statements.fits, reservedIn(id, byok))} AS fits
        INTO budget FROM budgets b WHERE id = ${id};
      IF NOT FOUND THEN
        ${missing}
      ELSIF budget.day_start > item.day_start THEN
        RETURN NEXT json_build_object('refused', 'ClockBehind', 'day', budget.day_start);
        CONTINUE;
      ELSIF NOT budget.fits THEN
        RETURN NEXT json_build_object('refused', 'OverBudget', 'scope', '${scope}', 'budget', row_to_json(budget));
        CONTINUE;
      END IF;`

const leave = (what: string) => `RETURN NEXT json_build_object('refused', 'Missing', 'what', '${what}');
        CONTINUE;`

const reserve = `
      SELECT * INTO reservation FROM reservations WHERE id = item.id;
      IF FOUND AND reservation.state = 'open' THEN
        RETURN NEXT json_build_object('amount', reservation.amount_micro, 'reserved_at', reservation.reserved_at);
        CONTINUE;
      END IF;
      v_is_known := FOUND;
      ${checkBudget("key", "item.key_hash", "item.byok", leave("key"))}
      IF item.is_byok = 0 THEN
        IF item.guardrail_id IS NOT NULL THEN
          ${checkBudget("guardrail", "item.guardrail_id", "0", "-- It was deleted meanwhile.")}
        END IF;
        SELECT balance_micro, reserved_micro, ${run(Statements.affordable)} AS affordable
          INTO workspace FROM workspaces WHERE id = item.workspace_id;
        IF NOT FOUND THEN
          ${leave("workspace")}
        ELSIF NOT workspace.affordable THEN
          RETURN NEXT json_build_object('refused', 'OverBalance', 'balance', workspace.balance_micro,
            'reserved', workspace.reserved_micro);
          CONTINUE;
        END IF;
      END IF;
      IF item.${claimField("scope")} IS NOT NULL THEN
        ${Statements.inline(Statements.insertClaim, (name) => `item.${claimField(name)}`)};
        IF NOT FOUND THEN
          RETURN NEXT json_build_object('taken', true);
          CONTINUE;
        END IF;
      END IF;
      IF v_is_known THEN DELETE FROM reservations WHERE id = item.id; END IF;
      ${run(Statements.insertReservation)};
      ${run(Statements.applyToBudget, reservedIn("item.key_hash", "item.byok"))};
      IF item.is_byok = 0 THEN
        ${run(Statements.applyToBudget, reservedIn("item.guardrail_id", "0"))};
        ${run(Statements.reserveInWorkspace)};
      END IF;
      RETURN NEXT json_build_object('amount', item.amount_micro, 'reserved_at', item.reserved_at);`

/** A change of a budget when a reservation ends. */
const budgetChange = (id: string, byok: string, byokReserved: string) => ({
  budget_id: id,
  day: "reservation.day_start",
  week: "v_week",
  month: "v_month",
  usage: "v_used",
  byok,
  reserved: "-v_released",
  byok_reserved: byokReserved
})

/** Charges what was used and releases what was reserved; see `SqliteLedger`. */
const move = `
      v_week := reservation.day_start - mod(reservation.day_start / 86400000 + 3, 7) * 86400000;
      v_month := extract(epoch FROM date_trunc('month', to_timestamp(reservation.day_start / 1000) AT TIME ZONE 'UTC')
        AT TIME ZONE 'UTC')::bigint * 1000;
      ${run(Statements.applyToBudget, budgetChange("reservation.key_hash", "v_used_byok", "-v_released_byok"))};
      IF v_used <> 0 OR v_released <> 0 THEN
        ${run(Statements.applyToBudget, budgetChange("reservation.guardrail_id", "0", "0"))};
        ${run(Statements.chargeWorkspace, { workspace_id: "reservation.workspace_id", used: "v_used", credits: "v_released" })};
      END IF;`

const released = `
        v_released := CASE WHEN reservation.is_byok = 1 THEN 0 ELSE reservation.amount_micro END;
        v_released_byok := CASE WHEN reservation.is_byok = 1 THEN reservation.amount_micro ELSE reservation.byok_extra_micro END;`

/** The values of an entry: of its reservation, and of its end. */
const entryValues: Readonly<Record<string, string>> = {
  ...Object.fromEntries(originColumns.map((name) => [name, `reservation.${name}`])),
  is_byok: "v_is_byok",
  is_late: "CASE WHEN v_is_charged AND v_is_late THEN 1 ELSE 0 END",
  reserved_micro: "v_reserved",
  settled_at: "item.now"
}

const entryNames = entries.insertColumns.map(({ name }) => name)

/** The sums of the day that an entry changes. */
const dayPlace: ReadonlyArray<readonly [name: string, value: string]> = [
  ["workspace_id", "entry.workspace_id"],
  ["key_hash", "entry.key_hash"],
  ["day_start", `entry.reserved_at - entry.reserved_at % ${dayMillis}`],
  ["model", "entry.model"],
  ["provider", "entry.provider"]
]

/** What an entry adds to them. Entries that follow each other are often of one key and model. */
const dayCounters: ReadonlyArray<readonly [name: string, value: string]> = [
  ["requests", "1"],
  ["failed", "CASE WHEN v_is_charged THEN 0 ELSE 1 END"],
  ["cost_micro", "CASE WHEN v_is_byok = 1 THEN 0 ELSE item.cost_micro END"],
  ["byok_micro", "CASE WHEN v_is_byok = 1 THEN item.cost_micro ELSE 0 END"],
  ["prompt_tokens", "item.prompt_tokens"],
  ["completion_tokens", "item.completion_tokens"]
]

const assign = (row: string, values: ReadonlyArray<readonly [name: string, value: string]>): string =>
  values.map(([name, value]) => `${row}.${name} := ${value};`).join(" ")

const end = `
      v_settlement := 'already';
      v_is_charged := coalesce(item.status = 'completed', false);
      v_reserved := NULL;
      ${run(Statements.takeReservation)} INTO reservation;
      IF FOUND THEN
        v_is_late := reservation.state = 'abandoned';
        v_settlement := CASE WHEN v_is_late THEN 'late' ELSE 'done' END;
        v_is_byok := coalesce(item.is_byok, reservation.is_byok);
        v_is_new := false;
        IF item.status IS NOT NULL THEN
          v_reserved := reservation.amount_micro
            + CASE WHEN v_is_charged AND v_is_byok = 1 THEN reservation.byok_extra_micro ELSE 0 END;
          v_is_new := item.id <> ALL (entry_ids) AND NOT EXISTS (SELECT FROM usage_ledger u WHERE u.id = item.id);
          IF v_is_new THEN
            ${assign(
              "entry",
              entryNames.map((name) => [name, entryValues[name] ?? `item.${name}`])
            )}
            IF ${dayPlace.map(([name, value]) => `day.${name} = ${value}`).join(" AND ")} THEN
              ${assign(
                "day",
                dayCounters.map(([name, value]) => [name, `day.${name} + ${value}`])
              )}
            ELSE
              IF day.requests IS NOT NULL THEN
                days := days || day;
              END IF;
              ${assign("day", [...dayPlace, ...dayCounters])}
            END IF;
            entry_ids := entry_ids || item.id;
            new_entries := new_entries || entry;
          END IF;
        END IF;
        v_used := 0;
        v_used_byok := 0;
        v_released := 0;
        v_released_byok := 0;
        IF NOT v_is_late THEN ${released}
        END IF;
        IF v_is_charged THEN
          IF NOT v_is_new THEN
            v_settlement := 'already';
          ELSIF v_is_byok = 1 THEN
            v_used_byok := item.cost_micro;
          ELSE
            v_used := item.cost_micro;
          END IF;
        END IF;
        IF v_is_charged OR NOT v_is_late THEN ${move}
        END IF;
      END IF;
      IF item.event IS NOT NULL AND v_settlement <> 'already' AND EXISTS (${enabledDestination("item.event_workspace")}) THEN
        IF NOT v_announced THEN
          PERFORM ${announce.name}();
          v_announced := true;
        END IF;
        ${insertEvent("item.event_at", "item.event")};
      END IF;
      RETURN NEXT CASE WHEN v_is_charged AND v_settlement <> 'already'
        THEN json_build_object('settlement', v_settlement, 'operation', reservation.operation, 'model', reservation.model,
          'reserved', v_reserved)
        ELSE json_build_object('settlement', v_settlement) END;`

const abandon = `
      ${run(Statements.abandonReservation)} INTO reservation;
      IF FOUND THEN
        v_used := 0;
        v_used_byok := 0;
        ${released}
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
      v_has_claim := FOUND;
      IF NOT v_has_claim AND (item.id IS NULL OR EXISTS (SELECT FROM reservations r WHERE r.id = item.id)) THEN
        RETURN NEXT json_build_object('lost', true);
        CONTINUE;
      END IF;`

const store = `
      ${run(Statements.storeAnswer, { packed: "decode(item.packed, 'base64')" })};
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
  reservation record;
  budget record;
  workspace record;
  counter record;
  ids text[];
  budget_ids text[];
  workspace_ids text[];
  v_has_claim boolean;
  v_is_known boolean;
  v_is_late boolean;
  v_is_charged boolean;
  v_is_byok bigint;
  v_is_new boolean;
  v_settlement text;
  v_reserved bigint;
  v_used bigint;
  v_used_byok bigint;
  v_released bigint;
  v_released_byok bigint;
  v_week bigint;
  v_month bigint;
  v_total bigint;
  v_announced boolean := false;
  entry usage_ledger;
  entry_ids text[] := '{}';
  new_entries usage_ledger[] := '{}';
  day usage_days;
  days usage_days[] := '{}';
  counted_keys text[] := '{}';
  counted_bytes bigint[] := '{}';
BEGIN
  SELECT array_agg(x.id), array_agg(x.key_hash) || array_agg(x.guardrail_id), array_agg(x.workspace_id)
    INTO ids, budget_ids, workspace_ids
    FROM json_to_recordset(items) AS x(id text, key_hash text, guardrail_id text, workspace_id text);
  PERFORM FROM reservations r WHERE r.id = ANY (ids) ORDER BY r.id FOR UPDATE;
  SELECT budget_ids || array_agg(r.key_hash) || array_agg(r.guardrail_id), workspace_ids || array_agg(r.workspace_id)
    INTO budget_ids, workspace_ids FROM reservations r WHERE r.id = ANY (ids);
  PERFORM FROM budgets b WHERE b.id = ANY (budget_ids) ORDER BY b.id FOR NO KEY UPDATE;
  PERFORM FROM workspaces w WHERE w.id = ANY (workspace_ids) ORDER BY w.id FOR NO KEY UPDATE;

  FOR item IN SELECT * FROM json_to_recordset(items) AS x(${Array.from(fields, ([name, type]) => `${name} ${type}`).join(", ")}) LOOP
    v_has_claim := true;
    IF item.scope IS NOT NULL THEN ${claim}
    END IF;
    IF item.kind = 'reserve' THEN ${reserve}
    ELSIF item.kind = 'end' THEN ${end}
    ELSIF item.kind = 'abandon' THEN ${abandon}
    ELSE
      RETURN NEXT json_build_object('kept', true);
    END IF;
    IF item.scope IS NOT NULL AND v_has_claim THEN ${store}
    END IF;
  END LOOP;

  IF cardinality(new_entries) > 0 THEN
    INSERT INTO usage_ledger (${entryNames.join(", ")}, is_summed) SELECT ${entryNames.join(", ")}, 1 FROM unnest(new_entries);
    PERFORM ${daySums.add.name}(days || day);
  END IF;

  FOR counter IN SELECT x.key_hash, sum(x.bytes)::bigint AS bytes FROM unnest(counted_keys, counted_bytes) AS x(key_hash, bytes)
    GROUP BY x.key_hash ORDER BY x.key_hash COLLATE "C" LOOP
    ${run(Statements.countBytes, { answer_key_hash: "counter.key_hash", bytes: "counter.bytes" })} INTO v_total;
    RETURN NEXT json_build_object('key_hash', counter.key_hash, 'bytes', v_total);
  END LOOP;
END $$`
)
