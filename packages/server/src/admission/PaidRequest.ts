/**
 * The steps of every paid request, in this order: the key's rate limit (429), a stored answer for
 * its `Idempotency-Key`, the free-model day (429), and the reservation of its worst-case cost on
 * key, guardrail and workspace (402). Then it runs, and its actual cost is charged once, or the
 * whole reservation is released.
 */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import { PaymentRequired, TooManyRequests } from "@model-gateway/core/GatewayError"
import { Effect, Exit, Schedule } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { HttpServerResponse } from "effect/http"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { Accounting, type Outcome, type Reservation } from "../accounting/Accounting.ts"
import type { MicroCredits } from "@model-gateway/providers/MicroCredits"
import * as Idempotency from "./Idempotency.ts"
import { type Caller, currentCaller } from "../access/Caller.ts"
import { FreeModelDays } from "./FreeModelDays.ts"
import { RateLimits, type RateStatus } from "./RateLimits.ts"
import { fromSql, type StorageError } from "../storage/sql/StorageError.ts"
import * as FailureLog from "../observability/FailureLog.ts"
import { kindOf, orUnavailable } from "../http/Failures.ts"
import * as Metrics from "../observability/Metrics.ts"
import { invalid } from "../http/Issues.ts"
import * as RequestContext from "../http/RequestContext.ts"

const setRateHeaders = (status: RateStatus) =>
  Effect.map(RequestContext.RequestContext, ({ headers }) => {
    headers["ratelimit"] = `"default";r=${status.remaining};t=${status.resetSeconds}`
    headers["ratelimit-policy"] = `"default";q=${status.limit};w=${status.windowSeconds}`
  })

/**
 * Counts the request against its key's rate limit, once, and sets the `RateLimit` headers. Above
 * the limit it fails with a 429 with `retry_after`. For every operation that has a 429, paid or
 * not.
 */
export const withinRate: Effect.Effect<void, TooManyRequests, RateLimits | RequestContext.RequestContext> = Effect.gen(
  function* () {
    const record = yield* RequestContext.RequestContext
    if (record.isCounted) return
    record.isCounted = true
    const limits = yield* RateLimits
    const { key } = yield* currentCaller
    const status = yield* orUnavailable(limits.request(key.hash)).pipe(
      Effect.catchTag("RateLimited", (limited) =>
        Effect.andThen(
          setRateHeaders(limited.status),
          new TooManyRequests({
            error: { message: limited.message, metadata: { retry_after: limited.retryAfter } }
          })
        )
      )
    )
    yield* setRateHeaders(status)
  }
)

/**
 * Fails with a 402 if the key, its guardrail or its workspace has nothing left to spend. For
 * requests whose price is not known yet.
 */
export const notExhausted = (
  accounting: Accounting["Service"],
  { guardrail, key }: Caller
): Effect.Effect<void, PaymentRequired> =>
  orUnavailable(
    accounting.checkNotExhausted({
      keyHash: key.hash,
      workspaceId: key.workspaceId,
      guardrailId: guardrail?.id ?? null
    })
  ).pipe(Effect.catchTag("InsufficientCredits", (refusal) => Effect.fail(paymentRequired(refusal))))

/** Runs in one transaction. A database error becomes a defect, as in {@link orUnavailable}. */
export const inTransaction = <A, E, R>(sql: SqlClient, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catch(sql.withTransaction(effect), (error): Effect.Effect<never, E> =>
    isSqlError(error) ? Effect.die(fromSql("PaidRequest.inTransaction", error)) : Effect.fail(error)
  )

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
  /** Encodes the body of a success in wire format. */
  readonly encode: (answer: A) => string
}

/**
 * Prepares an answer to be stored for its idempotency key, if there is one, and returns the effect
 * that stores it. Run that effect in the transaction that does or charges the work, so that a crash
 * in between cannot make the work happen, or be paid for, twice.
 */
export type Keep<A> = (answer: A) => Effect.Effect<Effect.Effect<void, StorageError>>

const respond = (answer: Idempotency.Answer): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(answer.body, {
    status: answer.status,
    headers: answer.headers,
    contentType: "application/json"
  })

const conflicting = ({ message }: Idempotency.IdempotencyConflict) =>
  Effect.fail(invalid([{ path: "idempotency-key", message }], message))

/**
 * Runs the effect unless an earlier request with the same `Idempotency-Key` has an answer. That
 * answer is then returned with `idempotent-replayed: true`. The same key with another body is a
 * 400. A failure or an interruption releases the key. The effect stores its answer itself, with
 * {@link Keep}.
 */
export const once = <A, E, R>(
  { encode, idempotencyKey, operation, payload, status = 200 }: OnceOptions<A>,
  effect: (keep: Keep<A>) => Effect.Effect<A, E, R>
): Effect.Effect<
  HttpServerResponse.HttpServerResponse,
  E | BadRequest,
  R | Idempotency.Idempotency | RequestContext.RequestContext
> => {
  const toAnswer = (value: A): Idempotency.Answer => ({ status, headers: {}, body: encode(value) })
  if (idempotencyKey === undefined) {
    return Effect.map(
      effect(() => Effect.succeed(Effect.void)),
      (value) => respond(toAnswer(value))
    )
  }
  return Effect.uninterruptibleMask(
    Effect.fnUntraced(function* (restore) {
      const idempotency = yield* Idempotency.Idempotency
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
        return HttpServerResponse.setHeader(respond(begun.answer), "idempotent-replayed", "true")
      }
      const { claim } = begun
      // A large answer is encoded once, for the response and for storage.
      let kept: Idempotency.Answer | undefined
      const keep = (value: A) => Effect.map(Idempotency.pack((kept = toAnswer(value))), claim.complete)
      const value = yield* restore(effect(keep)).pipe(Effect.onError(() => ignored(claim.abandon)))
      return respond(kept ?? toAnswer(value))
    })
  )
}

/**
 * The 402 for a budget that does not allow the amount. For callers that reserve by themselves, such
 * as video submission.
 */
export const paymentRequired = (refusal: { readonly message: string }): PaymentRequired =>
  new PaymentRequired({ error: { message: refusal.message } })

/** Options of {@link paid}. */
export interface PaidOptions {
  readonly caller: Caller
  /** As in the ledger: `rerank`, `transcription` or `video`. */
  readonly operation: string
  readonly model: string
  /** Whether the model counts toward the key's free requests of the day. */
  readonly isFree: boolean
  /** The worst-case cost. */
  readonly amount: MicroCredits
}

/** The result of a paid request: the answer and the charge. */
export interface Served<A> {
  readonly answer: A
  readonly outcome: Outcome
}

/** A briefly locked database must not lose a charge: retry three times within about a second. */
const settleAgain = Schedule.exponential("100 millis")

/**
 * Reserves the worst-case cost, runs `serve` and charges the actual cost. A failure or an
 * interruption releases the reservation. Once there is an answer it is charged, even if the caller
 * has disconnected. `serve` runs uninterruptibly, except for parts that it makes interruptible
 * itself, such as the router's upstream calls.
 *
 * The answer is stored for its idempotency key in the transaction that charges it. The id passed to
 * `serve` is the generation id: the response's `id` and the key of the usage entry.
 */
export const paid = Effect.fnUntraced(function* <A, E, R>(
  { amount, caller, isFree, model, operation }: PaidOptions,
  keep: Keep<A>,
  serve: (id: string) => Effect.Effect<Served<A>, E, R>
) {
  const accounting = yield* Accounting
  const days = yield* FreeModelDays
  const random = yield* SecureRandom
  const id = yield* random.uuidV7()
  const taken = isFree ? yield* takeFree(days, caller) : undefined
  const reservation = yield* orUnavailable(
    accounting.reserve({
      id,
      payer: {
        keyHash: caller.key.hash,
        workspaceId: caller.key.workspaceId,
        guardrailId: caller.guardrail?.id ?? null
      },
      operation,
      model,
      amount
    })
  ).pipe(
    Effect.catchTag("InsufficientCredits", (refusal) => Effect.fail(paymentRequired(refusal))),
    Effect.onError(() => (taken === undefined ? Effect.void : ignored(days.giveBack(taken))))
  )
  const exit = yield* Effect.exit(serve(id))
  if (Exit.isFailure(exit)) {
    yield* release(accounting, reservation)
    return yield* Effect.failCause(exit.cause)
  }
  const { answer, outcome } = exit.value
  const kept = yield* keep(answer)
  yield* orUnavailable(
    Effect.retry(accounting.settle(reservation, outcome, kept), {
      schedule: settleAgain,
      times: 3,
      while: (error) => error.retryable
    })
  )
  if (outcome.cost > 0) yield* Metrics.spent(operation, outcome.cost)
  return answer
}, Effect.uninterruptible)

const takeFree = (days: FreeModelDays["Service"], { key }: Caller) =>
  orUnavailable(days.take(key.hash, key.freeDailyLimit)).pipe(
    Effect.catchTag("FreeModelDayUsedUp", (used) =>
      Effect.fail(
        new TooManyRequests({
          error: { message: used.message, metadata: { retry_after: used.retryAfter } }
        })
      )
    )
  )

/**
 * If the release does not reach the database, the intent stays open until the reaper releases it.
 * No money is lost.
 */
const release = (accounting: Accounting["Service"], reservation: Reservation) =>
  ignored(accounting.release(reservation))

const ignored = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catch(effect, (error) =>
    FailureLog.report({ kind: `ignored\n${kindOf(error)}`, level: "Warn", message: error.message })
  )
