/**
 * Writes paid requests to SQLite: one statement after the other, in transactions that concurrent
 * requests share.
 */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect, Exit, Layer } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { enabledDestination, insertEvent } from "../storage/sql/EventLog.ts"
import type { LocalTransactions } from "../storage/sql/Transactions.ts"
import * as AnswerBytes from "./AnswerBytes.ts"
import * as BudgetChanges from "./BudgetChanges.ts"
import * as DaySums from "./DaySums.ts"
import * as Ledger from "./Ledger.ts"
import * as Statements from "./LedgerStatements.ts"
import {
  type AnswerRow,
  claimLost,
  type ClaimRow,
  type End,
  type Ended,
  KeyTaken,
  LedgerStore,
  Refusal,
  ReservationRefused,
  type Written
} from "./LedgerStore.ts"

/** What the end of a reservation did, without its answer. */
type ReservationEnd = Omit<Ended, "bytesOfKey">

const already: ReservationEnd = { settlement: "already", charged: undefined }

/**
 * What the end of a reservation needs of it, read without a schema, which is slower: every paid
 * request reads it (`pnpm bench databases`).
 */
const reservedOf = (row: Row) => ({
  state: Dialect.text(row, "state"),
  operation: Dialect.text(row, "operation"),
  model: Dialect.text(row, "model"),
  keyHash: Dialect.text(row, "key_hash"),
  guardrailId: Dialect.textOrNull(row, "guardrail_id"),
  workspaceId: Dialect.text(row, "workspace_id"),
  dayStart: Dialect.int(row, "day_start"),
  reservedAt: Dialect.int(row, "reserved_at"),
  amount: MicroCredits.make(Dialect.int(row, "amount_micro")),
  byokExtra: MicroCredits.make(Dialect.int(row, "byok_extra_micro")),
  isByok: Dialect.bool(row, "is_byok")
})

/** Makes the store over the transactions of the database. */
export const make = ({ collect, prepare, run }: LocalTransactions): LedgerStore["Service"] => {
  const reserveInBudget = prepare(Statements.reserveInBudget)
  const selectBudget = prepare(`SELECT * FROM budgets WHERE id = :id`)
  const reserveInWorkspace = prepare(Statements.reserveInWorkspace)
  const selectBalance = prepare(`SELECT balance_micro, reserved_micro FROM workspaces WHERE id = :id`)
  const insertReservation = prepare(Statements.insertReservation)
  const selectReservation = prepare(Statements.selectReservation)
  const deleteOpenReservation = prepare(Statements.deleteOpenReservation)
  const takeReservation = prepare(Statements.takeReservation)
  const abandonReservation = prepare(Statements.abandonReservation)
  const insertEntry = prepare(Statements.insertEntry)
  const addToDay = DaySums.make({ collect, prepare })
  const addChange = BudgetChanges.make({ collect, prepare })
  const insertClaim = prepare(Statements.insertClaim)
  const storeAnswer = prepare(Statements.storeAnswer)
  const count = AnswerBytes.make({ collect, prepare })
  const destinationOf = prepare(enabledDestination(":workspace_id"))
  const appendEvent = prepare(insertEvent(":created_at", ":body"))

  /** Reserves in a budget, or returns why not. Does nothing if a guardrail does not exist. */
  const reserveIn = (
    scope: "key" | "guardrail",
    id: string,
    starts: Periods.PeriodStarts,
    credits: number,
    byok: number
  ): Refusal | undefined => {
    const change = { ...starts, budget_id: id, usage: 0, byok: 0, reserved: credits, byok_reserved: byok }
    if (reserveInBudget.change(change) > 0) return undefined
    const [budget] = selectBudget.rows({ id })
    // A guardrail was deleted after the request's key was looked up, by this process or another.
    // The request continues without it.
    if (budget === undefined) return scope === "key" ? Refusal.Missing({ what: "key" }) : undefined
    const current = Dialect.int(budget, "day_start")
    return current > starts.day ? Refusal.ClockBehind({ day: current }) : Refusal.OverBudget({ scope, budget })
  }

  /** Reserves credits of a workspace, or returns why not. */
  const reserveCredits = (workspaceId: string, credits: number): Refusal | undefined => {
    if (reserveInWorkspace.change({ workspace_id: workspaceId, credits }) > 0) return undefined
    const [row] = selectBalance.rows({ id: workspaceId })
    if (row === undefined) return Refusal.Missing({ what: "workspace" })
    return Refusal.OverBalance({
      balance: Dialect.int(row, "balance_micro"),
      reserved: Dialect.int(row, "reserved_micro")
    })
  }

  /** Reserves in all budgets of a request, or returns the first refusal. */
  const reserveInAll = (reservation: Ledger.NewReservation): Refusal | undefined => {
    const { dayStart, guardrailId, isByok, keyHash, workspaceId } = reservation
    const { byok, credits } = Ledger.amountsOf(reservation)
    const starts = Periods.startsOf(dayStart)
    const ofKey = reserveIn("key", keyHash, starts, credits, byok)
    if (ofKey !== undefined || isByok) return ofKey
    const ofGuardrail =
      typeof guardrailId === "string" ? reserveIn("guardrail", guardrailId, starts, credits, 0) : undefined
    return ofGuardrail ?? reserveCredits(workspaceId, credits)
  }

  /** Claims an idempotency key. Returns whether no one had claimed it before. */
  const claim = (row: ClaimRow): boolean => insertClaim.change(Statements.claimParams(row)) > 0

  const reserve = (reservation: Ledger.NewReservation): Exit.Exit<Written, ReservationRefused> => {
    const { amount, id, reservedAt } = reservation
    const row = Ledger.reservationRow(reservation)
    if (insertReservation.change(row) === 0) {
      const existing = selectReservation.rows({ id }).map(Ledger.reservations.read)[0]
      if (existing?.state === "open") {
        return Exit.succeed({ amount: existing.amount, reservedAt: existing.reservedAt, isAsGiven: false })
      }
      // The id of an abandoned reservation can be reserved again.
      takeReservation.rows({ id })
      insertReservation.change(row)
    }
    const reason = reserveInAll(reservation)
    return reason === undefined
      ? Exit.succeed({ amount, reservedAt, isAsGiven: true })
      : Exit.fail(new ReservationRefused({ reason }))
  }

  /**
   * Charges `cost` in credits or as BYOK usage. Releases what was reserved, unless it was released
   * before.
   */
  const move = (
    reservation: ReturnType<typeof reservedOf>,
    isReserved: boolean,
    cost: number,
    costIsByok: boolean
  ): void => {
    const { dayStart, guardrailId, keyHash, workspaceId } = reservation
    addChange({
      keyHash,
      guardrailId,
      workspaceId,
      dayStart,
      charged: costIsByok ? { credits: 0, byok: cost } : { credits: cost, byok: 0 },
      reserved: isReserved ? Ledger.amountsOf(reservation) : { credits: 0, byok: 0 }
    })
  }

  /**
   * Deletes the reservation of an id, and returns its row. SQLite takes six times as long to return
   * the row as to delete it, so one that this process has written is not read.
   */
  const take = ({ id, reservation }: End): Row | undefined =>
    reservation !== undefined && deleteOpenReservation.change({ id }) > 0
      ? Ledger.reservationRow(reservation)
      : takeReservation.rows({ id })[0]

  const endReservation = (request: End): ReservationEnd => {
    const { now, result } = request
    const row = take(request)
    if (row === undefined) return already
    const reservation = reservedOf(row)
    const { amount, byokExtra, model, operation } = reservation
    const isCharged = result?.status === "completed"
    const isLate = reservation.state === "abandoned"
    const settlement = isLate ? "late" : "done"
    const isByok = result?.isByok ?? reservation.isByok
    const reserved = isCharged && isByok ? amount + byokExtra : amount
    let isFirst = false
    if (result !== undefined) {
      const written = insertEntry.change({
        ...row,
        ...Ledger.resultRow(result),
        is_byok: Dialect.fromBool(isByok),
        is_late: Dialect.fromBool(isCharged && isLate),
        reserved_micro: reserved,
        settled_at: now
      })
      isFirst = written > 0
      if (isFirst) addToDay({ reservation, result, isByok })
    }
    if (isCharged) {
      move(reservation, !isLate, isFirst ? result.cost : 0, isByok)
      return isFirst ? { settlement, charged: { operation, model, reserved } } : already
    }
    if (!isLate) move(reservation, true, 0, isByok)
    return { settlement, charged: undefined }
  }

  /** Stores the answer. Returns false if the key is lost. */
  const store = (answer: AnswerRow): boolean => storeAnswer.change(Statements.answerParams(answer)) > 0

  /** Counts the answer before the commit, which sets `bytesOfKey`. */
  const counted = <A extends object>({ bytes, keyHash }: AnswerRow, ended: A): A & AnswerBytes.Stored => {
    const stored = { ...ended, keyHash, bytes, bytesOfKey: 0 }
    count(stored)
    return stored
  }

  const end = (request: End): Exit.Exit<Ended, typeof claimLost> => {
    const { answer, event } = request
    const ended = endReservation(request)
    const isLost = answer !== undefined && !store(answer)
    if (isLost && ended.settlement !== "already") return Exit.fail(claimLost)
    if (event !== undefined && ended.settlement !== "already") {
      const [destination] = destinationOf.rows({ workspace_id: event.workspaceId })
      if (destination !== undefined) appendEvent.change({ created_at: event.createdAt, body: event.body() })
    }
    return Exit.succeed(answer === undefined || isLost ? { ...ended, bytesOfKey: undefined } : counted(answer, ended))
  }

  return LedgerStore.of({
    claim: (row, isAlone) => run(() => Exit.succeed(claim(row)), isAlone),
    reserve: (reservation, isAlone) => run(() => reserve(reservation), isAlone),
    claimAndReserve: (row, reservation, isAlone) =>
      // A transaction whose key is taken has written nothing, so it need not be rolled back.
      Effect.flatMap(
        run(() => (claim(row) ? reserve(reservation) : Exit.succeed(undefined)), isAlone),
        (written) => (written === undefined ? Effect.fail(new KeyTaken()) : Effect.succeed(written))
      ),
    end: (request) => run(() => end(request), request.isAlone),
    abandon: (dead, now) =>
      run(() => {
        const rows = dead.flatMap(({ id, owner }) => abandonReservation.rows({ id, owner, now }))
        for (const row of rows) move(reservedOf(row), true, 0, false)
        return Exit.succeed(rows.length)
      }),
    keep: (answer) =>
      Effect.map(
        run(() => (store(answer) ? Exit.succeed(counted(answer, {})) : Exit.fail(claimLost))),
        ({ bytesOfKey }) => bytesOfKey
      )
  })
}

/** The store over the transactions of the database. */
export const layer = (transactions: LocalTransactions): Layer.Layer<LedgerStore> =>
  Layer.succeed(LedgerStore, make(transactions))
