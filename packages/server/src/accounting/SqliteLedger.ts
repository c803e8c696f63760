/**
 * Writes paid requests to SQLite: one statement after the other, in transactions that concurrent
 * requests share.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { EventLog } from "../storage/sql/EventLog.ts"
import { GroupCommit } from "../storage/sql/GroupCommit.ts"
import * as Statements from "./LedgerStatements.ts"
import {
  type AnswerRow,
  claimLost,
  type End,
  type Ended,
  type Held,
  heldBy,
  type Hold,
  HoldRefused,
  LedgerStore,
  Refusal
} from "./LedgerStore.ts"

/** What a budget row gains. Negative amounts subtract. */
interface Change {
  readonly usage: number
  readonly byok: number
  readonly held: number
  readonly byokHeld: number
}

const refuse = (reason: Refusal) => Effect.fail(new HoldRefused({ reason }))

const already: Ended = { settlement: "already", charged: undefined }

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const transactions = yield* GroupCommit
  const events = yield* EventLog
  const holdInBudget = Dialect.prepareChange(sql, Statements.holdInBudget)
  const applyToBudget = Dialect.prepareChange(sql, Statements.applyToBudget)
  const selectBudget = Dialect.prepare(sql, `SELECT * FROM budgets WHERE id = ?1`)
  const holdInWorkspace = Dialect.prepareChange(sql, Statements.holdInWorkspace)
  const chargeWorkspace = Dialect.prepareChange(sql, Statements.chargeWorkspace)
  const selectBalance = Dialect.prepare(sql, `SELECT balance_micro, reserved_micro FROM workspaces WHERE id = ?1`)
  const insertIntent = Dialect.prepareChange(sql, Statements.insertIntent)
  const selectIntent = Dialect.prepare(sql, Statements.selectIntent)
  const takeIntent = Dialect.prepare(sql, Statements.takeIntent)
  const abandonIntent = Dialect.prepare(sql, Statements.abandonIntent)
  const insertEntry = Dialect.prepareChange(sql, Statements.insertEntry)
  const storeAnswer = Dialect.prepareChange(sql, Statements.storeAnswer)
  const countBytes = Dialect.prepare(sql, Statements.countBytes)

  /** Reserves in a budget. Does nothing if a guardrail does not exist. */
  const holdIn = Effect.fnUntraced(function* (
    scope: "key" | "guardrail",
    id: string,
    { day, month, week }: Periods.PeriodStarts,
    credits: number,
    byok: number
  ) {
    if ((yield* holdInBudget(id, day, week, month, 0, 0, credits, byok)) > 0) return
    const [budget] = yield* selectBudget(id)
    // A guardrail was deleted after the request's key was looked up, by this process or another.
    // The request continues without it.
    if (budget === undefined) return yield* scope === "key" ? refuse(Refusal.Missing({ what: "key" })) : Effect.void
    const current = Dialect.int(budget, "day_start")
    return yield* refuse(current > day ? Refusal.ClockBehind({ day: current }) : Refusal.OverBudget({ scope, budget }))
  })

  const holdCredits = Effect.fnUntraced(function* (workspaceId: string, credits: number) {
    if ((yield* holdInWorkspace(workspaceId, credits)) > 0) return
    const [row] = yield* selectBalance(workspaceId)
    if (row === undefined) return yield* refuse(Refusal.Missing({ what: "workspace" }))
    return yield* refuse(
      Refusal.OverBalance({
        balance: Dialect.int(row, "balance_micro"),
        reserved: Dialect.int(row, "reserved_micro")
      })
    )
  })

  /**
   * The existing reservation of an id. An abandoned one is deleted, so that its id can be reserved
   * again.
   */
  const known = Effect.fnUntraced(function* (id: string) {
    const [row] = yield* selectIntent(id)
    if (row === undefined) return undefined
    if (Dialect.text(row, "state") === "open") {
      return { amount: Dialect.int(row, "amount_micro"), reservedAt: Dialect.int(row, "reserved_at") }
    }
    yield* takeIntent(id)
    return undefined
  })

  const hold = Effect.fnUntraced(function* (request: Hold): Effect.fn.Return<Held, HoldRefused | SqlError> {
    const { amount, guardrailId, id, keyHash, now, starts, workspaceId } = request
    const held = heldBy(request)
    const write = insertIntent(
      id,
      request.owner,
      request.jobId,
      keyHash,
      workspaceId,
      guardrailId,
      request.operation,
      request.model,
      amount,
      Dialect.fromBool(request.isByok),
      request.byokExtra,
      starts.day,
      now,
      request.ephemeralHash,
      request.externalUser,
      request.requestId
    )
    if ((yield* write) === 0) {
      const existing = yield* known(id)
      if (existing !== undefined) return existing
      yield* write
    }
    yield* holdIn("key", keyHash, starts, held.credits, held.byok)
    if (!request.isByok) {
      if (guardrailId !== null) yield* holdIn("guardrail", guardrailId, starts, held.credits, 0)
      yield* holdCredits(workspaceId, held.credits)
    }
    return { amount, reservedAt: now }
  })

  const apply = (id: string, { day, month, week }: Periods.PeriodStarts, change: Change) =>
    applyToBudget(id, day, week, month, change.usage, change.byok, change.held, change.byokHeld)

  /**
   * Charges `cost` in credits or as BYOK usage. Releases what the intent reserved, unless it was
   * released before.
   */
  const move = Effect.fnUntraced(function* (intent: Row, isHeld: boolean, cost: number, costIsByok: boolean) {
    const starts = Periods.startsOf(Dialect.int(intent, "day_start"))
    const guardrailId = Dialect.textOrNull(intent, "guardrail_id")
    const usage = costIsByok ? 0 : cost
    const held = isHeld ? heldByIntent(intent) : { credits: 0, byok: 0 }
    yield* apply(Dialect.text(intent, "key_hash"), starts, {
      usage,
      byok: costIsByok ? cost : 0,
      held: -held.credits,
      byokHeld: -held.byok
    })
    if (usage === 0 && held.credits === 0) return
    if (guardrailId !== null) {
      yield* apply(guardrailId, starts, { usage, byok: 0, held: -held.credits, byokHeld: 0 })
    }
    yield* chargeWorkspace(Dialect.text(intent, "workspace_id"), usage, held.credits)
  })

  const endIntent = Effect.fnUntraced(function* ({
    entry,
    id,
    isCharged,
    now
  }: End): Effect.fn.Return<Ended, SqlError> {
    const [intent] = yield* takeIntent(id)
    if (intent === undefined) return already
    const isLate = Dialect.text(intent, "state") === "abandoned"
    const settlement = isLate ? "late" : "done"
    const isByok = entry?.isByok ?? Dialect.bool(intent, "is_byok")
    const amount = Dialect.int(intent, "amount_micro")
    const reserved = isCharged && isByok ? amount + Dialect.int(intent, "byok_extra_micro") : amount
    const operation = Dialect.text(intent, "operation")
    const model = Dialect.text(intent, "model")
    let isFirst = false
    if (entry !== undefined) {
      const written = yield* insertEntry(
        id,
        Dialect.text(intent, "key_hash"),
        Dialect.text(intent, "workspace_id"),
        Dialect.textOrNull(intent, "guardrail_id"),
        Dialect.textOrNull(intent, "job_id"),
        operation,
        model,
        entry.provider,
        entry.upstreamModel,
        Dialect.fromBool(isByok),
        Dialect.fromBool(isCharged && isLate),
        reserved,
        entry.cost,
        entry.usage,
        Dialect.int(intent, "reserved_at"),
        now,
        entry.attempts,
        entry.status,
        entry.errorStatus,
        Dialect.textOrNull(intent, "ephemeral_hash"),
        Dialect.textOrNull(intent, "external_user"),
        Dialect.textOrNull(intent, "request_id")
      )
      isFirst = written > 0
    }
    if (isCharged) {
      yield* move(intent, !isLate, isFirst ? (entry?.cost ?? 0) : 0, isByok)
      return isFirst ? { settlement, charged: { operation, model, reserved } } : already
    }
    if (!isLate) yield* move(intent, true, 0, isByok)
    return { settlement, charged: undefined }
  })

  const store = Effect.fnUntraced(function* (answer: AnswerRow) {
    const { body, bytes, headers, key, keyHash, owner, packed, scope, status } = answer
    const written = yield* storeAnswer(status, headers, body, packed, bytes, scope, key, owner)
    const [row] = written > 0 ? yield* countBytes(keyHash, bytes) : []
    yield* sql.afterCommit(answer.stored(row === undefined ? undefined : Dialect.int(row, "bytes")))
    return written > 0
  })

  const end = Effect.fnUntraced(function* (request: End) {
    const ended = yield* endIntent(request)
    const isStored = request.answer === undefined || (yield* store(request.answer))
    if (!isStored && ended.settlement !== "already") return yield* claimLost
    if (request.event !== undefined && ended.settlement !== "already") yield* events.append(request.event)
    return ended
  })

  return LedgerStore.of({
    hold: (request) => transactions.run(hold(request)),
    end: (request) => transactions.run(end(request)),
    abandon: (intents, now) =>
      sql.withTransaction(
        Effect.gen(function* () {
          let freed = 0
          for (const { id, owner } of intents) {
            const [intent] = yield* abandonIntent(id, owner, now)
            if (intent === undefined) continue
            yield* move(intent, true, 0, false)
            freed++
          }
          return freed
        })
      ),
    keep: (answer) =>
      transactions.run(Effect.flatMap(store(answer), (isStored) => (isStored ? Effect.void : claimLost)))
  })
})

const heldByIntent = (intent: Row) =>
  heldBy({
    amount: Dialect.int(intent, "amount_micro"),
    byokExtra: Dialect.int(intent, "byok_extra_micro"),
    isByok: Dialect.bool(intent, "is_byok")
  })

/** The store over the database in the context. */
export const layer: Layer.Layer<LedgerStore, never, SqlClient | GroupCommit | EventLog> = Layer.effect(
  LedgerStore,
  make
)
