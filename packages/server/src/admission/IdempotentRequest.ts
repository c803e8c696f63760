/** Answers a request with an `Idempotency-Key` once, and repeats the stored answer after that. */
import type { BadRequest } from "@model-gateway/core/GatewayError"
import { Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import type { SqlClient } from "effect/sql/SqlClient"
import { type Caller, currentCaller } from "../access/Caller.ts"
import { logAndContinue, orUnavailable } from "../http/Failures.ts"
import { inTransaction } from "../http/InTransaction.ts"
import { invalid } from "../internal/Issues.ts"
import { KeyTaken } from "../accounting/LedgerStore.ts"
import type { AnswerToStore } from "../accounting/Reservation.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"
import * as Idempotency from "./Idempotency.ts"

/** What is stored of an answer that repeats parts of its request. */
export interface Abridged<A> {
  /** The body without these parts. */
  readonly encode: (answer: A) => string
  /**
   * Makes the body in wire format of the stored one and the repeated request. None: another version
   * of the service has stored it in a form that this one does not know.
   */
  readonly complete: (body: string) => Option.Option<string>
}

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
  /** Default: the whole body is stored. */
  readonly abridged?: Abridged<A> | undefined
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

/** Work that claims the key itself, in the transaction of its first write. */
type HeldWork<A, E, R> = (keep: Keep<A>, hold: Idempotency.Hold) => Effect.Effect<A, E | KeyTaken, R>

type Work<A, E, R> = (keep: Keep<A>) => Effect.Effect<A, E, R>

const toAnswer = <A>({ encode, status = 200 }: OnceOptions<A>, value: A): Idempotency.Answer => ({
  status,
  headers: {},
  body: encode(value)
})

const toStored = <A>({ abridged, status = 200 }: OnceOptions<A>, value: A): Idempotency.Answer | undefined =>
  abridged && { status, headers: {}, body: abridged.encode(value), isAbridged: true }

const respond = <A>(
  { restore = Effect.succeed }: OnceOptions<A>,
  { body, headers, status }: Idempotency.Answer
): Effect.Effect<HttpServerResponse.HttpServerResponse, BadRequest> =>
  Effect.mapEager(restore(body), (text) =>
    HttpServerResponse.text(text, { status, headers, contentType: "application/json" })
  )

/** The response to a repeated request. */
const replay = <A>(options: OnceOptions<A>, answer: Idempotency.Answer) => {
  const { abridged } = options
  const body =
    answer.isAbridged === true && abridged !== undefined ? abridged.complete(answer.body) : Option.some(answer.body)
  return Option.match(body, {
    onNone: () =>
      conflicting(
        Idempotency.unrepeatable("was stored by another version of the service, in a form that this one does not know")
      ),
    onSome: (whole) =>
      Effect.map(
        respond(options, { ...answer, body: whole }),
        HttpServerResponse.setHeader("idempotent-replayed", "true")
      )
  })
}

const withoutKey = <A, E, R>(options: OnceOptions<A>, work: Work<A, E, R>) =>
  Effect.flatMap(work(keepNothing), (value) => respond(options, toAnswer(options, value)))

/** Lets the effect be interrupted if the request can be. */
type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** A request with an idempotency key, and its work. */
interface KeyedRequest<A, E, R> {
  readonly idempotency: Idempotency.Idempotency["Service"]
  readonly options: OnceOptions<A>
  readonly idempotencyKey: string
  readonly work: Work<A, E, R>
  readonly heldWork?: HeldWork<A, E, R>
}

const requestOf = <A>(
  { ephemeral, key }: Caller,
  { operation, payload }: OnceOptions<A>,
  idempotencyKey: string
): Effect.Effect<Idempotency.IdempotentRequest> =>
  Effect.map(payload, (parts) => ({
    scope: ephemeral?.hash ?? key.hash,
    keyHash: key.hash,
    key: idempotencyKey,
    fingerprint: Idempotency.fingerprintOf(operation, ...parts)
  }))

/** Runs the work of a request that has the key. If it fails, the key is released. */
const run = <A, E, R>(options: OnceOptions<A>, claim: Idempotency.Claim, restore: Restore, work: Work<A, E, R>) => {
  // A large answer is encoded once, for the response and for storage.
  let kept: Idempotency.Answer | undefined
  const packed = (value: A) => Idempotency.pack(toStored(options, value) ?? (kept = toAnswer(options, value)))
  const done = work({
    row: (value) => Effect.mapEager(packed(value), (answer) => claim.row(answer)),
    store: (value) => Effect.flatMap(packed(value), (answer) => claim.complete(answer))
  })
  return Effect.matchCauseEffect(restore(done), {
    onSuccess: (value) => respond(options, kept ?? toAnswer(options, value)),
    onFailure: (cause) => Effect.andThen(logAndContinue(claim.abandon), Effect.failCause(cause))
  })
}

/** Claims the key and runs the work, or repeats its answer. */
const claimFirst = <A, E, R>(
  { idempotency, options, work }: KeyedRequest<A, E, R>,
  request: Idempotency.IdempotentRequest,
  restore: Restore
) =>
  idempotency.begin(request).pipe(
    orUnavailable,
    Effect.catchTag("IdempotencyConflict", conflicting),
    Effect.flatMap((begun) =>
      begun._tag === "First" ? run(options, begun.claim, restore, work) : replay(options, begun.answer)
    )
  )

/** Runs the work that claims the key itself. */
const runHeld = <A, E, R>(
  keyed: KeyedRequest<A, E, R>,
  request: Idempotency.IdempotentRequest,
  restore: Restore,
  hold: Idempotency.Hold,
  heldWork: HeldWork<A, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E | BadRequest, R> =>
  Effect.catch(
    run(keyed.options, hold.claim, restore, (keep: Keep<A>) => heldWork(keep, hold)),
    (error) => {
      if (error instanceof KeyTaken) return claimFirst(keyed, request, restore)
      if (hold.isClaimed()) return Effect.fail(error)
      // The answer may have been paid for with the last credits.
      return Effect.flatMap(orUnavailable(keyed.idempotency.isUsed(request)), (isUsed) =>
        isUsed ? claimFirst(keyed, request, restore) : Effect.fail(error)
      )
    }
  )

const answerKeyed = <A, E, R>(
  keyed: KeyedRequest<A, E, R>,
  request: Idempotency.IdempotentRequest,
  restore: Restore
): Effect.Effect<HttpServerResponse.HttpServerResponse, E | BadRequest, R> => {
  const { heldWork, idempotency } = keyed
  if (heldWork === undefined) return claimFirst(keyed, request, restore)
  const hold = idempotency.holdNow(request)
  return hold === undefined
    ? Effect.flatMap(Effect.catchTag(idempotency.hold(request), "IdempotencyConflict", conflicting), (later) =>
        runHeld(keyed, request, restore, later, heldWork)
      )
    : runHeld(keyed, request, restore, hold, heldWork)
}

const withKey = <A, E, R>(
  keyed: KeyedRequest<A, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E | BadRequest, R> =>
  Effect.flatMap(currentCaller, (caller) =>
    Effect.flatMap(requestOf(caller, keyed.options, keyed.idempotencyKey), (request) =>
      Effect.uninterruptibleMask((restore) => answerKeyed(keyed, request, restore))
    )
  )

/**
 * Runs the work unless an earlier request with the same `Idempotency-Key` has an answer. That
 * answer is then returned with `idempotent-replayed: true`. The same key with another body is a
 * 400. A failure or an interruption releases the key. The work stores its answer itself, with
 * {@link Keep}.
 */
export const once = <A, E, R>(
  idempotency: Idempotency.Idempotency["Service"],
  options: OnceOptions<A>,
  work: Work<A, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E | BadRequest, R> =>
  options.idempotencyKey === undefined
    ? withoutKey(options, work)
    : withKey({ idempotency, options, idempotencyKey: options.idempotencyKey, work })

/**
 * Like {@link once}, with one transaction less: `heldWork` claims the key in the transaction of its
 * first write. If the key turns out to be taken, or nothing can be written, the request begins
 * again like `once`.
 */
export const onceHeld = <A, E, R>(
  idempotency: Idempotency.Idempotency["Service"],
  options: OnceOptions<A>,
  work: Work<A, E, R>,
  heldWork: HeldWork<A, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E | BadRequest, R> =>
  options.idempotencyKey === undefined
    ? withoutKey(options, work)
    : withKey({ idempotency, options, idempotencyKey: options.idempotencyKey, work, heldWork })

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
