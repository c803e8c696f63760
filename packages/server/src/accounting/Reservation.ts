/** The requests and responses of accounting for one paid request. */
import { Data } from "effect"
import type { Attempt } from "./Attempt.ts"
import type * as MicroCredits from "@model-gateway/offers/MicroCredits"

/** Who pays: the key, its workspace and the key's guardrail, if it has one. */
export interface Payer {
  readonly keyHash: string
  readonly workspaceId: string
  readonly guardrailId: string | null
  /** The ephemeral key that was sent, if one was: a key may see only its own requests. */
  readonly ephemeralHash?: string | undefined
}

/** What to reserve. */
export interface ReserveRequest {
  /**
   * A unique id: the generation id. Ids that grow with time (UUID v7) keep ledger writes fast.
   * Reserving an id twice returns the first reservation and reserves nothing more.
   */
  readonly id: string
  readonly payer: Payer
  /** For example `rerank`, `transcription` or `video`. */
  readonly operation: string
  readonly model: string
  /** The worst-case cost in micro-credits, at least 0. */
  readonly amount: MicroCredits.MicroCredits
  /** Whether the upstream is called with the caller's own provider key. Default: false. */
  readonly isByok?: boolean | undefined
  /**
   * For a request that may be served with either: the worst-case cost with the caller's own
   * provider key. `amount` is then the one with the gateway's own.
   */
  readonly byokAmount?: MicroCredits.MicroCredits | undefined
  /** The id of the HTTP request, for the request log. Default: not known. */
  readonly requestId?: string | undefined
  /** The end user whom the request names, for the request log. Default: none. */
  readonly user?: string | undefined
  /** Ties the intent to a job instead of this process, so that it survives a restart. */
  readonly jobId?: string | undefined
}

/** A reservation. Settling and releasing need only `id`, so a job stores nothing else. */
export interface Reservation {
  readonly id: string
  readonly amount: MicroCredits.MicroCredits
  /**
   * Time of the reservation in epoch milliseconds. The cost is charged to the periods that contain
   * it.
   */
  readonly reservedAt: number
  readonly workspaceId: string
}

/**
 * A reservation to end. Those of one workspace end together if their workspace is known, which
 * loads a shared database less.
 */
export interface Ending extends Pick<Reservation, "id"> {
  readonly workspaceId?: string | undefined
}

/** The result of a request that was served. */
export interface Outcome {
  /**
   * What is charged, in micro-credits, at least 0. Charged in full, even above the reserved amount;
   * `reconciliation` lists such overruns.
   */
  readonly cost: MicroCredits.MicroCredits
  /** What it cost, if that is more than is charged, for the log. Default: the cost. */
  readonly billed?: MicroCredits.MicroCredits | undefined
  /** The provider that served it. */
  readonly provider: string
  readonly upstreamModel: string
  /** Counts such as `search_units`, `total_tokens` or `seconds`, stored as JSON. */
  readonly usage?: Readonly<Record<string, number>> | undefined
  /** Whether the caller's own provider key was used. Default: as reserved. */
  readonly isByok?: boolean | undefined
  /** The attempts at providers, for the request log. Default: none. */
  readonly attempts?: ReadonlyArray<Attempt> | undefined
}

/** The result of a request that was not served, for the request log. */
export interface Failure {
  /** `cancelled`: by the caller, who cancelled the job or disconnected. */
  readonly status: "failed" | "cancelled" | "expired"
  /** The HTTP status of the error that the caller got. Default: none, as for jobs. */
  readonly errorStatus?: number | undefined
  /** The last provider that was tried. Default: none was. */
  readonly provider?: string | undefined
  readonly upstreamModel?: string | undefined
  /** Whether the last attempt used the caller's own provider key. Default: as reserved. */
  readonly isByok?: boolean | undefined
  /** The attempts at providers. Default: none. */
  readonly attempts?: ReadonlyArray<Attempt> | undefined
}

/**
 * The result of a settle or release:
 *
 * - `done`: it took effect.
 * - `late`: the reaper had already released the intent. A late settle still charges; a late release
 *   does nothing.
 * - `already`: the intent was settled or released before, or never existed. Nothing happened.
 */
export type Settlement = "done" | "late" | "already"

/**
 * A budget does not allow the amount (status 402). `limit` and `remaining` are micro-credits; for a
 * workspace `limit` is its balance. `message` names the budget and says what to do.
 */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly scope: "workspace" | "key" | "guardrail"
  readonly limit: MicroCredits.MicroCredits
  readonly remaining: MicroCredits.MicroCredits
  readonly message: string
}> {}
