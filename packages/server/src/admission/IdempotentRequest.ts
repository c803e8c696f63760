/** Answers a request with an `Idempotency-Key` once, and repeats the stored answer after that. */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { SqlClient } from "effect/sql/SqlClient"
import { currentCaller } from "../access/Caller.ts"
import { logAndContinue, orUnavailable } from "../http/Failures.ts"
import { inTransaction } from "../http/InTransaction.ts"
import { invalid } from "../internal/Issues.ts"
import type { AnswerToStore } from "../accounting/Reservation.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import * as Idempotency from "./Idempotency.ts"

/** Options of {@link once}. */
export interface OnceOptions<A> {
  /** The operation's name. The same idempotency key may be used with another operation. */
  readonly operation: string
  /** The `Idempotency-Key` header. */
  readonly idempotencyKey: string | undefined
  /**
   * Identifies the request: its body, or what represents it. Read only if there is an idempotency
   * key.
   */
  readonly payload: Effect.Effect<ReadonlyArray<string | Uint8Array>>
  /** Status of a success. Default: 200. */
  readonly status?: number | undefined
  /** Encodes the body of a success: in wire format, or as `restore` takes it. */
  readonly encode: (answer: A) => string
  /**
   * Makes the body in wire format of an encoded one, for an answer whose body is not stored as it
   * is, because it contains a secret. Default: it is in wire format.
   */
  readonly restore?: ((encoded: string) => Effect.Effect<string, BadRequest>) | undefined
}

/**
 * How to store an answer for its idempotency key, if there is one. Store it in the transaction that
 * does or charges the work, so that a crash in between cannot make the work happen, or be paid for,
 * twice.
 */
export interface Keep<A> {
  /** The row to write with a charge. Undefined without an idempotency key. */
  readonly row: (answer: A) => Effect.Effect<AnswerToStore | undefined>
  /** Stores it as part of the transaction that is under way. */
  readonly store: (answer: A) => Effect.Effect<void, StorageError>
}

const keepNothing: Keep<unknown> = { row: () => Effect.undefined, store: () => Effect.void }

const conflicting = ({ message }: Idempotency.IdempotencyConflict) =>
  Effect.fail(invalid([{ path: "idempotency-key", message }], message))

/**
 * Runs the effect unless an earlier request with the same `Idempotency-Key` has an answer. That
 * answer is then returned with `idempotent-replayed: true`. The same key with another body is a
 * 400. A failure or an interruption releases the key. The effect stores its answer itself, with
 * {@link Keep}.
 */
export const once = <A, E, R>(
  idempotency: Idempotency.Idempotency["Service"],
  { encode, idempotencyKey, operation, payload, restore: restored = Effect.succeed, status = 200 }: OnceOptions<A>,
  effect: (keep: Keep<A>) => Effect.Effect<A, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E | BadRequest, R> => {
  const toAnswer = (value: A): Idempotency.Answer => ({ status, headers: {}, body: encode(value) })
  const respond = (answer: Idempotency.Answer): Effect.Effect<HttpServerResponse.HttpServerResponse, BadRequest> =>
    Effect.map(restored(answer.body), (body) =>
      HttpServerResponse.text(body, {
        status: answer.status,
        headers: answer.headers,
        contentType: "application/json"
      })
    )
  if (idempotencyKey === undefined) {
    return Effect.flatMap(effect(keepNothing), (value) => respond(toAnswer(value)))
  }
  return Effect.uninterruptibleMask(
    Effect.fnUntraced(function* (restore) {
      const { ephemeral, key } = yield* currentCaller
      const begun = yield* idempotency
        .begin({
          scope: ephemeral?.hash ?? key.hash,
          keyHash: key.hash,
          key: idempotencyKey,
          fingerprint: Idempotency.fingerprintOf(operation, ...(yield* payload))
        })
        .pipe(orUnavailable, Effect.catchTag("IdempotencyConflict", conflicting))
      if (begun._tag === "Replay") {
        return HttpServerResponse.setHeader(yield* respond(begun.answer), "idempotent-replayed", "true")
      }
      const { claim } = begun
      // A large answer is encoded once, for the response and for storage.
      let kept: Idempotency.Answer | undefined
      const packed = (value: A) => Idempotency.pack((kept = toAnswer(value)))
      const keep: Keep<A> = {
        row: (value) => Effect.map(packed(value), claim.row),
        store: (value) => Effect.flatMap(packed(value), claim.complete)
      }
      const value = yield* restore(effect(keep)).pipe(Effect.onError(() => logAndContinue(claim.abandon)))
      return yield* respond(kept ?? toAnswer(value))
    })
  )
}

/** Like {@link once}, for work that is one transaction. The answer is stored in it. */
export const onceInTransaction = <A, E, R>(
  { idempotency, sql }: { readonly idempotency: Idempotency.Idempotency["Service"]; readonly sql: SqlClient },
  options: OnceOptions<A>,
  work: Effect.Effect<A, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E | BadRequest, R> =>
  once(idempotency, options, (keep) =>
    inTransaction(
      sql,
      options.operation,
      Effect.tap(work, (answer) => orUnavailable(keep.store(answer)))
    )
  )
