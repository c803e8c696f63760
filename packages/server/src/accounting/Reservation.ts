/** What is asked of accounting for one request, and what it answers. */
import { Data } from "effect"
import type * as MicroCredits from "./MicroCredits.ts"

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
