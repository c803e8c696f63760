/**
 * What every request that costs money goes through, in this order: the rate of its key (429), an earlier answer to its `Idempotency-Key`, the day's requests to free models
 * (429), and its worst-case cost held on key, guardrail and workspace (402). Then it runs, and what it really cost is charged once, or all of it given back.
 */
import { BadRequest, PaymentRequired, phrases, TooManyRequests } from "@model-gateway/core/GatewayError"
import { Effect, Exit, Schedule } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { HttpServerResponse } from "effect/http"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { Accounting, type Outcome, type Reservation } from "../accounting/Accounting.ts"
import type { MicroCredits } from "../accounting/MicroCredits.ts"
import * as Idempotency from "../idempotency/Idempotency.ts"
import type { Caller } from "../keys/Key.ts"
import { FreeModelDays } from "../rates/FreeModelDays.ts"
import { RateLimits, type RateStatus } from "../rates/RateLimits.ts"
import { fromSql, type StorageError } from "../storage/StorageError.ts"
import * as FailureLog from "./FailureLog.ts"
import { kindOf, orUnavailable } from "./Failures.ts"
import * as Metrics from "./Metrics.ts"
import * as RequestContext from "./RequestContext.ts"

const setRateHeaders = (status: RateStatus) =>
  Effect.map(RequestContext.RequestContext, ({ headers }) => {
    headers["ratelimit"] = `"default";r=${status.remaining};t=${status.resetSeconds}`
    headers["ratelimit-policy"] = `"default";q=${status.limit};w=${status.windowSeconds}`
  })

/**
 * Counts the request against its key's rate, once, and says in the `RateLimit` headers where the
 * key stands. Past the limit it is a 429 with `retry_after`. For every operation whose status set
 * has a 429, paid or not.
 */
export const withinRate: Effect.Effect<void, TooManyRequests, RateLimits | RequestContext.RequestContext> = Effect.gen(
  function* () {
    const record = yield* RequestContext.RequestContext
    if (record.isCounted) return
    record.isCounted = true
    const limits = yield* RateLimits
    const { key } = yield* RequestContext.caller
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
 * Fails with a 402 where the key, its guardrail or its workspace has nothing left to spend. For
 * requests whose price is not known yet: one with nothing left cannot pay any.
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

/** In one transaction; a database that does not answer is a defect, as with {@link orUnavailable}. */
export const together = <A, E, R>(sql: SqlClient, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catch(sql.withTransaction(effect), (error): Effect.Effect<never, E> =>
    isSqlError(error) ? Effect.die(fromSql("PaidRequest.together", error)) : Effect.fail(error)
  )

/** What is asked of {@link once}. */
export interface OnceOptions<A> {
  /** The operation's name; the same key may be used with another operation. */
  readonly operation: string
  /** The `Idempotency-Key` header. */
  readonly idempotencyKey: string | undefined
  /** All that makes two requests the same: the body, or what stands for it. Asked only where there is a key. */
  readonly payload: Effect.Effect<ReadonlyArray<string | Uint8Array>>
  /** Status of a success. Default 200. */
  readonly status?: number | undefined
  /** The body of a success as it goes over the wire. */
  readonly encode: (answer: A) => string
}

/**
 * Prepares an answer to be kept for its idempotency key, where there is one, and returns what keeps
 * it. That is to be run in the transaction that does or charges the work, so that a crash cannot
 * come between the two and have the work done, or paid for, twice.
 */
export type Keep<A> = (answer: A) => Effect.Effect<Effect.Effect<void, StorageError>>

const respond = (answer: Idempotency.Answer): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(answer.body, {
    status: answer.status,
    headers: answer.headers,
    contentType: "application/json"
  })

const conflicting = (conflict: Idempotency.IdempotencyConflict) =>
  Effect.fail(
    new BadRequest({
      error: {
        message: `${phrases[400]}: ${conflict.message}`,
        metadata: { issues: [{ path: "idempotency-key", message: conflict.message }] }
      }
    })
  )

/**
 * Runs the effect unless its answer is known from an earlier request with the same `Idempotency-Key`; then that answer is given again, marked
 * `idempotent-replayed: true`. The key with another body is a 400. A failure or an interruption frees the key. The effect keeps its answer itself, by {@link Keep}.
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
      const { ephemeral, key } = yield* RequestContext.caller
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
      // A large answer is written out once, for the one who waits and for those who ask again.
      let kept: Idempotency.Answer | undefined
      const keep = (value: A) => Effect.map(Idempotency.pack((kept = toAnswer(value))), claim.complete)
      const value = yield* restore(effect(keep)).pipe(Effect.onError(() => ignored(claim.abandon)))
      return respond(kept ?? toAnswer(value))
    })
  )
}

/** The 402 of a budget that does not allow the amount; for who reserves by itself, as the submission of a video job does. */
export const paymentRequired = (refusal: { readonly message: string }): PaymentRequired =>
  new PaymentRequired({ error: { message: refusal.message } })

/** What is asked of {@link paid}. */
export interface PaidOptions {
  readonly caller: Caller
  /** As in the ledger: `rerank`, `transcription`, `video`. */
  readonly operation: string
  readonly model: string
  /** Whether the model counts against the key's free requests of the day. */
  readonly isFree: boolean
  /** The worst case. */
  readonly amount: MicroCredits
}

/** What a paid request came to: the answer, and what is to be charged for it. */
export interface Served<A> {
  readonly answer: A
  readonly outcome: Outcome
}

/** A database that is locked for a moment must not lose a charge: three more tries within about a second. */
const settleAgain = Schedule.exponential("100 millis")

/**
 * Runs `serve` with its worst-case cost held, then charges what it cost. A failure or an interruption gives all of it back; once there is an answer it is charged, even when the
 * caller has hung up meanwhile. `serve` runs uninterruptibly but for the parts that it makes interruptible itself, as the router does for its upstream calls.
 *
 * The answer is kept for its idempotency key in the transaction that charges it. The id that `serve` is given is the generation id: the response's `id`, and the key of the usage row.
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

/** A release that does not reach the database leaves an open intent, which the reaper frees: nobody's money is lost by it. */
const release = (accounting: Accounting["Service"], reservation: Reservation) =>
  ignored(accounting.release(reservation))

const ignored = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.catch(effect, (error) =>
    FailureLog.report({ kind: `ignored\n${kindOf(error)}`, level: "Warn", message: error.message })
  )
