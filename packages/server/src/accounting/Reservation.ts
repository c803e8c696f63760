/** The requests and responses of accounting for one paid request. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { type NewReservation, type Reservation, type Result, storable } from "./Ledger.ts"
import type { AnswerRow, End } from "./LedgerStore.ts"

/**
 * Who pays: the key, its workspace, the key's guardrail, if it has one, and the ephemeral key that
 * was sent, if one was.
 */
export interface Payer
  extends Pick<Reservation, "keyHash" | "workspaceId" | "guardrailId">, Pick<NewReservation, "ephemeralHash"> {}

/** What to reserve. The amount is at least 0. */
export interface ReserveRequest extends Omit<
  NewReservation,
  keyof Payer | "state" | "owner" | "externalUser" | "isByok" | "byokExtra" | "dayStart" | "reservedAt"
> {
  readonly payer: Payer
  /** Default: false. */
  readonly isByok?: boolean | undefined
  /**
   * For a request that may be served with either: the worst-case cost with the caller's
   * provider key. `amount` is then the one with the gateway's own.
   */
  readonly byokAmount?: MicroCredits.MicroCredits | undefined
  /** The end user whom the request names, for the request log. Default: none. */
  readonly user?: string | undefined
}

/**
 * What was reserved, and when. The cost is charged to the periods that contain that time. Settling
 * and releasing need only `id`, so a job stores nothing else.
 */
export type Reserved = Pick<Reservation, "id" | "amount" | "reservedAt" | "workspaceId">

/**
 * A reservation to end. Those of one workspace end together if their workspace is known, which
 * loads a shared database less.
 */
export interface Ending extends Pick<Reserved, "id">, Partial<Pick<Reserved, "workspaceId">> {}

/**
 * The result of a request that was served. The cost is at least 0, and charged in full, even above
 * the reserved amount; `reconciliation` lists such overruns.
 */
export interface Outcome extends Omit<Result, "status" | "errorStatus" | "errorMessage"> {
  readonly provider: string
  readonly upstreamModel: string
  /** What it cost, if that is more than is charged, for the log. Default: the cost. */
  readonly billed?: MicroCredits.MicroCredits | undefined
}

/**
 * The result of a request that was not served, for the request log. `cancelled`: by the caller, who
 * canceled the job or disconnected. A job has no `errorStatus`.
 */
export interface Failure extends Omit<Result, "status" | "cost" | "usage"> {
  readonly status: Exclude<Result["status"], "completed">
}

/** An answer to store with the end of a request. */
export interface AnswerToStore extends AnswerRow {
  /**
   * Runs after the commit, with all stored bytes of the API key, or undefined if the answer was not
   * stored.
   */
  readonly stored: (bytesOfKey: number | undefined) => void
}

/** What is written in the transaction that ends a request; see `LedgerStore.End`. */
export interface EndRows extends Pick<End, "event"> {
  readonly answer?: AnswerToStore | undefined
}

/**
 * The result of a settle or release:
 *
 * - `done`: it took effect.
 * - `late`: the reaper had already released the reservation. A late settle still charges; a late
 *   release does nothing.
 * - `already`: the reservation was settled or released before, or never existed. Nothing happened.
 */
export type Settlement = "done" | "late" | "already"

/**
 * The reservation to write, owned by the process `owner` or by the request's job. It counts in the
 * periods of the day that starts at `dayStart`.
 */
export const toWrite = (
  { byokAmount, isByok = false, payer, user, ...request }: ReserveRequest,
  owner: string,
  reservedAt: number,
  dayStart: number
): NewReservation => ({
  ...request,
  ...payer,
  state: "open",
  owner: request.jobId === undefined ? owner : null,
  externalUser: user === undefined ? null : storable(user),
  isByok,
  // Only one of both costs is charged. If BYOK usage counts toward the limit, both together reserve
  // the larger one.
  byokExtra: MicroCredits.make(isByok ? 0 : Math.max(0, (byokAmount ?? 0) - request.amount)),
  dayStart,
  reservedAt
})
