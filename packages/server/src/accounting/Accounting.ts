/**
 * Reserves money before an upstream is called, and settles it afterward. Money is never lost and
 * never invented.
 *
 * A paid request first *reserves* its worst-case cost. One transaction checks the key's limit, the
 * guardrail's limit and the workspace's balance, raises the reserved amount on each, and writes a
 * reservation. The request then *settles* its actual cost or *releases* the reservation. Both take
 * effect once for each reservation, even when they are called again. The sum of used and reserved
 * amounts never exceeds a limit, whatever runs concurrently.
 *
 * **Periods.** A request belongs to the UTC day, ISO week and month of its reservation. A request
 * that runs past midnight is charged to the day on which it began, so that it counts against the
 * limit that admitted it.
 *
 * **Provider keys (BYOK).** The cost of such a request is counted separately (`byok_usage…`)
 * and is not taken from the workspace's credits, because the provider bills the caller. It counts
 * toward a key's limit if the key has `include_byok_in_limit`, and never toward a guardrail's
 * limit. A request that may be served with either kind of key reserves for both, and is charged for
 * the one that served it.
 *
 * **Free requests.** An amount of zero is always admitted. It uses up no limit, and its usage is
 * still recorded.
 *
 * **Request log.** The usage ledger has one entry for each paid request that has ended, charged or
 * not. It is written in the transaction that charges or releases the request. `RequestLog` reads
 * it.
 *
 * **Crashes.** A process or a job owns each reservation. When a process is dead, the reaper
 * releases its reservations and marks them abandoned. {@link Accounting} lists them in
 * `reconciliation`. If the process was only suspended, its late settlement still charges the cost.
 * The reservations of a job stay open until any process settles or releases them.
 */
import { Clock, Context, type Duration, Effect, Exit, Layer, Schedule } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as FailureLog from "../observability/FailureLog.ts"
import * as Metrics from "../observability/Metrics.ts"
import * as Background from "../internal/Background.ts"
import * as EventLoopTurn from "../internal/EventLoopTurn.ts"
import * as Periods from "../internal/Periods.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import {
  type ClaimRow,
  type End,
  type Ended,
  type KeyTaken,
  LedgerStore,
  type ReservationRefused,
  type Written
} from "./LedgerStore.ts"
import * as Page from "../storage/sql/Page.ts"
import { afterCommit } from "../storage/sql/Transactions.ts"
import { ProcessInstance } from "../storage/sql/ProcessInstance.ts"
import { fromSql, mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import * as Credits from "./Credits.ts"
import * as RequireCredits from "./RequireCredits.ts"
import { fromRefusal, type InsufficientCredits } from "./InsufficientCredits.ts"
import { entries, type Entry, maxListed, type NewReservation, type Reservation, reservations } from "./Ledger.ts"
import {
  type Ending,
  type EndRows,
  type Failure,
  type Outcome,
  type Payer,
  type Reserved,
  type ReserveRequest,
  type Settlement,
  toWrite
} from "./Reservation.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as LogEvent from "../log/LogEvent.ts"

export { type Balance, BalanceOutOfRange, type CreditEntry, type CreditTotals } from "./Credits.ts"
export { InsufficientCredits } from "./InsufficientCredits.ts"
export type { Entry, Reservation } from "./Ledger.ts"
export type {
  AnswerToStore,
  Ending,
  EndRows,
  Failure,
  Outcome,
  Payer,
  Reserved,
  ReserveRequest,
  Settlement
} from "./Reservation.ts"

/** What an operator should check after a crash or a wrong estimate. */
export interface Reconciliation {
  /**
   * Released by the reaper. The upstream may have billed these requests although the caller was not
   * charged.
   */
  readonly abandoned: ReadonlyArray<Reservation>
  /** Requests that cost more than was reserved for them. */
  readonly overruns: ReadonlyArray<Entry>
  /** Requests that were settled after the reaper had released them. */
  readonly late: ReadonlyArray<Entry>
}

/** The accounting service. */
export class Accounting extends Context.Service<
  Accounting,
  {
    /**
     * Reserves the worst-case cost. Fails with {@link InsufficientCredits} when a budget does not
     * allow it; nothing is reserved then. It may run inside the caller's `sql.withTransaction`, so
     * that a job row and its reservation are written together or not at all.
     */
    readonly reserve: (request: ReserveRequest) => Effect.Effect<Reserved, InsufficientCredits | StorageError>
    /**
     * Like `reserve`, and claims an idempotency key in the same transaction. Fails with {@link
     * KeyTaken} if another request has claimed it or it has an answer; nothing is reserved then.
     */
    readonly claimAndReserve: (
      claim: ClaimRow,
      request: ReserveRequest
    ) => Effect.Effect<Reserved, KeyTaken | InsufficientCredits | StorageError>
    /**
     * Reserves `amount` more for a request that cost more than was reserved for it, or as much of
     * it as its budgets still allow. Undefined if they allow nothing. So a limit is never exceeded,
     * and a request that would exceed it uses up what is left of it. Release it after the request
     * is settled: until then, nobody else can spend it.
     */
    readonly cover: (request: ReserveRequest) => Effect.Effect<Reserved | undefined, StorageError>
    /**
     * Charges the actual cost, releases the rest of the reservation and records the usage. Takes
     * effect once for each reservation. The `rows` are written in the same transaction. It may run
     * inside the caller's `sql.withTransaction` for the reservation of a job. For a request that
     * this process serves it is tried again for about 10 seconds while the database cannot be used.
     */
    readonly settle: (reservation: Ending, outcome: Outcome, rows?: EndRows) => Effect.Effect<Settlement, StorageError>
    /**
     * Fails if the key, its guardrail or its workspace has nothing left, so that no paid request
     * could be reserved. Reserves nothing.
     */
    readonly requireCredits: (payer: Payer) => Effect.Effect<void, InsufficientCredits | StorageError>
    /**
     * Releases the whole reservation. Nothing is charged. With `failure`, the request log shows
     * that the request failed. Takes effect once for each reservation, and never after a
     * settlement. The `rows` are written in the same transaction. It may run inside the caller's
     * `sql.withTransaction`.
     */
    readonly release: (
      reservation: Ending,
      failure?: Failure,
      rows?: EndRows
    ) => Effect.Effect<Settlement, StorageError>
    /**
     * Adds to a workspace's balance and writes an entry to the credit ledger. A negative amount
     * subtracts and may leave the balance below zero. Returns null and changes nothing if the
     * workspace does not exist. `actor` is the hash of the management key that does it.
     */
    readonly addCredits: (
      workspaceId: string,
      amount: MicroCredits.MicroCredits,
      note?: string,
      actor?: string
    ) => Effect.Effect<Credits.Balance | null, Credits.BalanceOutOfRange | StorageError>
    /** A workspace's money, or null if the workspace does not exist. */
    readonly balanceOf: (workspaceId: string) => Effect.Effect<Credits.Balance | null, StorageError>
    /** The credit ledger of a workspace, newest first. */
    readonly creditLedger: (
      workspaceId: string,
      page: Page.Request
    ) => Effect.Effect<Page.Page<Credits.CreditEntry>, Page.UnknownCursor | StorageError>
    /** The credits that were added and used, in one workspace or in all of an organization. */
    readonly creditsOf: (
      scope: { readonly workspaceIds: ReadonlyArray<string> } | { readonly organizationId: string }
    ) => Effect.Effect<Credits.CreditTotals, StorageError>
    /**
     * Releases the reservations of dead processes, and those of this process whose settle or
     * release failed. Returns their number. `layerBackground` runs it regularly.
     */
    readonly reap: Effect.Effect<number, StorageError>
    /** What an operator should check: at most 1000 entries of each kind, newest first. */
    readonly reconciliation: Effect.Effect<Reconciliation, StorageError>
  }
>()("@model-gateway/server/accounting/Accounting") {}

/**
 * Tells the operator that a provider charged more than the offer had quoted. The charge stands; the
 * ledger lists it in `reconciliation`.
 */
const overrun = (
  { model, operation, reserved }: NonNullable<Ended["charged"]>,
  { billed, cost, provider }: Outcome
): Effect.Effect<void> => {
  const all = billed ?? cost
  const part = all > cost ? `. The limits of its key allowed to charge ${cost}` : ""
  return Effect.andThen(
    Metrics.overran(operation, all - reserved, all - cost),
    FailureLog.report({
      kind: `overrun\n${provider} ${model}`,
      event: "overrun",
      message: `A request cost ${all} micro-credits, more than the ${reserved} that were reserved for it${part}`,
      annotations: { provider, model }
    })
  )
}

/** How often a smaller amount is tried, because other requests change what is left. */
const coverAttempts = 4

/** A restart of the database must not lose a charge. How long the first repetition waits. */
const settleAgainAfter = "100 millis"

/** When a settlement is repeated after that. */
const settleAgain = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("1 second")]).pipe(
  Schedule.upTo({ duration: "10 seconds" })
)

/** On SQLite nothing else runs in the process meanwhile. */
const reapedAtOnce = 100

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const owner = yield* ProcessInstance
  const ledger = yield* LedgerStore
  const requireCredits = RequireCredits.make(sql)
  const credits = Credits.make(sql, yield* SecureRandom)
  /**
   * The requests that this process is serving, by the id of their reservation, which is the value
   * once it is written. The reaper uses it to recognize reservations whose settle or release
   * failed.
   */
  const underWay = new Map<string, NewReservation | undefined>()
  const arrivals = EventLoopTurn.arrivals()

  /**
   * Whether no other request needs the next commit. A request that ends without waiting is never
   * under way together with another one, but under load others come in its turn of the event loop.
   */
  const isAlone = () => underWay.size <= 1 && arrivals.isAlone()

  /** Writes a reservation, and what belongs to it. */
  type Write<E> = (
    reservation: NewReservation,
    isAlone: boolean
  ) => Effect.Effect<Written, E | ReservationRefused | SqlError>

  const reserveOn = <E extends KeyTaken>(
    request: ReserveRequest,
    write: Write<E>,
    now: number,
    day: number
  ): Effect.Effect<Reserved, E | InsufficientCredits | StorageError> => {
    const { id, payer } = request
    const reservation = toWrite(request, owner.id, now, day)
    return Effect.matchEffect(write(reservation, isAlone()), {
      onSuccess: ({ amount, isAsGiven, reservedAt }) => {
        if (isAsGiven && underWay.has(id)) underWay.set(id, reservation)
        return Effect.succeed({ id, amount, reservedAt, workspaceId: payer.workspaceId })
      },
      onFailure: (error) => {
        if (error._tag === "KeyTaken") return Effect.fail(error)
        if (error._tag === "SqlError") return Effect.fail(fromSql("Accounting.reserve", error))
        return error.reason._tag === "ClockBehind"
          ? reserveOn(request, write, now, error.reason.day)
          : Effect.fail(fromRefusal(reservation, error.reason))
      }
    })
  }

  const reserveWith = <E extends KeyTaken>(request: ReserveRequest, write: Write<E>) =>
    Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      if (request.amount < 0) return Effect.die(new RangeError("The amount to reserve must not be negative"))
      if (request.jobId === undefined) {
        underWay.set(request.id, undefined)
        arrivals.add()
      }
      return Effect.onExitPrimitive(reserveOn(request, write, now, Periods.startOfDay(now)), (exit) =>
        Exit.isFailure(exit) ? ended(request.id) : undefined
      )
    }).pipe(Effect.uninterruptible)

  const reserve = (request: ReserveRequest) => reserveWith<never>(request, ledger.reserve)

  const cover = (
    request: ReserveRequest,
    attempts = coverAttempts
  ): Effect.Effect<Reserved | undefined, StorageError> =>
    request.amount <= 0 || attempts === 0
      ? Effect.undefined
      : reserve(request).pipe(
          Effect.catchTag("InsufficientCredits", ({ remaining }) =>
            cover({ ...request, amount: MicroCredits.make(Math.min(request.amount, remaining)) }, attempts - 1)
          )
        )

  const end = (request: Omit<End, "isAlone" | "reservation">, { answer, event }: EndRows = {}) => {
    const done = ledger.end({
      ...request,
      reservation: underWay.get(request.id),
      answer,
      event,
      isAlone: isAlone()
    })
    return answer === undefined
      ? done
      : Effect.tap(done, ({ bytesOfKey }) => afterCommit(sql, () => answer.stored(bytesOfKey)))
  }

  const ended = (id: string): undefined => void underWay.delete(id)

  /** The request is not under way any more when the effect has ended, in whatever way. */
  const ending =
    (id: string) =>
    <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.onExitPrimitive(effect, () => ended(id))

  const reap = Effect.gen(function* () {
    // Read the reservations first: a process that starts between the two reads then counts as
    // alive.
    const open = yield* sql`SELECT id, owner FROM reservations WHERE state = 'open' AND owner IS NOT NULL`
    const alive = yield* owner.alive
    const dead = open
      .map((row) => ({ id: Dialect.text(row, "id"), owner: Dialect.text(row, "owner") }))
      .filter(({ id, owner: process }) => (process === owner.id ? !underWay.has(id) : !alive.has(process)))
    let freed = 0
    for (let at = 0; at < dead.length; at += reapedAtOnce) {
      const now = yield* Clock.currentTimeMillis
      freed += yield* ledger.abandon(dead.slice(at, at + reapedAtOnce), now)
    }
    yield* owner.prune
    return freed
  }).pipe(mapSqlError("Accounting.reap"), Effect.withSpan("Accounting.reap"))

  const reconciliation = Effect.gen(function* () {
    const abandoned =
      yield* sql`SELECT * FROM reservations WHERE state = 'abandoned' ORDER BY abandoned_at DESC, id LIMIT ${maxListed}`
    const overruns =
      yield* sql`SELECT * FROM usage_ledger WHERE (cost_micro > reserved_micro OR is_late = 1) AND cost_micro > reserved_micro
      ORDER BY settled_at DESC, id LIMIT ${maxListed}`
    const late =
      yield* sql`SELECT * FROM usage_ledger WHERE (cost_micro > reserved_micro OR is_late = 1) AND is_late = 1
      ORDER BY settled_at DESC, id LIMIT ${maxListed}`
    return {
      abandoned: yield* Page.itemsOf(abandoned, reservations.read),
      overruns: yield* Page.itemsOf(overruns, entries.read),
      late: yield* Page.itemsOf(late, entries.read)
    }
  }).pipe(mapSqlError("Accounting.reconciliation"))

  return Accounting.of({
    reserve,
    claimAndReserve: (claim, request) =>
      reserveWith<KeyTaken>(request, (reservation, isAlone) => ledger.claimAndReserve(claim, reservation, isAlone)),
    cover: (request) => cover(request),
    requireCredits: (payer) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => requireCredits(payer, now)).pipe(
        mapSqlError("Accounting.requireCredits")
      ),
    settle: ({ id, workspaceId }, outcome, rows) => {
      const attempt = Effect.clockWith((clock) =>
        outcome.cost < 0
          ? Effect.die(new RangeError("The cost must not be negative"))
          : end(
              { id, workspaceId, result: { ...outcome, status: "completed" }, now: clock.currentTimeMillisUnsafe() },
              rows
            )
      ).pipe(mapSqlError("Accounting.settle"))
      const settled = ({ charged, settlement }: Ended): Effect.Effect<Settlement> =>
        charged !== undefined && (outcome.billed ?? outcome.cost) > charged.reserved
          ? Effect.as(overrun(charged, outcome), settlement)
          : Effect.succeed(settlement)
      return attempt.pipe(
        Effect.matchEffect({
          onSuccess: settled,
          // If the database's answer to the first attempt was lost, a later one finds all of it
          // written.
          onFailure: (error) =>
            error.retryable && underWay.has(id)
              ? Effect.retry(attempt, { schedule: settleAgain, while: ({ retryable }) => retryable }).pipe(
                  Effect.delay(settleAgainAfter),
                  Effect.flatMap(settled)
                )
              : Effect.fail(error)
        }),
        ending(id),
        // Record what was spent even if nobody waits for the response any more.
        Effect.uninterruptible
      )
    },
    release: ({ id, workspaceId }, failure, rows) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const result = failure && { ...failure, cost: MicroCredits.zero }
        return end({ id, workspaceId, result, now }, rows)
      }).pipe(
        Effect.map(({ settlement }) => settlement),
        mapSqlError("Accounting.release"),
        ending(id),
        Effect.uninterruptible
      ),
    addCredits: (workspaceId, amount, note, actor) =>
      sql
        .withTransaction(credits.add(workspaceId, amount, { kind: amount < 0 ? "correction" : "added", note, actor }))
        .pipe(mapSqlError("Accounting.addCredits")),
    creditLedger: (workspaceId, page) => credits.list(workspaceId, page).pipe(mapSqlError("Accounting.creditLedger")),
    creditsOf: (scope) => credits.totalsOf(scope).pipe(mapSqlError("Accounting.creditsOf")),
    balanceOf: (workspaceId) => credits.balanceOf(workspaceId).pipe(mapSqlError("Accounting.balanceOf")),
    reap,
    reconciliation
  })
})

/** Accounting over the database. It does not reap by itself; see {@link layerBackground}. */
export const layerSql: Layer.Layer<Accounting, never, SqlClient | LedgerStore | ProcessInstance | SecureRandom> =
  Layer.effect(Accounting, make)

/**
 * Releases the reservations of dead processes in the background, at the start and then at an
 * interval (default 5 seconds). So what a killed process had reserved is released within 5 seconds
 * on SQLite and 10 on Postgres, and that of a machine that has vanished within 15 seconds.
 */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, Accounting> =>
  Background.layer({
    work: Effect.tap(
      Effect.flatMap(Accounting, ({ reap }) => reap),
      (freed) =>
        freed === 0
          ? Effect.void
          : LogEvent.log("reservations_abandoned", `Released ${freed} reservations of dead processes`)
    ),
    every: options?.every ?? "5 seconds",
    failure: "Reservations of dead processes could not be released",
    event: "reservations_not_released"
  })
