/**
 * Writes what a paid request changes: its reservation, its end, and what is written with its end.
 *
 * `Accounting.ts` decides what to write and says what it means. A database writes it here, each its
 * own way: SQLite one statement after the other in a transaction that it shares with others,
 * Postgres in one round trip together with others. Both run the statements of
 * `LedgerStatements.ts`.
 *
 * Inside the caller's `sql.withTransaction` everything is part of that transaction.
 */
import { Context, Data, type Effect } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import type { SqlError } from "effect/sql/SqlError"
import type { EventRow } from "../storage/sql/EventLog.ts"
import { StorageError } from "../storage/sql/StorageError.ts"
import type { NewReservation, Reservation, Result } from "./Ledger.ts"

/** Why a reservation was not written. */
export type Refusal = Data.TaggedEnum<{
  Missing: { readonly what: "key" | "workspace" }
  /** `budget` is the row of the budget that does not allow it. */
  OverBudget: { readonly scope: "key" | "guardrail"; readonly budget: Row }
  OverBalance: { readonly balance: number; readonly reserved: number }
  /** A budget is already in a later day, which starts at `day`: count in that day. */
  ClockBehind: { readonly day: number }
}>

/** Constructors of {@link Refusal}. */
export const Refusal = Data.taggedEnum<Refusal>()

/** The reservation was not written, and nothing else was. */
export class ReservationRefused extends Data.TaggedError("ReservationRefused")<{ readonly reason: Refusal }> {}

/** Another request has claimed the idempotency key, or it has an answer. Nothing was written. */
export class KeyTaken extends Data.TaggedError("KeyTaken")<{}> {}

/** The claim of an idempotency key by a process. Times are epoch milliseconds. */
export interface ClaimRow extends Pick<AnswerRow, "scope" | "key" | "owner" | "keyHash"> {
  readonly fingerprint: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** An answer to store for an idempotency key that a process has claimed. */
export interface AnswerRow {
  readonly scope: string
  readonly key: string
  /** The process that has claimed the key. */
  readonly owner: string
  /** The API key whose stored bytes are counted. */
  readonly keyHash: string
  readonly status: number
  readonly headers: string | null
  readonly body: string | null
  readonly packed: Uint8Array | null
  readonly bytes: number
}

/** How a reservation ends, and the rows that are written in the same transaction. */
export interface End {
  readonly id: string
  /** The workspace, if it is known: ends of one workspace are written together. */
  readonly workspaceId?: string | undefined
  /** What this process has reserved with the id, which then need not be read. */
  readonly reservation?: NewReservation | undefined
  /** The result of the request. Only a completed one is charged. Undefined: no entry is written. */
  readonly result: Result | undefined
  readonly now: number
  /** No other request is under way, so that there is no other write to share a commit with. */
  readonly isAlone: boolean
  /**
   * Not written if the reservation had ended before, nor if its workspace has no enabled
   * destination.
   */
  readonly event?: EventRow | undefined
  /** Stored even if the reservation had ended before. */
  readonly answer?: AnswerRow | undefined
}

/** What was reserved, now or before. */
export interface Written extends Pick<Reservation, "amount" | "reservedAt"> {
  /** Whether the reservation was written now, as it was given. False if that is not known. */
  readonly isAsGiven: boolean
}

/** What an end did; see `Reservation.ts`. */
export interface Ended {
  readonly settlement: "done" | "late" | "already"
  /** What was charged, unless it is `already`. */
  readonly charged: { readonly operation: string; readonly model: string; readonly reserved: number } | undefined
  /** All stored bytes of the answer's API key, if the answer was stored. */
  readonly bytesOfKey: number | undefined
}

/**
 * Another process has taken over the idempotency key of a request, because this process seemed
 * dead. The other one does the work, answers and charges, so this one must not.
 */
export const claimLost = new StorageError({
  operation: "LedgerStore.end",
  message: "Another process has taken over the Idempotency-Key of this request, and this one charges nothing.",
  retryable: false
})

/** Writes paid requests. */
export class LedgerStore extends Context.Service<
  LedgerStore,
  {
    /**
     * Claims an idempotency key. Returns whether no one had claimed it before. For `isAlone` see
     * {@link End}.
     */
    readonly claim: (claim: ClaimRow, isAlone: boolean) => Effect.Effect<boolean, SqlError>
    /**
     * Writes a reservation, or fails with the budget that does not allow it. For `isAlone` see
     * {@link End}.
     */
    readonly reserve: (
      reservation: NewReservation,
      isAlone: boolean
    ) => Effect.Effect<Written, ReservationRefused | SqlError>
    /**
     * Like `reserve`, and claims an idempotency key in the same transaction. Writes neither if the
     * key is taken.
     */
    readonly claimAndReserve: (
      claim: ClaimRow,
      reservation: NewReservation,
      isAlone: boolean
    ) => Effect.Effect<Written, KeyTaken | ReservationRefused | SqlError>
    /**
     * Ends a reservation. Takes effect once for each. Fails with {@link claimLost}, and changes
     * nothing, if its process has lost the key of `answer`. If the reservation had ended before, it
     * does not fail: an earlier call stored the answer too, and its confirmation was lost.
     */
    readonly end: (end: End) => Effect.Effect<Ended, SqlError | StorageError>
    /**
     * Releases open reservations of dead processes and marks them abandoned, in one transaction.
     * Returns how many were still open.
     */
    readonly abandon: (
      reservations: ReadonlyArray<{ readonly id: string; readonly owner: string }>,
      now: number
    ) => Effect.Effect<number, SqlError>
    /**
     * Stores an answer alone, and returns all stored bytes of its API key. Fails with {@link
     * claimLost} if its process has lost the key.
     */
    readonly keep: (answer: AnswerRow) => Effect.Effect<number, SqlError | StorageError>
  }
>()("@model-gateway/server/accounting/LedgerStore") {}
