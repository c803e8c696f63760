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
import { Context, Data, type Effect } from "effect"
import type { Page, PageRequest } from "../storage/Page.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { MicroCredits } from "./MicroCredits.ts"

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
  readonly amount: MicroCredits
  /** Whether the upstream is called with the caller's own provider key. Default false. */
  readonly isByok?: boolean | undefined
  /** Ties the intent to a job instead of this process, so that it survives a restart. */
  readonly jobId?: string | undefined
}

/** Held money. Only `id` is needed to settle or release it, so a job keeps just that. */
export interface Reservation {
  readonly id: string
  readonly amount: MicroCredits
  /** When it was made, in epoch milliseconds; it is charged to the periods that hold this instant. */
  readonly reservedAt: number
}

/** What a request came to. */
export interface Outcome {
  /** In micro-credits, at least 0. Charged in full, even beyond what was held; `reconciliation` lists such overruns. */
  readonly cost: MicroCredits
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

/** One line of the usage ledger. Amounts in micro-credits, times in epoch milliseconds. */
export interface UsageRow {
  readonly id: string
  readonly keyHash: string
  readonly workspaceId: string
  readonly guardrailId: string | null
  readonly jobId: string | null
  readonly operation: string
  readonly model: string
  readonly provider: string
  readonly upstreamModel: string
  readonly isByok: boolean
  /** Settled after the reaper had freed it. */
  readonly isLate: boolean
  readonly reserved: MicroCredits
  readonly cost: MicroCredits
  readonly usage: Readonly<Record<string, number>> | null
  readonly reservedAt: number
  readonly settledAt: number
}

/** An intent that has neither been settled nor released. */
export interface IntentRow {
  readonly id: string
  readonly state: "open" | "abandoned"
  /** The process that holds it; null for a job's. */
  readonly owner: string | null
  readonly jobId: string | null
  readonly keyHash: string
  readonly workspaceId: string
  readonly guardrailId: string | null
  readonly operation: string
  readonly model: string
  readonly amount: MicroCredits
  readonly isByok: boolean
  readonly reservedAt: number
  readonly abandonedAt: number | null
}

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
  readonly balance: MicroCredits
  readonly held: MicroCredits
  readonly available: MicroCredits
}

/**
 * One of the three budgets does not allow the amount (status 402). `limit` and `remaining` are micro-credits; for a workspace `limit` is its balance. `message` says
 * which budget is used up and what to do about it.
 */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly scope: "workspace" | "key" | "guardrail"
  readonly limit: MicroCredits
  readonly remaining: MicroCredits
  readonly message: string
}> {}

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
     * Adds to a workspace's balance (a negative amount takes away, and may leave it below zero) and writes a line of the credit ledger. `None` of this happens when there is no such
     * workspace: then it answers null.
     */
    readonly addCredits: (
      workspaceId: string,
      amount: MicroCredits,
      note?: string
    ) => Effect.Effect<Balance | null, StorageError>
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
