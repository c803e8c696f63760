/**
 * Writes paid requests to SQLite: one statement after the other, in transactions that concurrent
 * requests share.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { EventLog } from "../storage/sql/EventLog.ts"
import { GroupCommit } from "../storage/sql/GroupCommit.ts"
import * as Ledger from "./Ledger.ts"
import * as Statements from "./LedgerStatements.ts"
import {
  type AnswerRow,
  claimLost,
  type End,
  type Ended,
  LedgerStore,
  Refusal,
  ReservationRefused
} from "./LedgerStore.ts"

/** The parameters of a change of a budget. Negative amounts subtract. */
type Change = { readonly [Start in keyof Periods.PeriodStarts]: number } & {
  readonly budget_id: string
  readonly usage: number
  readonly byok: number
  readonly reserved: number
  readonly byok_reserved: number
}

/** What the end of a reservation did, without its answer. */
type Outcome = Omit<Ended, "bytesOfKey">

const refuse = (reason: Refusal) => Effect.fail(new ReservationRefused({ reason }))

const already: Outcome = { settlement: "already", charged: undefined }

/** Makes the store over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const transactions = yield* GroupCommit
  const events = yield* EventLog
  const reserveInBudget = Dialect.prepareNamedChange<Change>(sql, Statements.reserveInBudget)
  const applyToBudget = Dialect.prepareNamedChange<Change>(sql, Statements.applyToBudget)
  const selectBudget = Dialect.prepare(sql, `SELECT * FROM budgets WHERE id = ?1`)
  const reserveInWorkspace = Dialect.prepareNamedChange(sql, Statements.reserveInWorkspace)
  const chargeWorkspace = Dialect.prepareNamedChange(sql, Statements.chargeWorkspace)
  const selectBalance = Dialect.prepare(sql, `SELECT balance_micro, reserved_micro FROM workspaces WHERE id = ?1`)
  const insertReservation = Dialect.prepareNamedChange(sql, Statements.insertReservation)
  const selectReservation = Dialect.prepareNamed(sql, Statements.selectReservation)
  const takeReservation = Dialect.prepareNamed(sql, Statements.takeReservation)
  const abandonReservation = Dialect.prepareNamed(sql, Statements.abandonReservation)
  const insertEntry = Dialect.prepareNamedChange(sql, Statements.insertEntry)
  const storeAnswer = Dialect.prepareNamedChange(sql, Statements.storeAnswer)
  const countBytes = Dialect.prepareNamed(sql, Statements.countBytes)

  /** Reserves in a budget. Does nothing if a guardrail does not exist. */
  const reserveIn = Effect.fnUntraced(function* (
    scope: "key" | "guardrail",
    id: string,
    starts: Periods.PeriodStarts,
    credits: number,
    byok: number
  ) {
    const change = { ...starts, budget_id: id, usage: 0, byok: 0, reserved: credits, byok_reserved: byok }
    if ((yield* reserveInBudget(change)) > 0) return
    const [budget] = yield* selectBudget(id)
    // A guardrail was deleted after the request's key was looked up, by this process or another.
    // The request continues without it.
    if (budget === undefined) return yield* scope === "key" ? refuse(Refusal.Missing({ what: "key" })) : Effect.void
    const current = Dialect.int(budget, "day_start")
    return yield* refuse(
      current > starts.day ? Refusal.ClockBehind({ day: current }) : Refusal.OverBudget({ scope, budget })
    )
  })

  const reserveCredits = Effect.fnUntraced(function* (workspaceId: string, credits: number) {
    if ((yield* reserveInWorkspace({ workspace_id: workspaceId, credits })) > 0) return
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
    const [row] = yield* selectReservation({ id })
    if (row === undefined) return undefined
    const found = Ledger.reservations.read(row)
    if (found.state === "open") return found
    yield* takeReservation({ id })
    return undefined
  })

  const reserve = Effect.fnUntraced(function* (
    reservation: Ledger.NewReservation
  ): Effect.fn.Return<Pick<Ledger.Reservation, "amount" | "reservedAt">, ReservationRefused | SqlError> {
    const { amount, guardrailId, id, keyHash, reservedAt, workspaceId } = reservation
    const { byok, credits } = Ledger.amountsOf(reservation)
    const starts = Periods.startsOf(reservation.dayStart)
    const write = insertReservation(Ledger.reservationRow(reservation))
    if ((yield* write) === 0) {
      const existing = yield* known(id)
      if (existing !== undefined) return { amount: existing.amount, reservedAt: existing.reservedAt }
      yield* write
    }
    yield* reserveIn("key", keyHash, starts, credits, byok)
    if (!reservation.isByok) {
      if (typeof guardrailId === "string") yield* reserveIn("guardrail", guardrailId, starts, credits, 0)
      yield* reserveCredits(workspaceId, credits)
    }
    return { amount, reservedAt }
  })

  /**
   * Charges `cost` in credits or as BYOK usage. Releases what was reserved, unless it was released
   * before.
   */
  const move = Effect.fnUntraced(function* (
    reservation: Ledger.Reservation,
    isReserved: boolean,
    cost: number,
    costIsByok: boolean
  ) {
    const { guardrailId, keyHash, workspaceId } = reservation
    const starts = Periods.startsOf(reservation.dayStart)
    const usage = costIsByok ? 0 : cost
    const { byok, credits } = isReserved ? Ledger.amountsOf(reservation) : { credits: 0, byok: 0 }
    const change = { ...starts, usage, reserved: -credits }
    yield* applyToBudget({ ...change, budget_id: keyHash, byok: costIsByok ? cost : 0, byok_reserved: -byok })
    if (usage === 0 && credits === 0) return
    if (guardrailId !== null) yield* applyToBudget({ ...change, budget_id: guardrailId, byok: 0, byok_reserved: 0 })
    yield* chargeWorkspace({ workspace_id: workspaceId, used: usage, credits })
  })

  const endReservation = Effect.fnUntraced(function* ({ id, now, result }: End): Effect.fn.Return<Outcome, SqlError> {
    const [row] = yield* takeReservation({ id })
    if (row === undefined) return already
    const reservation = Ledger.reservations.read(row)
    const { amount, byokExtra, model, operation } = reservation
    const isCharged = result?.status === "completed"
    const isLate = reservation.state === "abandoned"
    const settlement = isLate ? "late" : "done"
    const isByok = result?.isByok ?? reservation.isByok
    const reserved = isCharged && isByok ? amount + byokExtra : amount
    let isFirst = false
    if (result !== undefined) {
      const written = yield* insertEntry({
        ...row,
        ...Ledger.resultRow(result),
        is_byok: Dialect.fromBool(isByok),
        is_late: Dialect.fromBool(isCharged && isLate),
        reserved_micro: reserved,
        settled_at: now
      })
      isFirst = written > 0
    }
    if (isCharged) {
      yield* move(reservation, !isLate, isFirst ? result.cost : 0, isByok)
      return isFirst ? { settlement, charged: { operation, model, reserved } } : already
    }
    if (!isLate) yield* move(reservation, true, 0, isByok)
    return { settlement, charged: undefined }
  })

  /** Stores the answer, and returns all stored bytes of its API key. Undefined: the key is lost. */
  const store = Effect.fnUntraced(function* (answer: AnswerRow) {
    const params = Statements.answerParams(answer)
    const [row] = (yield* storeAnswer(params)) > 0 ? yield* countBytes(params) : []
    return row === undefined ? undefined : Dialect.int(row, "bytes")
  })

  const end = Effect.fnUntraced(function* (request: End) {
    const ended = yield* endReservation(request)
    const bytesOfKey = request.answer === undefined ? undefined : yield* store(request.answer)
    const isLost = request.answer !== undefined && bytesOfKey === undefined
    if (isLost && ended.settlement !== "already") return yield* claimLost
    if (request.event !== undefined && ended.settlement !== "already") yield* events.append(request.event)
    return { ...ended, bytesOfKey }
  })

  return LedgerStore.of({
    reserve: (reservation) => transactions.run(reserve(reservation)),
    end: (request) => transactions.run(end(request)),
    abandon: (dead, now) =>
      sql.withTransaction(
        Effect.gen(function* () {
          let freed = 0
          for (const { id, owner } of dead) {
            const [row] = yield* abandonReservation({ id, owner, now })
            if (row === undefined) continue
            yield* move(Ledger.reservations.read(row), true, 0, false)
            freed++
          }
          return freed
        })
      ),
    keep: (answer) =>
      transactions.run(
        Effect.flatMap(store(answer), (bytesOfKey) =>
          bytesOfKey === undefined ? Effect.fail(claimLost) : Effect.succeed(bytesOfKey)
        )
      )
  })
})

/** The store over the database in the context. */
export const layer: Layer.Layer<LedgerStore, never, SqlClient | GroupCommit | EventLog> = Layer.effect(
  LedgerStore,
  make
)
