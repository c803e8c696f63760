/**
 * Money: held before an upstream is called, settled after, never lost and never invented.
 *
 * A paid request first *reserves* its worst-case cost. In one transaction that checks the key's limit, the guardrail's limit and the workspace's balance,
 * raises what is held on each, and writes an intent. Then it *settles* what it really cost, or *releases* what it held. Each of these happens once for an intent,
 * however often it is asked for. The sum of what is used and held never passes a limit, whatever runs at the same time.
 *
 * **Periods.** A request belongs to the UTC day, ISO week and month of its reservation. One that straddles midnight is charged to the day on which it
 * began, so that the limit it was admitted under is the limit it uses up.
 *
 * **Caller-supplied keys (BYOK).** What such a request costs is counted apart (`byok_usage…`) and is not taken from the workspace's credits, because its provider
 * bills the caller. It counts towards a key's limit when the key says so (`include_byok_in_limit`), never towards a guardrail's.
 *
 * **Free requests.** An amount of zero is always let in: it uses up no limit, and usage is recorded all the same.
 *
 * **Crashes.** An intent is owned by its process, or by a job. When a process's heartbeat stops, the reaper frees its intents and marks them abandoned; {@link Accounting} lists
 * them in `reconciliation`. Should the process have been asleep and not dead, its late settle still charges what was spent. A job's intents stay until the job settles
 * or releases them, whichever process that happens in.
 */
import { Clock, Context, Data, type Duration, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Periods from "../keys/Periods.ts"
import * as Dialect from "../storage/Dialect.ts"
import { GroupCommit } from "../storage/GroupCommit.ts"
import { bounds, type Page, type PageRequest } from "../storage/Page.ts"
import { ProcessInstance } from "../storage/ProcessInstance.ts"
import { refine, type StorageError } from "../storage/StorageError.ts"
import * as Books from "./Books.ts"
import * as ExhaustedBudget from "./ExhaustedBudget.ts"
import { intentRow, type IntentRow, usageRow, type UsageRow } from "./Ledger.ts"
import * as MicroCredits from "./MicroCredits.ts"
import type { InsufficientCredits, Outcome, Payer, Reservation, ReserveRequest, Settlement } from "./Reservation.ts"

export type { IntentRow, UsageRow } from "./Ledger.ts"
export {
  InsufficientCredits,
  type Outcome,
  type Payer,
  type Reservation,
  type ReserveRequest,
  type Settlement
} from "./Reservation.ts"

/** What a person should look at after crashes or wrong estimates. */
export interface Reconciliation {
  /** Freed by the reaper: an upstream may have been paid for these and the caller not charged. */
  readonly abandoned: ReadonlyArray<IntentRow>
  /** Cost more than was held for them. */
  readonly overruns: ReadonlyArray<UsageRow>
  /** Settled after they had been freed. */
  readonly late: ReadonlyArray<UsageRow>
}

/** A workspace's money: `available` is `balance` less what is held. */
export interface Balance {
  readonly balance: MicroCredits.MicroCredits
  readonly held: MicroCredits.MicroCredits
  readonly available: MicroCredits.MicroCredits
}

/** The balance would leave what can be counted (about nine thousand million credits); nothing was changed. */
export class BalanceOutOfRange extends Data.TaggedError("BalanceOutOfRange")<{
  readonly workspaceId: string
}> {
  override readonly message = "The balance would be larger than can be counted."
}

/** The accounting service. */
export class Accounting extends Context.Service<
  Accounting,
  {
    /**
     * Holds the worst-case cost. Fails with {@link InsufficientCredits} when one of the budgets does not allow it, and then nothing is held. May run inside a
     * `sql.withTransaction` of the caller (a job row and its reservation then stand or fall together).
     */
    readonly reserve: (request: ReserveRequest) => Effect.Effect<Reservation, InsufficientCredits | StorageError>
    /**
     * Charges what the request cost and gives back the rest; records the usage. Once for an intent. What is written `alongside` stands or falls with the charge.
     */
    readonly settle: (
      reservation: Pick<Reservation, "id">,
      outcome: Outcome,
      alongside?: Effect.Effect<void, StorageError>
    ) => Effect.Effect<Settlement, StorageError>
    /**
     * Fails where the key, its guardrail or its workspace has nothing left, so that no request with
     * a price can be reserved. Holds nothing.
     */
    readonly checkNotExhausted: (payer: Payer) => Effect.Effect<void, InsufficientCredits | StorageError>
    /** Gives all of it back; nothing is charged or recorded. Once for an intent, and not after a settle. */
    readonly release: (reservation: Pick<Reservation, "id">) => Effect.Effect<Settlement, StorageError>
    /**
     * Adds to a workspace's balance (a negative amount takes away, and may leave it below zero) and writes a line of the credit ledger. Answers null, and does
     * nothing, when there is no such workspace.
     */
    readonly addCredits: (
      workspaceId: string,
      amount: MicroCredits.MicroCredits,
      note?: string
    ) => Effect.Effect<Balance | null, BalanceOutOfRange | StorageError>
    /** A workspace's money; null when there is no such workspace. */
    readonly balanceOf: (workspaceId: string) => Effect.Effect<Balance | null, StorageError>
    /**
     * Lines of the usage ledger, oldest first. For reports: it reads the ledger from end to end, about 30 ms for every 100,000 lines, in which this process does nothing else. Indexes by key and
     * workspace would make it quick and each paid request dearer by 22 µs, and no operation asks for it.
     */
    readonly usageOf: (
      filter?: { readonly keyHash?: string | undefined; readonly workspaceId?: string | undefined },
      page?: PageRequest
    ) => Effect.Effect<Page<UsageRow>, StorageError>
    /** Intents that hold money now, oldest first. */
    readonly openIntents: Effect.Effect<ReadonlyArray<IntentRow>, StorageError>
    /**
     * Frees the intents of processes that have died, and those of this process whose settle or release failed; answers how many there were. Runs by itself under
     * `layerReaper`.
     */
    readonly reap: Effect.Effect<number, StorageError>
    /** What a person should look at; at most 1000 of each kind, newest first. */
    readonly reconciliation: Effect.Effect<Reconciliation, StorageError>
  }
>()("@model-gateway/server/accounting/Accounting") {}

const listed = 1000
const reapedAtOnce = 500

/** A workspace's money as its row holds it. */
const balanceRow = (row: Row): Balance => {
  const total = Dialect.int(row, "balance_micro")
  const held = Dialect.int(row, "reserved_micro")
  return {
    balance: MicroCredits.make(total),
    held: MicroCredits.make(held),
    available: MicroCredits.subtract(total, held)
  }
}

/** Makes the service over the database of the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const owner = yield* ProcessInstance
  const random = yield* SecureRandom
  const transactions = yield* GroupCommit
  const books = Books.make(sql, owner.id)
  const checkNotExhausted = ExhaustedBudget.make(sql)
  /** What requests of this process hold, so that the reaper can tell it from what a failed settle or release left behind. */
  const underWay = new Set<string>()

  const reserveOn = (
    request: ReserveRequest,
    now: number,
    day: number
  ): Effect.Effect<Reservation, InsufficientCredits | StorageError> =>
    transactions.run(books.hold(request, now, day)).pipe(
      refine("Accounting.reserve"),
      Effect.catchTag("ClockBehind", (behind) => reserveOn(request, now, behind.day))
    )

  const reserve = (request: ReserveRequest) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (request.amount < 0) return Effect.die(new RangeError("An amount to hold is never below 0"))
      if (request.jobId === undefined) underWay.add(request.id)
      return Effect.onError(reserveOn(request, now, Periods.startOfDay(now)), () => ended(request.id))
    }).pipe(Effect.uninterruptible)

  const ended = (id: string) =>
    Effect.sync(() => {
      underWay.delete(id)
    })

  const balanceOf = (workspaceId: string) =>
    Effect.map(sql`SELECT balance_micro, reserved_micro FROM workspaces WHERE id = ${workspaceId}`, ([row]) =>
      row === undefined ? null : balanceRow(row)
    )

  const addCredits = Effect.fnUntraced(
    function* (workspaceId: string, amount: MicroCredits.MicroCredits, note?: string) {
      const now = yield* Clock.currentTimeMillis
      const [row] = yield* sql`UPDATE workspaces SET balance_micro = balance_micro + ${amount}, updated_at = ${now}
        WHERE id = ${workspaceId} AND ABS(balance_micro + ${amount}) <= ${Number.MAX_SAFE_INTEGER}
        RETURNING balance_micro, reserved_micro`
      if (row === undefined) {
        return (yield* balanceOf(workspaceId)) === null ? null : yield* new BalanceOutOfRange({ workspaceId })
      }
      const after = balanceRow(row)
      yield* sql`INSERT INTO credit_ledger ${sql.insert({
        id: yield* random.uuidV7(),
        workspace_id: workspaceId,
        amount_micro: amount,
        balance_micro: after.balance,
        note: note ?? null,
        created_at: now
      })}`
      return after
    },
    sql.withTransaction,
    refine("Accounting.addCredits")
  )

  const usageOf: Accounting["Service"]["usageOf"] = Effect.fnUntraced(function* (filter, page) {
    const { limit, offset } = bounds(page)
    const where = sql.and([
      ...(filter?.keyHash === undefined ? [] : [sql`key_hash = ${filter.keyHash}`]),
      ...(filter?.workspaceId === undefined ? [] : [sql`workspace_id = ${filter.workspaceId}`])
    ])
    const rows =
      yield* sql`SELECT * FROM usage_ledger WHERE ${where} ORDER BY settled_at, id LIMIT ${limit} OFFSET ${offset}`
    const counted = yield* sql`SELECT COUNT(*) AS total FROM usage_ledger WHERE ${where}`
    return { items: rows.map(usageRow), total: counted[0] === undefined ? 0 : Dialect.int(counted[0], "total") }
  }, refine("Accounting.usageOf"))

  const openIntents = Effect.map(sql`SELECT * FROM intents WHERE state = 'open' ORDER BY reserved_at, id`, (rows) =>
    rows.map(intentRow)
  ).pipe(refine("Accounting.openIntents"))

  const reap = Effect.gen(function* () {
    // The intents first: a process that starts between the two reads is alive in the second.
    const held = yield* sql`SELECT * FROM intents WHERE state = 'open' AND owner IS NOT NULL`
    const alive = yield* owner.alive
    const dead = held
      .map(intentRow)
      .filter(({ id, owner: holder }) =>
        holder === owner.id ? !underWay.has(id) : holder !== null && !alive.has(holder)
      )
    let freed = 0
    for (let at = 0; at < dead.length; at += reapedAtOnce) {
      const now = yield* Clock.currentTimeMillis
      freed += yield* sql.withTransaction(books.abandon(dead.slice(at, at + reapedAtOnce), now))
    }
    yield* owner.prune
    return freed
  }).pipe(refine("Accounting.reap"), Effect.withSpan("Accounting.reap"))

  const reconciliation = Effect.gen(function* () {
    const abandoned =
      yield* sql`SELECT * FROM intents WHERE state = 'abandoned' ORDER BY abandoned_at DESC, id LIMIT ${listed}`
    const overruns =
      yield* sql`SELECT * FROM usage_ledger WHERE (cost_micro > reserved_micro OR is_late = 1) AND cost_micro > reserved_micro
      ORDER BY settled_at DESC, id LIMIT ${listed}`
    const late =
      yield* sql`SELECT * FROM usage_ledger WHERE (cost_micro > reserved_micro OR is_late = 1) AND is_late = 1
      ORDER BY settled_at DESC, id LIMIT ${listed}`
    return { abandoned: abandoned.map(intentRow), overruns: overruns.map(usageRow), late: late.map(usageRow) }
  }).pipe(refine("Accounting.reconciliation"))

  return Accounting.of({
    reserve,
    checkNotExhausted: (payer) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => checkNotExhausted(payer, now)).pipe(
        refine("Accounting.checkNotExhausted")
      ),
    settle: ({ id }, outcome, alongside) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (outcome.cost < 0) return Effect.die(new RangeError("A cost is never below 0"))
        const charge = books.settle(id, outcome, now)
        return transactions.run(alongside === undefined ? charge : Effect.tap(charge, alongside))
      }).pipe(
        refine("Accounting.settle"),
        Effect.ensuring(ended(id)),
        // What has been spent must be written down even when nobody waits for the answer any more.
        Effect.uninterruptible
      ),
    release: ({ id }) =>
      transactions
        .run(books.release(id))
        .pipe(refine("Accounting.release"), Effect.ensuring(ended(id)), Effect.uninterruptible),
    addCredits,
    balanceOf: (workspaceId) => balanceOf(workspaceId).pipe(refine("Accounting.balanceOf")),
    usageOf,
    openIntents,
    reap,
    reconciliation
  })
})

/** Accounting over the database; does not reap by itself: see {@link layerReaper}. */
export const layerSql: Layer.Layer<Accounting, never, SqlClient | GroupCommit | ProcessInstance | SecureRandom> =
  Layer.effect(Accounting, make)

/**
 * Frees the intents of dead processes, in the background: once at the start and then every so often
 * (default 10 seconds). A process that crashed is known to be dead half a minute after another one
 * has started, so that is when its intents are freed.
 */
export const layerReaper = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, Accounting> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const accounting = yield* Accounting
      yield* accounting.reap.pipe(
        Effect.tap((freed) =>
          freed === 0 ? Effect.void : Effect.logWarning(`Freed ${freed} reservations of processes that have died`)
        ),
        Effect.catch((error) => Effect.logError(`Reservations of dead processes could not be freed: ${error.message}`)),
        Effect.andThen(Effect.sleep(options?.every ?? "10 seconds")),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )
