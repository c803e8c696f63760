/**
 * The first answer to an `Idempotency-Key`, kept for 24 hours and given again.
 *
 * A key belongs to the API key that sent it. The first request with it goes ahead; one with the same key and the same body waits for it and is given
 * its answer; one with another body is a conflict. Answers that a retry could better (402, 408, 409, 425, 429 and all 5xx) are not kept, and neither is a failure: the next
 * request with the key goes ahead afresh. So it does when the process that held the key has died. This holds across processes that share the database.
 */
import { Context, Data, type Effect } from "effect"
import type { StorageError } from "../storage/StorageError.ts"

/** A request that carries an idempotency key. */
export interface IdempotentRequest {
  /** The API key's hash. */
  readonly scope: string
  /** The header's value: see {@link isValidKey}. */
  readonly key: string
  /** Of operation and body: see {@link fingerprintOf}. */
  readonly fingerprint: string
}

/** An answer as it is kept. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The right to go ahead; end it by `complete` or `abandon`. */
export interface Claim {
  /**
   * Keeps the answer if it is one to keep (see {@link keeps}), else frees the key. Inside a `sql.withTransaction` it stands or falls with the rest, so that what
   * was done and what will be answered cannot differ.
   */
  readonly complete: (answer: Answer) => Effect.Effect<void, StorageError>
  /** Frees the key for the next request. */
  readonly abandon: Effect.Effect<void, StorageError>
}

/** What a request with an idempotency key is told. */
export type Begun = Data.TaggedEnum<{
  First: { readonly claim: Claim }
  Replay: { readonly answer: Answer }
}>

/** Constructors and matchers of {@link Begun}. */
export const Begun = Data.taggedEnum<Begun>()

/** The key was used before with another body (status 400). */
export class IdempotencyConflict extends Data.TaggedError("IdempotencyConflict")<{
  readonly message: string
}> {}

/** The idempotency service. */
export class Idempotency extends Context.Service<
  Idempotency,
  {
    /**
     * Claims the key, or answers what was answered before; waits while another request holds it. Whoever gets a claim must end it; `run` does so by
     * itself.
     */
    readonly begin: (request: IdempotentRequest) => Effect.Effect<Begun, IdempotencyConflict | StorageError>
    /**
     * Runs `effect` unless its answer is already known. A failure or an interruption frees the key.
     */
    readonly run: <E, R>(
      request: IdempotentRequest,
      effect: Effect.Effect<Answer, E, R>
    ) => Effect.Effect<
      { readonly answer: Answer; readonly replayed: boolean },
      E | IdempotencyConflict | StorageError,
      R
    >
    /** Forgets answers older than 24 hours; answers how many. Runs by itself under `layerPurge`. */
    readonly purge: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/idempotency/Idempotency") {}
