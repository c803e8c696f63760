/**
 * The ledger entries of reserving, settling and releasing. Each must run inside one transaction.
 *
 * All of them touch intent, ledger, key, guardrail and workspace in this order, so that two of them
 * never deadlock. The updates themselves check the limits, so the limits also hold on a database
 * that runs transactions concurrently.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Periods from "./Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { StorageError } from "../storage/sql/StorageError.ts"
import * as Attempt from "./Attempt.ts"
import * as Budgets from "./Budgets.ts"
import { intentRow, type IntentRow } from "./Ledger.ts"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { type Failure, InsufficientCredits, type Outcome, type ReserveRequest, type Settlement } from "./Reservation.ts"

const insufficient = (
  scope: InsufficientCredits["scope"],
  amount: number,
  limit: number,
  remaining: number,
  resets: boolean
): InsufficientCredits => {
  const credits = (micro: number) => String(MicroCredits.toCredits(micro))
  const payer = scope === "key" ? "the key" : scope === "guardrail" ? "the key's guardrail" : "the workspace"
  const remedy =
    scope === "workspace"
      ? "Add credits to the workspace."
      : `Its limit is ${credits(limit)} credits. Raise the limit${resets ? " or wait for its reset" : ""}.`
  const message = `insufficient credits: this request needs up to ${credits(amount)} credits; ${payer} has ${credits(remaining)} left. ${remedy}`
  return new InsufficientCredits({
    scope,
    limit: MicroCredits.make(limit),
    remaining: MicroCredits.make(remaining),
    message
  })
}

const missing = (what: string) =>
  new StorageError({
    operation: "Accounting.reserve",
    message: `The ${what} is not in the database.`,
    retryable: false
  })

/** What a settlement did, and the intent that it settled, with what was reserved for the charge. */
interface Settled {
  readonly settlement: Settlement
  readonly intent: IntentRow | undefined
  readonly reserved: number
}

const notSettled: Settled = { settlement: "already", intent: undefined, reserved: 0 }

/** Prepares the entries for the process with the id `owner`, which owns its intents. */
export const make = (sql: SqlClient, owner: string) => {
  const budgets = Budgets.make(sql)

  const insertIntent = Dialect.prepareChange(
    sql,
    `INSERT INTO intents (id, state, owner, job_id, key_hash, workspace_id, guardrail_id, operation, model, amount_micro, is_byok, byok_extra_micro, day_start, reserved_at)
     VALUES (?1, 'open', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) ON CONFLICT (id) DO NOTHING`
  )
  const selectIntent = Dialect.prepare(sql, `SELECT * FROM intents WHERE id = ?1`)
  const takeIntent = Dialect.prepare(sql, `DELETE FROM intents WHERE id = ?1 RETURNING *`)
  const abandonIntent = Dialect.prepare(
    sql,
    `UPDATE intents SET state = 'abandoned', abandoned_at = ?3 WHERE id = ?1 AND owner = ?2 AND state = 'open' RETURNING *`
  )
  const insertUsage = Dialect.prepareChange(
    sql,
    `INSERT INTO usage_ledger (id, key_hash, workspace_id, guardrail_id, job_id, operation, model, provider, upstream_model, is_byok, is_late,
       reserved_micro, cost_micro, usage, reserved_at, settled_at, attempts)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) ON CONFLICT (id) DO NOTHING`
  )
  const insertFailure = Dialect.prepareChange(
    sql,
    `INSERT INTO usage_ledger (id, key_hash, workspace_id, guardrail_id, job_id, operation, model, provider, upstream_model, is_byok, is_late,
       reserved_micro, cost_micro, reserved_at, settled_at, attempts, status, error_status)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 0, ?11, 0, ?12, ?13, ?14, ?15, ?16) ON CONFLICT (id) DO NOTHING`
  )
  const holdWorkspace = Dialect.prepareChange(
    sql,
    `UPDATE workspaces SET reserved_micro = reserved_micro + ?2
     WHERE id = ?1 AND (CAST(?2 AS BIGINT) = 0 OR balance_micro - reserved_micro >= ?2)`
  )
  const chargeWorkspace = Dialect.prepareChange(
    sql,
    `UPDATE workspaces SET balance_micro = balance_micro - ?2, reserved_micro = reserved_micro - ?3 WHERE id = ?1`
  )
  const selectBalance = Dialect.prepare(sql, `SELECT balance_micro, reserved_micro FROM workspaces WHERE id = ?1`)

  const overLimit = (scope: "key" | "guardrail", amount: number, budget: Budgets.Budget) =>
    insufficient(scope, amount, budget.limit ?? 0, Budgets.remaining(budget) ?? 0, budget.limitReset !== null)

  const holdKey = Effect.fnUntraced(function* (
    hash: string,
    starts: Periods.PeriodStarts,
    held: number,
    byokHeld: number,
    day: number
  ) {
    if (yield* budgets.hold(hash, starts, held, byokHeld)) return
    const budget = yield* budgets.read(hash, day)
    if (budget === null) return yield* missing("key")
    return yield* overLimit("key", held + (budget.includeByok ? byokHeld : 0), budget)
  })

  /**
   * The guardrail was deleted after the request's key was looked up, by this process or another.
   * The request continues without it.
   */
  const holdGuardrail = Effect.fnUntraced(function* (
    id: string,
    starts: Periods.PeriodStarts,
    held: number,
    day: number
  ) {
    if (yield* budgets.hold(id, starts, held, 0)) return
    const budget = yield* budgets.read(id, day)
    if (budget !== null) return yield* overLimit("guardrail", held, budget)
  })

  const refuseWorkspace = Effect.fnUntraced(function* (id: string, amount: number) {
    const [row] = yield* selectBalance(id)
    if (row === undefined) return yield* missing("workspace")
    const balance = Dialect.int(row, "balance_micro")
    return yield* insufficient(
      "workspace",
      amount,
      balance,
      Math.max(0, balance - Dialect.int(row, "reserved_micro")),
      false
    )
  })

  /**
   * The existing reservation of an id. An abandoned one is deleted, so that its id can be reserved
   * again.
   */
  const known = Effect.fnUntraced(function* (request: ReserveRequest) {
    const [row] = yield* selectIntent(request.id)
    if (row === undefined) return undefined
    const intent = intentRow(row)
    if (intent.state === "open") return intent
    yield* takeIntent(request.id)
    return undefined
  })

  /**
   * Reserves the amount in the periods of `day`, or fails with the budget that does not allow it.
   */
  const hold = Effect.fnUntraced(function* (request: ReserveRequest, now: number, day: number) {
    const { amount, payer } = request
    const byok = request.isByok === true
    const held = byok ? 0 : amount
    // Only one of both costs is charged. If BYOK usage counts toward the limit, both together hold
    // the larger one.
    const extra = byok ? 0 : Math.max(0, (request.byokAmount ?? 0) - amount)
    const starts = Periods.startsOf(day)
    const write = insertIntent(
      request.id,
      request.jobId === undefined ? owner : null,
      request.jobId ?? null,
      payer.keyHash,
      payer.workspaceId,
      payer.guardrailId,
      request.operation,
      request.model,
      amount,
      Dialect.fromBool(byok),
      extra,
      day,
      now
    )
    if ((yield* write) === 0) {
      const intent = yield* known(request)
      if (intent !== undefined) return intent
      yield* write
    }
    yield* holdKey(payer.keyHash, starts, held, byok ? amount : extra, day)
    if (!byok) {
      if (payer.guardrailId !== null) yield* holdGuardrail(payer.guardrailId, starts, held, day)
      if ((yield* holdWorkspace(payer.workspaceId, held)) === 0) {
        return yield* refuseWorkspace(payer.workspaceId, amount)
      }
    }
    return { id: request.id, amount, reservedAt: now }
  })

  /**
   * Charges `cost` in credits or as BYOK usage. Releases what the intent reserved, unless it was
   * released before.
   */
  const move = Effect.fnUntraced(function* (
    intent: IntentRow,
    day: number,
    isHeld: boolean,
    cost: number,
    costIsByok: boolean
  ) {
    const starts = Periods.startsOf(day)
    const usage = costIsByok ? 0 : cost
    const heldCredits: number = !isHeld || intent.isByok ? 0 : intent.amount
    const heldByok: number = !isHeld ? 0 : intent.isByok ? intent.amount : intent.byokExtra
    yield* budgets.apply(intent.keyHash, starts, {
      usage,
      byok: costIsByok ? cost : 0,
      held: -heldCredits,
      byokHeld: -heldByok
    })
    if (usage === 0 && heldCredits === 0) return
    if (intent.guardrailId !== null) {
      yield* budgets.apply(intent.guardrailId, starts, { usage, byok: 0, held: -heldCredits, byokHeld: 0 })
    }
    yield* chargeWorkspace(intent.workspaceId, usage, heldCredits)
  })

  /** Charges an open or abandoned intent and writes its entry in the usage ledger. */
  const settle = Effect.fnUntraced(function* (
    id: string,
    outcome: Outcome,
    now: number
  ): Effect.fn.Return<Settled, SqlError> {
    const [row] = yield* takeIntent(id)
    if (row === undefined) return notSettled
    const intent = intentRow(row)
    const late = intent.state === "abandoned"
    const byok = outcome.isByok ?? intent.isByok
    const reserved = byok ? intent.amount + intent.byokExtra : intent.amount
    const written = yield* insertUsage(
      id,
      intent.keyHash,
      intent.workspaceId,
      intent.guardrailId,
      intent.jobId,
      intent.operation,
      intent.model,
      outcome.provider,
      outcome.upstreamModel,
      Dialect.fromBool(byok),
      Dialect.fromBool(late),
      reserved,
      outcome.cost,
      outcome.usage === undefined ? null : JSON.stringify(outcome.usage),
      intent.reservedAt,
      now,
      Attempt.toJson(outcome.attempts ?? [])
    )
    const first = written > 0
    yield* move(intent, Dialect.int(row, "day_start"), !late, first ? outcome.cost : 0, byok)
    return first ? { settlement: late ? "late" : "done", intent, reserved } : notSettled
  })

  /** Releases what an intent reserved, and writes how the request failed, if that is known. */
  const release = Effect.fnUntraced(function* (
    id: string,
    failure: Failure | undefined,
    now: number
  ): Effect.fn.Return<Settlement, SqlError> {
    const [row] = yield* takeIntent(id)
    if (row === undefined) return "already"
    const intent = intentRow(row)
    if (failure !== undefined) {
      yield* insertFailure(
        id,
        intent.keyHash,
        intent.workspaceId,
        intent.guardrailId,
        intent.jobId,
        intent.operation,
        intent.model,
        failure.provider ?? "",
        failure.upstreamModel ?? "",
        Dialect.fromBool(failure.isByok ?? intent.isByok),
        intent.amount,
        intent.reservedAt,
        now,
        Attempt.toJson(failure.attempts ?? []),
        failure.status,
        failure.errorStatus ?? null
      )
    }
    if (intent.state === "abandoned") return "late"
    yield* move(intent, Dialect.int(row, "day_start"), true, 0, intent.isByok)
    return "done"
  })

  /** Releases open intents whose owner is dead. Returns how many were still open. */
  const abandon = Effect.fnUntraced(function* (intents: ReadonlyArray<IntentRow>, now: number) {
    let freed = 0
    for (const { id, owner } of intents) {
      const [row] = yield* abandonIntent(id, owner, now)
      if (row === undefined) continue
      yield* move(intentRow(row), Dialect.int(row, "day_start"), true, 0, false)
      freed++
    }
    return freed
  })

  return { hold, settle, release, abandon }
}
