/**
 * The one way in for paid work: rerank, transcription and video.
 *
 * A request passes these steps in this order: a stored answer for its `Idempotency-Key`, the free
 * tier (402), the free-model day (429), and the reservation of the most that it can cost on key,
 * guardrail and workspace (402). The reservation's transaction also claims the idempotency key,
 * unless free requests are counted. Then it runs. Its charge, its stored answer and its event are
 * written in one transaction. If it fails, the whole reservation is released, in one transaction
 * with the event that says so. The key's rate limit comes before: Authorization counts the request.
 *
 * A provider may bill more than the offer had quoted. The difference is reserved before the charge,
 * as far as key, guardrail and workspace allow it, and no more is charged: whatever a provider
 * bills, and however many requests run, no limit is exceeded, and a key that reaches its limit
 * stops there.
 *
 * The work of a video job continues after the answer. Its worker charges it, or releases the
 * reservation, when the job ends.
 */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import { PaymentRequired, TooManyRequests } from "@model-gateway/core/GatewayError"
import type { Metadata as TraceMetadata } from "@model-gateway/core/Trace"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { Offer } from "@model-gateway/offers/Offer"
import { Cause, Context, Effect, Exit, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import type { HttpServerResponse } from "effect/http"
import type { Caller } from "../access/Caller.ts"
import type { ProviderAttempt } from "../accounting/ProviderAttempt.ts"
import {
  Accounting,
  type Failure,
  type InsufficientCredits,
  type Outcome,
  type Payer,
  type Reserved,
  type ReserveRequest
} from "../accounting/Accounting.ts"
import { type Event, idOf } from "../events/Event.ts"
import { Outbox } from "../events/Outbox.ts"
import { classify, errorOf, logAndContinue, orUnavailable } from "../http/Failures.ts"
import { RequestContext } from "../http/RequestContext.ts"
import * as Metrics from "../observability/Metrics.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import { FreeModelDays } from "../accounting/FreeModelDays.ts"
import { type Hold, Idempotency } from "./Idempotency.ts"
import * as IdempotentRequest from "./IdempotentRequest.ts"
import * as PaymentFailures from "./PaymentFailures.ts"
import * as Candidates from "../routing/Candidates.ts"
import * as FreeTier from "../routing/FreeTier.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** A request for paid work. */
export interface PaidRequest<A> {
  readonly caller: Caller
  /** As in the ledger. */
  readonly operation: "rerank" | "transcription" | "video"
  readonly model: string
  /** The most that it can cost, with the gateway's credentials and with the caller's own. */
  readonly quotes: Candidates.Quotes
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
  /** What is stored of it for its idempotency key. Default: the whole body. */
  readonly abridged?: IdempotentRequest.Abridged<A> | undefined
  /** The request's tracing metadata, for its event. */
  readonly trace: TraceMetadata | undefined
  /** The end user whom the request names, for its event and its entry in the request log. */
  readonly user: string | undefined
}

/** A request that is answered when its work is done. */
export interface ServedRequest<A> extends PaidRequest<A> {
  readonly operation: "rerank" | "transcription"
  /** What the request contains, such as its number of `documents`, for its event. */
  readonly input: Event["input"]
}

/** A request that is being served. */
export interface Run {
  /** The generation id: the response's `id` and the key of the usage entry. */
  readonly id: string
  /**
   * Whether the credits or the free requests of the day do not suffice for the gateway's
   * credentials, so that only the caller's provider keys may be used.
   */
  readonly isByokOnly: boolean
}

/** The result of paid work: the answer and the charge. */
export interface Served<A> {
  /** The answer, which says what is charged. */
  readonly answer: (cost: MicroCredits.MicroCredits) => A
  readonly outcome: Outcome
}

/** How paid work ended. */
export interface EndedWork<A, E> {
  readonly exit: Exit.Exit<Served<A>, E>
  /** The attempts at providers, even if the work failed or the caller disconnected. */
  readonly attempts: ReadonlyArray<ProviderAttempt>
}

/** What a job needs to be admitted. Run both effects in the transaction that writes the job. */
export interface JobAdmission<A> {
  /** As in {@link Run}. */
  readonly isByokOnly: boolean
  /** Counts the free request, and reserves the quotes until the job ends. */
  readonly reserve: (job: {
    readonly jobId: string
    readonly reservationId: string
  }) => Effect.Effect<void, PaymentRequired | TooManyRequests>
  /** Stores the answer for the idempotency key. */
  readonly keep: (answer: A) => Effect.Effect<void, StorageError>
}

/** How admission itself can fail. */
export type AdmissionError = BadRequest | PaymentRequired | TooManyRequests

/** Admission. */
export class Admission extends Context.Service<
  Admission,
  {
    /**
     * Fails if the key, its guardrail or its workspace has nothing left to spend. For requests
     * whose price is not known yet. A request with a used `Idempotency-Key` passes, because its
     * answer may have been paid for with the last credits. So does a key of the free tier, which
     * needs no credits.
     */
    readonly requireCredits: (
      caller: Caller,
      idempotencyKey: string | undefined
    ) => Effect.Effect<void, PaymentRequired>
    /**
     * As {@link requireCredits}, for a request that goes to one of these offers with a credential
     * of the gateway. Fails for a key of the free tier if each of them has a price.
     */
    readonly requirePayable: (
      caller: Caller,
      model: string,
      offers: ReadonlyArray<Offer>,
      idempotencyKey: string | undefined
    ) => Effect.Effect<void, PaymentRequired>
    /**
     * Admits the request, runs `work` and charges its actual cost. Once there is an answer it is
     * charged, even if the caller has disconnected. `work` runs uninterruptibly, except for parts
     * that it makes interruptible itself, such as the router's upstream calls.
     */
    readonly serve: <A, E, R>(
      request: ServedRequest<A>,
      work: (run: Run) => Effect.Effect<EndedWork<A, E>, never, R>
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E | AdmissionError, R | RequestContext>
    /**
     * Admits a job. `submit` writes it in one transaction with {@link JobAdmission}. It is called
     * again with `isByokOnly` if the first call fails for a lack of credits or free requests and
     * the caller has provider keys.
     */
    readonly accept: <A, E, R>(
      request: PaidRequest<A>,
      submit: (admission: JobAdmission<A>) => Effect.Effect<A, E, R>
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, E | AdmissionError, R | RequestContext>
  }
>()("@model-gateway/server/admission/Admission") {}

const payerOf = ({ ephemeral, guardrail, key }: Caller): Payer => ({
  keyHash: key.hash,
  workspaceId: key.workspaceId,
  guardrailId: guardrail?.id ?? null,
  ephemeralHash: ephemeral?.hash
})

/** The status that servers commonly log for a caller that disconnected before the answer. */
const disconnected = 499

/** How paid work failed, as the caller sees it. */
const failureOf = (cause: Cause.Cause<unknown>): { readonly status: number; readonly message?: string } =>
  Cause.hasInterruptsOnly(cause) ? { status: disconnected } : classify(errorOf(cause)).failure

/**
 * The message for the request log. What a provider writes about a request may quote it, so only the
 * part before that is kept.
 */
const loggedOf = (message: string | undefined, last: ProviderAttempt | undefined): string | undefined =>
  last?.outcome === "InvalidRequest" || last?.outcome === "InputTooLarge" ? message?.split(": ", 1)[0] : message

/** The only log entry that names an end user. Operators see it at the level of debugging. */
const logUser = (id: string, operation: string, user: string): Effect.Effect<void> =>
  LogEvent.log("end_user", "A request names its end user", { generation_id: id, operation, external_user: user })

/** Reserves. It may claim the request's idempotency key in the same transaction. */
type Reserve<E> = (request: ReserveRequest) => Effect.Effect<Reserved, E>

const paymentRequired = (error: InsufficientCredits) => Effect.fail(PaymentFailures.paymentRequired(error))

/** Makes admission from the services in the context. */
export const make = Effect.gen(function* () {
  const accounting = yield* Accounting
  const days = yield* FreeModelDays
  const idempotency = yield* Idempotency
  const outbox = yield* Outbox
  const random = yield* SecureRandom

  const takeFree = ({ key }: Caller) =>
    orUnavailable(days.take(key.hash, key.freeDailyLimit)).pipe(
      Effect.catchTag("FreeModelDayUsedUp", (error) => Effect.fail(PaymentFailures.freeRequestsUsedUp(error)))
    )

  const reserveOnly = (request: ReserveRequest) =>
    accounting.reserve(request).pipe(orUnavailable, Effect.catchTag("InsufficientCredits", paymentRequired))

  /** Claims a held idempotency key with the reservation. */
  const claimAndReserve =
    ({ claiming }: Hold) =>
    (request: ReserveRequest) =>
      claiming((claim) => accounting.claimAndReserve(claim, request)).pipe(
        orUnavailable,
        Effect.catchTag("InsufficientCredits", paymentRequired)
      )

  /** Counts the free request and reserves the amount, or does neither. */
  const reserve = Effect.fnUntracedEager(function* <A, E>(
    { caller, model, operation, user }: PaidRequest<A>,
    ids: { readonly id: string; readonly requestId: string; readonly jobId?: string },
    { gateway, isFree, isPriced, byok }: Candidates.Quotes,
    write: Reserve<E>
  ) {
    const { isFreeTier } = caller.key
    if (isFreeTier && isPriced) return yield* PaymentFailures.notFree(model)
    const amounts =
      gateway === undefined
        ? { amount: byok ?? MicroCredits.zero, isByok: byok !== undefined }
        : { amount: gateway, byokAmount: byok }
    const isCounted = isFree || (isFreeTier && gateway !== undefined)
    const taken = isCounted ? yield* takeFree(caller) : undefined
    const reserved = write({ ...ids, ...amounts, payer: payerOf(caller), operation, model, user })
    const reservation = yield* taken === undefined
      ? reserved
      : Effect.onError(reserved, () => logAndContinue(days.giveBack(taken)))
    if (user !== undefined) yield* logUser(reservation.id, operation, user)
    return reservation
  })

  /**
   * Admits with all candidates, or only with provider keys if the credits or the free
   * requests of the day do not suffice for the others.
   */
  const withFallback = <A, E, R>(
    quotes: Candidates.Quotes,
    admit: (
      quotes: Candidates.Quotes,
      isByokOnly: boolean
    ) => Effect.Effect<A, E | PaymentRequired | TooManyRequests, R>
  ) => {
    const all = admit(quotes, false)
    return quotes.gateway === undefined || quotes.byok === undefined
      ? all
      : Effect.catch(all, (error) =>
          error instanceof PaymentRequired || error instanceof TooManyRequests
            ? admit(Candidates.byokOnly(quotes), true)
            : Effect.fail(error)
        )
  }

  const report = <A>(
    { caller, input, model, operation, trace, user }: ServedRequest<A>,
    { id, reservedAt }: Reserved,
    result: Outcome | Failure
  ) => {
    const isFailed = "status" in result
    return outbox.row({
      id: idOf(id),
      type: isFailed ? `${operation}.failed` : `${operation}.completed`,
      workspace_id: caller.key.workspaceId,
      key_hash: caller.key.hash,
      model,
      generation_id: id,
      provider: result.provider ?? null,
      upstream_model: result.upstreamModel ?? null,
      error_status: isFailed ? (result.errorStatus ?? null) : null,
      cost_micro: isFailed ? 0 : result.cost,
      is_byok: result.isByok ?? false,
      input,
      usage: isFailed ? {} : (result.usage ?? {}),
      user: user ?? null,
      trace: trace ?? null,
      started_at: reservedAt,
      attempts: result.attempts ?? [],
      job: null,
      callback_url: null
    })
  }

  /**
   * What is charged of a request, and what was reserved for it in addition. A provider's bill may
   * be higher than the quote. A key of the free tier pays nothing of it. What the caller's
   * provider key was billed is charged in any case: it is not the gateway's money.
   */
  const covered = Effect.fnUntracedEager(function* <A>(
    { caller, model, operation, quotes }: ServedRequest<A>,
    outcome: Outcome
  ) {
    const reserved = quotes.gateway ?? MicroCredits.zero
    const excess = MicroCredits.subtract(outcome.cost, reserved)
    if (outcome.isByok === true || excess <= 0) return { outcome, cover: undefined }
    if (caller.key.isFreeTier) {
      return { outcome: { ...outcome, cost: reserved, billed: outcome.cost }, cover: undefined }
    }
    const id = yield* random.uuidV7()
    // If the database cannot be used now, the charge must not be lost: all of it is charged.
    const cover = yield* Effect.option(
      accounting.cover({ id, payer: payerOf(caller), operation, model, amount: excess })
    )
    if (Option.isNone(cover)) return { outcome, cover: undefined }
    const cost = MicroCredits.make(reserved + (cover.value?.amount ?? 0))
    return { outcome: { ...outcome, cost, billed: outcome.cost }, cover: cover.value }
  })

  const charged = Effect.fnUntraced(function* <A, E, R, E2>(
    request: ServedRequest<A>,
    keep: IdempotentRequest.Keep<A>,
    work: (run: Run) => Effect.Effect<EndedWork<A, E>, never, R>,
    write: Reserve<E2>
  ) {
    const id = yield* random.uuidV7()
    const record = yield* RequestContext
    const { isByokOnly, reservation } = yield* withFallback(request.quotes, (quotes, isByokOnly) =>
      Effect.map(reserve(request, { id, requestId: record.id }, quotes, write), (reservation) => ({
        reservation,
        isByokOnly
      }))
    )
    record.generationId = id
    const { attempts, exit } = yield* Effect.catchCause(work({ id, isByokOnly }), (cause) =>
      Effect.succeed({ exit: Exit.failCause(cause), attempts: [] })
    )
    if (Exit.isFailure(exit)) {
      const { message, status: errorStatus } = failureOf(exit.cause)
      const last = attempts.at(-1)
      const failure = {
        status: errorStatus === disconnected ? ("cancelled" as const) : ("failed" as const),
        errorStatus,
        errorMessage: loggedOf(message, last),
        trace: request.trace,
        provider: last?.provider,
        isByok: last === undefined ? undefined : last.is_byok === true,
        attempts
      }
      const event = yield* report(request, reservation, failure)
      // If the release does not reach the database, the reservation stays open until the reaper
      // releases it. No money is lost.
      yield* logAndContinue(accounting.release(reservation, failure, { event }))
      return yield* Effect.failCause(exit.cause)
    }
    const { cover, outcome: charge } = yield* covered(request, exit.value.outcome)
    const answer = exit.value.answer(charge.cost)
    const outcome = { ...charge, attempts, trace: request.trace }
    const rows = {
      answer: yield* keep.row(answer),
      event: yield* report(request, reservation, outcome)
    }
    const settled = orUnavailable(accounting.settle(reservation, outcome, rows))
    yield* cover === undefined ? settled : Effect.ensuring(settled, logAndContinue(accounting.release(cover)))
    if (outcome.cost > 0) yield* Metrics.spent(request.operation, outcome.cost)
    return answer
  }, Effect.uninterruptible)

  const isRepeated = ({ ephemeral, key }: Caller, idempotencyKey: string | undefined) =>
    idempotencyKey === undefined
      ? Effect.succeed(false)
      : orUnavailable(idempotency.isUsed({ scope: ephemeral?.hash ?? key.hash, key: idempotencyKey }))

  /** Fails with the error unless the request may have an answer already. */
  const unlessRepeated = (caller: Caller, idempotencyKey: string | undefined, error: PaymentRequired) =>
    Effect.flatMap(isRepeated(caller, idempotencyKey), (is) => (is ? Effect.void : Effect.fail(error)))

  const requireCredits = (caller: Caller, idempotencyKey: string | undefined) =>
    caller.key.isFreeTier
      ? Effect.void
      : orUnavailable(accounting.requireCredits(payerOf(caller))).pipe(
          Effect.catchTag("InsufficientCredits", (error) =>
            unlessRepeated(caller, idempotencyKey, PaymentFailures.paymentRequired(error))
          )
        )

  return Admission.of({
    requireCredits,
    requirePayable: (caller, model, offers, idempotencyKey) => {
      if (!caller.key.isFreeTier) {
        return offers.some(({ isFree }) => !isFree) ? requireCredits(caller, idempotencyKey) : Effect.void
      }
      return offers.some(FreeTier.costsNothing)
        ? Effect.void
        : unlessRepeated(caller, idempotencyKey, PaymentFailures.notFree(model))
    },
    serve: <A, E, R>(request: ServedRequest<A>, work: (run: Run) => Effect.Effect<EndedWork<A, E>, never, R>) => {
      const claimedFirst = (keep: IdempotentRequest.Keep<A>) => charged(request, keep, work, reserveOnly)
      // A free request is counted before anything is reserved, and only if it has no answer yet.
      if (request.quotes.isFree || request.caller.key.isFreeTier) {
        return IdempotentRequest.once(idempotency, request, claimedFirst)
      }
      return IdempotentRequest.onceHeld(idempotency, request, claimedFirst, (keep, hold) =>
        charged(request, keep, work, claimAndReserve(hold))
      )
    },
    accept: (request, submit) =>
      IdempotentRequest.once(idempotency, request, (keep) =>
        Effect.flatMap(RequestContext, ({ id: requestId }) =>
          withFallback(request.quotes, (quotes, isByokOnly) =>
            submit({
              isByokOnly,
              reserve: ({ reservationId, jobId }) =>
                Effect.asVoid(reserve(request, { id: reservationId, requestId, jobId }, quotes, reserveOnly)),
              keep: keep.store
            })
          )
        )
      )
  })
})

/** Admission over the stores in the context. */
export const layer: Layer.Layer<Admission, never, Accounting | FreeModelDays | Idempotency | Outbox | SecureRandom> =
  Layer.effect(Admission, make)
