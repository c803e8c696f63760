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
import * as Periods from "../keys/Periods.ts"
import * as Dialect from "../storage/Dialect.ts"
import { bounds, type Page, type PageRequest } from "../storage/Page.ts"
import { ProcessInstance } from "../storage/ProcessInstance.ts"
import { refine, StorageError } from "../storage/StorageError.ts"
import * as Budgets from "./Budgets.ts"
import { intentRow, type IntentRow, usageRow, type UsageRow } from "./Ledger.ts"
import * as MicroCredits from "./MicroCredits.ts"

/** Who pays: the key, its workspace, and the guardrail the key holds, if any. */
export interface Payer {
  readonly keyHash: string
  readonly workspaceId: string
  readonly guardrailId: string | null
}

/** What to hold. */
export interface ReserveRequest {
  /**
   * Unlike that of any other request: the generation id. Ids that grow with time (UUID v7) keep the ledger quick. Reserving an id that is already held answers the
   * first reservation again and holds nothing more.
   */
  readonly id: string
  readonly payer: Payer
  /** Such as `rerank`, `transcription`, `video`. */
  readonly operation: string
  readonly model: string
  /** The worst case, in micro-credits, at least 0. */
  readonly amount: MicroCredits.MicroCredits
  /** Whether the upstream is called with the caller's own provider key. Default false. */
  readonly isByok?: boolean | undefined
  /** Ties the intent to a job instead of this process, so that it survives a restart. */
  readonly jobId?: string | undefined
}

/** Held money. Only `id` is needed to settle or release it, so a job keeps just that. */
export interface Reservation {
  readonly id: string
  readonly amount: MicroCredits.MicroCredits
  /** When it was made, in epoch milliseconds; it is charged to the periods that hold this instant. */
  readonly reservedAt: number
}

/** What a request came to. */
export interface Outcome {
  /** In micro-credits, at least 0. Charged in full, even beyond what was held; `reconciliation` lists such overruns. */
  readonly cost: MicroCredits.MicroCredits
  /** The provider that served it. */
  readonly provider: string
  readonly upstreamModel: string
  /** Counts such as `search_units`, `total_tokens`, `seconds`; kept as JSON. */
  readonly usage?: Readonly<Record<string, number>> | undefined
  /** Whether the caller's own provider key was used in the end. Default: as reserved. */
  readonly isByok?: boolean | undefined
}

/**
 * What became of a settle or release: `done`; `late`, when the reaper had already freed the intent (a late settle charges, a late release has nothing left to do); or
 * `already`, when the intent was settled or released before, or never was, and nothing happened now.
 */
export type Settlement = "done" | "late" | "already"

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

/**
 * One of the three budgets does not allow the amount (status 402). `limit` and `remaining` are micro-credits; for a workspace `limit` is its balance. `message` says
 * which budget is used up and what to do about it.
 */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly scope: "workspace" | "key" | "guardrail"
  readonly limit: MicroCredits.MicroCredits
  readonly remaining: MicroCredits.MicroCredits
  readonly message: string
}> {}

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
    /** Charges what the request cost and gives back the rest; records the usage. Once for an intent. */
    readonly settle: (reservation: Pick<Reservation, "id">, outcome: Outcome) => Effect.Effect<Settlement, StorageError>
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
    /** Lines of the usage ledger, oldest first. */
    readonly usageOf: (
      filter?: { readonly keyHash?: string | undefined; readonly workspaceId?: string | undefined },
      page?: PageRequest
    ) => Effect.Effect<Page<UsageRow>, StorageError>
    /** Intents that hold money now, oldest first. */
    readonly openIntents: Effect.Effect<ReadonlyArray<IntentRow>, StorageError>
    /** Frees the intents of processes that have died; answers how many there were. Runs by itself under `layerReaper`. */
    readonly reap: Effect.Effect<number, StorageError>
    /** What a person should look at; at most 1000 of each kind, newest first. */
    readonly reconciliation: Effect.Effect<Reconciliation, StorageError>
  }
>()("@model-gateway/server/accounting/Accounting") {}

const listed = 1000
const reapedAtOnce = 500

const insufficient = (
  scope: InsufficientCredits["scope"],
  amount: number,
  limit: number,
  remaining: number
): InsufficientCredits => {
  const credits = (micro: number) => String(MicroCredits.toCredits(micro))
  const left = `${credits(remaining)} of ${credits(limit)} credits are left and this request may cost ${credits(amount)}`
  const message =
    scope === "workspace"
      ? `insufficient credits: the workspace has ${credits(remaining)} credits left and this request may cost ${credits(amount)}; add credits to the workspace`
      : `insufficient credits: the spending limit of this ${scope === "key" ? "key" : "key's guardrail"} is used up (${left}); raise the limit or wait for its reset`
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

/** Makes the service over the database of the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const owner = yield* ProcessInstance
  const random = yield* SecureRandom
  const budgets = Budgets.make(sql)

  const insertIntent = Dialect.prepare(
    sql,
    `INSERT INTO intents (id, state, owner, job_id, key_hash, workspace_id, guardrail_id, operation, model, amount_micro, is_byok, day_start, reserved_at)
     VALUES (?1, 'open', ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) ON CONFLICT (id) DO NOTHING RETURNING id`
  )
  const selectIntent = Dialect.prepare(sql, `SELECT * FROM intents WHERE id = ?1`)
  const takeIntent = Dialect.prepare(sql, `DELETE FROM intents WHERE id = ?1 RETURNING *`)
  const abandonIntent = Dialect.prepare(
    sql,
    `UPDATE intents SET state = 'abandoned', abandoned_at = ?3 WHERE id = ?1 AND owner = ?2 AND state = 'open' RETURNING *`
  )
  const insertUsage = Dialect.prepare(
    sql,
    `INSERT INTO usage_ledger (id, key_hash, workspace_id, guardrail_id, job_id, operation, model, provider, upstream_model, is_byok, is_late,
       reserved_micro, cost_micro, usage, reserved_at, settled_at)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) ON CONFLICT (id) DO NOTHING RETURNING id`
  )
  const holdWorkspace = Dialect.prepare(
    sql,
    `UPDATE workspaces SET reserved_micro = reserved_micro + ?2
     WHERE id = ?1 AND (CAST(?2 AS BIGINT) = 0 OR balance_micro - reserved_micro >= ?2) RETURNING id`
  )
  const chargeWorkspace = Dialect.prepare(
    sql,
    `UPDATE workspaces SET balance_micro = balance_micro - ?2, reserved_micro = reserved_micro - ?3 WHERE id = ?1`
  )
  const selectBalance = Dialect.prepare(sql, `SELECT balance_micro, reserved_micro FROM workspaces WHERE id = ?1`)

  // Every transaction touches intent, key, guardrail, workspace in this order, so that two of them never wait for each other.

  const refuseBudget = Effect.fnUntraced(function* (
    scope: "key" | "guardrail",
    id: string,
    amount: number,
    now: number
  ) {
    const budget = yield* budgets.read(id, now)
    if (budget === null) return yield* missing(scope)
    return yield* insufficient(scope, amount, budget.limit ?? 0, Budgets.remaining(budget) ?? 0)
  })

  const refuseWorkspace = Effect.fnUntraced(function* (id: string, amount: number) {
    const [row] = yield* selectBalance(id)
    if (row === undefined) return yield* missing("workspace")
    const balance = Dialect.int(row, "balance_micro")
    return yield* insufficient("workspace", amount, balance, Math.max(0, balance - Dialect.int(row, "reserved_micro")))
  })

  const known = Effect.fnUntraced(function* (request: ReserveRequest) {
    const [row] = yield* selectIntent(request.id)
    if (row === undefined) return undefined
    const intent = intentRow(row)
    if (intent.state === "open") return intent
    yield* takeIntent(request.id)
    return undefined
  })

  const hold = Effect.fnUntraced(function* (request: ReserveRequest, now: number, day: number) {
    const { amount, payer } = request
    const byok = request.isByok === true
    const held = byok ? 0 : amount
    const starts = Periods.startsOf(day)
    const write = insertIntent(
      request.id,
      request.jobId === undefined ? owner.id : null,
      request.jobId ?? null,
      payer.keyHash,
      payer.workspaceId,
      payer.guardrailId,
      request.operation,
      request.model,
      amount,
      Dialect.fromBool(byok),
      day,
      now
    )
    if ((yield* write).length === 0) {
      const intent = yield* known(request)
      if (intent !== undefined) return intent
      yield* write
    }
    if (!(yield* budgets.hold(payer.keyHash, starts, held, byok ? amount : 0))) {
      return yield* refuseBudget("key", payer.keyHash, amount, day)
    }
    if (!byok) {
      if (payer.guardrailId !== null && !(yield* budgets.hold(payer.guardrailId, starts, held, 0))) {
        return yield* refuseBudget("guardrail", payer.guardrailId, amount, day)
      }
      if ((yield* holdWorkspace(payer.workspaceId, held)).length === 0) {
        return yield* refuseWorkspace(payer.workspaceId, amount)
      }
    }
    return { id: request.id, amount, reservedAt: now }
  })

  const reserveOn = (request: ReserveRequest, now: number, day: number): ReturnType<typeof reserve> =>
    sql.withTransaction(hold(request, now, day)).pipe(
      refine("Accounting.reserve"),
      Effect.catchTag("ClockBehind", (behind) => reserveOn(request, now, behind.day))
    )

  const reserve = (request: ReserveRequest): Effect.Effect<Reservation, InsufficientCredits | StorageError> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => reserveOn(request, now, Periods.startOfDay(now)))

  /** Gives back what an intent held, and charges `cost` as credits or as the caller's own. */
  const move = Effect.fnUntraced(function* (
    intent: IntentRow,
    day: number,
    held: number,
    cost: number,
    costIsByok: boolean
  ) {
    const starts = Periods.startsOf(day)
    const usage = costIsByok ? 0 : cost
    const heldCredits = intent.isByok ? 0 : held
    yield* budgets.apply(intent.keyHash, starts, {
      usage,
      byok: costIsByok ? cost : 0,
      held: -heldCredits,
      byokHeld: intent.isByok ? -held : 0
    })
    if (usage === 0 && heldCredits === 0) return
    if (intent.guardrailId !== null) {
      yield* budgets.apply(intent.guardrailId, starts, { usage, byok: 0, held: -heldCredits, byokHeld: 0 })
    }
    yield* chargeWorkspace(intent.workspaceId, usage, heldCredits)
  })

  const settle = Effect.fnUntraced(function* (id: string, outcome: Outcome) {
    const [row] = yield* takeIntent(id)
    if (row === undefined) return "already"
    const intent = intentRow(row)
    const late = intent.state === "abandoned"
    const byok = outcome.isByok ?? intent.isByok
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
      intent.amount,
      outcome.cost,
      outcome.usage === undefined ? null : JSON.stringify(outcome.usage),
      intent.reservedAt,
      yield* Clock.currentTimeMillis
    )
    const first = written.length > 0
    yield* move(intent, Dialect.int(row, "day_start"), late ? 0 : intent.amount, first ? outcome.cost : 0, byok)
    return first ? (late ? "late" : "done") : "already"
  })

  const release = Effect.fnUntraced(function* (id: string) {
    const [row] = yield* takeIntent(id)
    if (row === undefined) return "already"
    const intent = intentRow(row)
    if (intent.state === "abandoned") return "late"
    yield* move(intent, Dialect.int(row, "day_start"), intent.amount, 0, intent.isByok)
    return "done"
  })

  const balance = (row: Parameters<typeof Dialect.int>[0]): Balance => {
    const total = Dialect.int(row, "balance_micro")
    const held = Dialect.int(row, "reserved_micro")
    return {
      balance: MicroCredits.make(total),
      held: MicroCredits.make(held),
      available: MicroCredits.subtract(total, held)
    }
  }

  const balanceOf = (workspaceId: string) =>
    Effect.map(sql.withTransaction(selectBalance(workspaceId)), ([row]) => (row === undefined ? null : balance(row)))

  const addCredits = Effect.fnUntraced(function* (
    workspaceId: string,
    amount: MicroCredits.MicroCredits,
    note?: string
  ) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`UPDATE workspaces SET balance_micro = balance_micro + ${amount}, updated_at = ${now}
      WHERE id = ${workspaceId} AND ABS(balance_micro + ${amount}) <= ${Number.MAX_SAFE_INTEGER}
      RETURNING balance_micro, reserved_micro`
    const row = rows[0]
    if (row === undefined) {
      return (yield* balanceOf(workspaceId)) === null ? null : yield* new BalanceOutOfRange({ workspaceId })
    }
    const after = balance(row)
    yield* sql`INSERT INTO credit_ledger ${sql.insert({
      id: yield* random.uuidV7(),
      workspace_id: workspaceId,
      amount_micro: amount,
      balance_micro: after.balance,
      note: note ?? null,
      created_at: now
    })}`
    return after
  })

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

  const abandon = Effect.fnUntraced(function* (intents: ReadonlyArray<IntentRow>, now: number) {
    let freed = 0
    for (const { id, owner } of intents) {
      const [row] = yield* abandonIntent(id, owner, now)
      if (row === undefined) continue
      yield* move(intentRow(row), Dialect.int(row, "day_start"), Dialect.int(row, "amount_micro"), 0, false)
      freed++
    }
    return freed
  })

  const openIntents = Effect.map(sql`SELECT * FROM intents WHERE state = 'open' ORDER BY reserved_at, id`, (rows) =>
    rows.map(intentRow)
  ).pipe(refine("Accounting.openIntents"))

  const reap = Effect.gen(function* () {
    const alive = yield* owner.alive
    const dead = (yield* openIntents).filter((intent) => intent.owner !== null && !alive.has(intent.owner))
    let freed = 0
    for (let at = 0; at < dead.length; at += reapedAtOnce) {
      const now = yield* Clock.currentTimeMillis
      freed += yield* sql.withTransaction(abandon(dead.slice(at, at + reapedAtOnce), now))
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
    // What has been spent must be written down even when nobody waits for the answer any more.
    settle: ({ id }, outcome) =>
      sql.withTransaction(settle(id, outcome)).pipe(refine("Accounting.settle"), Effect.uninterruptible),
    release: ({ id }) => sql.withTransaction(release(id)).pipe(refine("Accounting.release"), Effect.uninterruptible),
    addCredits: (workspaceId, amount, note) =>
      sql.withTransaction(addCredits(workspaceId, amount, note)).pipe(refine("Accounting.addCredits")),
    balanceOf: (workspaceId) => balanceOf(workspaceId).pipe(refine("Accounting.balanceOf")),
    usageOf,
    openIntents,
    reap,
    reconciliation
  })
})

/** Accounting over the database; does not reap by itself: see {@link layerReaper}. */
export const layerSql: Layer.Layer<Accounting, never, SqlClient | ProcessInstance | SecureRandom> = Layer.effect(
  Accounting,
  make
)

/** Frees the intents of dead processes when it starts, and then every so often (default 30 seconds). */
export const layerReaper = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, Accounting> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const accounting = yield* Accounting
      const reap = accounting.reap.pipe(
        Effect.tap((freed) =>
          freed === 0 ? Effect.void : Effect.logWarning(`Freed ${freed} reservations of processes that have died`)
        ),
        Effect.catch((error) => Effect.logError(`Reservations of dead processes could not be freed: ${error.message}`))
      )
      yield* reap
      yield* reap.pipe(Effect.delay(options?.every ?? "30 seconds"), Effect.forever, Effect.forkScoped)
    })
  )
