/**
 * Stores the first answer to an `Idempotency-Key` for 24 hours and returns it for repeated
 * requests.
 *
 * An idempotency key belongs to the API key that sent it. The first request with it runs. A request
 * with the same key and the same body waits for it and gets its answer; a request with another body
 * is a conflict. Answers that a retry could improve (402, 408, 409, 425, 429 and all 5xx) and
 * failures are not stored: the next request runs again, also if the process that claimed the key
 * has died. This also works across processes that share the database.
 *
 * The size of stored answers is limited per API key and in total ({@link KeptAnswerBounds}). Beyond
 * the limit the oldest answers are deleted; a request repeated after that runs again.
 */
import { Clock, Context, Data, Deferred, type Duration, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { hash } from "node:crypto"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Background from "../internal/Background.ts"
import * as EventLoopTurn from "../internal/EventLoopTurn.ts"
import { afterCommit, Transactions } from "../storage/sql/Transactions.ts"
import { type ClaimRow, LedgerStore } from "../accounting/LedgerStore.ts"
import type { AnswerToStore } from "../accounting/Reservation.ts"
import { ProcessInstance } from "../storage/sql/ProcessInstance.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, StorageError } from "../storage/sql/StorageError.ts"
import * as KeptAnswer from "./KeptAnswer.ts"
import * as KeptAnswerBounds from "./KeptAnswerBounds.ts"

export type { Answer, PackedAnswer } from "./KeptAnswer.ts"
export { pack } from "./KeptAnswer.ts"

/** A request with an idempotency key. */
export interface IdempotentRequest {
  /** The namespace of the key: the hash of the API key that was sent, ephemeral or not. */
  readonly scope: string
  /**
   * The API key whose stored bytes are counted. For an ephemeral key it is the parent, so that new
   * ephemeral keys do not add space.
   */
  readonly keyHash: string
  /** The value of the header. The contract limits its length. */
  readonly key: string
  /** Identifies operation and body; see {@link fingerprintOf}. */
  readonly fingerprint: string
}

/** The right to run the request. End it with `complete` or `abandon`. */
export interface Claim {
  /**
   * Stores the answer if it is storable (see {@link keeps}), otherwise releases the key. Inside
   * `sql.withTransaction` it commits with the rest, so that the work and its stored answer cannot
   * differ. Pass a possibly large answer through {@link pack} first, outside the transaction.
   *
   * If one answer exceeds an API key's limit, only its status is stored: repeating the request
   * fails with {@link IdempotencyConflict}, because running it again would charge it again.
   *
   * Fails if another process has taken the key over, because this one seemed dead: the other one
   * does and charges the work, so this one must charge nothing.
   */
  readonly complete: (answer: KeptAnswer.PackedAnswer) => Effect.Effect<void, StorageError>
  /**
   * The row that `complete` writes, for `Accounting.settle`, which writes it with the charge. The
   * answer must be storable.
   */
  readonly row: (answer: KeptAnswer.PackedAnswer) => AnswerToStore
  /** Releases the key for the next request. */
  readonly abandon: Effect.Effect<void, StorageError>
}

/**
 * The right to claim a key together with other writes. No other request of this process has it.
 * Nothing is in the database yet.
 */
export interface Hold {
  /** The claim, for after `claiming` has succeeded. Its `abandon` may be called in any case. */
  readonly claim: Claim
  /**
   * Claims the key by an effect that writes the row, in one transaction with others. If it fails,
   * the row was not written, except for a `StorageError`, which leaves that open.
   */
  readonly claiming: <A, E>(write: (row: ClaimRow) => Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Whether the key is claimed. */
  readonly isClaimed: () => boolean
}

/** The result of starting a request with an idempotency key. */
export type Begun = Data.TaggedEnum<{
  First: { readonly claim: Claim }
  Replay: { readonly answer: KeptAnswer.Answer }
}>

/** Constructors and matchers of {@link Begun}. */
export const Begun = Data.taggedEnum<Begun>()

/** The key was used with another body, or its answer was too large to store (status 400). */
export class IdempotencyConflict extends Data.TaggedError("IdempotencyConflict")<{
  readonly message: string
}> {}

/** The idempotency service. */
export class Idempotency extends Context.Service<
  Idempotency,
  {
    /**
     * Claims the key, or returns the stored answer. Waits while another request has claimed the
     * key; only that wait can be interrupted. A claim must be ended: by `complete` in the
     * transaction of the work, or by `abandon` if there is no answer. Call this where nothing can
     * interrupt between the two.
     */
    readonly begin: (request: IdempotentRequest) => Effect.Effect<Begun, IdempotencyConflict | StorageError>
    /**
     * Holds the key without claiming it. Waits while another request of this process has it; only
     * that wait can be interrupted. Fails if that request has another body. Whether other processes
     * have claimed the key, or it has an answer, is found by {@link Hold.claiming}. End it like a
     * claim.
     */
    readonly hold: (request: IdempotentRequest) => Effect.Effect<Hold, IdempotencyConflict>
    /** As {@link hold}, at once. Undefined: another request of this process has the key. */
    readonly holdNow: (request: IdempotentRequest) => Hold | undefined
    /**
     * Whether an earlier request has used the key, so that there may be an answer. Claims nothing.
     */
    readonly isUsed: (request: Pick<IdempotentRequest, "scope" | "key">) => Effect.Effect<boolean, StorageError>
    /**
     * Deletes answers older than 24 hours, and the oldest answers above the limits. Returns how
     * many had expired. `layerBackground` runs it regularly.
     */
    readonly purge: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/admission/Idempotency") {}

const isText = (part: string | Uint8Array): part is string => typeof part === "string"

/**
 * The fingerprint of a request: its operation, then its body or the parts of it. Lengths keep
 * different splits of the same bytes apart. Node hashes a text faster than the bytes of it.
 */
export const fingerprintOf = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hashed = parts.every(isText)
    ? parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join("")
    : Buffer.concat(
        parts.flatMap((part) => {
          const bytes = isText(part) ? Buffer.from(part) : part
          return [Buffer.from(`${bytes.byteLength}:`), bytes]
        })
      )
  return hash("sha256", hashed, "hex")
}

/** Whether an answer with this status is stored: a retry would get the same answer. */
export const keeps = (status: number): boolean =>
  status >= 200 && status < 500 && ![402, 408, 409, 425, 429].includes(status)

const lifetime = 86_400_000
const pollEvery = "100 millis"
const confirmEvery = "1 second"

const conflict = (message: string) => Effect.fail(new IdempotencyConflict({ message }))

const otherBody = "this Idempotency-Key was used before with another body"

/** The request was done, but its answer cannot be repeated. */
export const unrepeatable = (why: string): IdempotencyConflict =>
  new IdempotencyConflict({
    message: `the answer to this Idempotency-Key ${why}; the request was done, and charged, once. Send another key to do it again`
  })

/** Makes the service over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const layerScope = yield* Effect.scope
  const owner = yield* ProcessInstance
  const transactions = yield* Transactions
  const bounds = (yield* GatewayServerConfig).keptAnswers
  const answers = yield* KeptAnswerBounds.make(sql, transactions, bounds)
  const ledger = yield* LedgerStore
  const deleteClaim = transactions.prepare(
    `DELETE FROM idempotency WHERE scope = ?1 AND idempotency_key = ?2 AND owner = ?3`
  )
  /**
   * A key that a request of this process has claimed or is claiming. Its functions are made when
   * they are read: while a request waits for its upstream, it keeps none of them.
   */
  class Slot implements Hold, Claim {
    readonly request: IdempotentRequest
    readonly name: string
    /** Whether the row of the claim is in the database. */
    state: "unclaimed" | "unknown" | "claimed" = "unclaimed"
    /** Made for others that wait: completes when the database has decided who gets the key. */
    asked: Deferred.Deferred<void> | undefined
    /** Made for others that wait: completes when the request has ended its claim. */
    ended: Deferred.Deferred<void> | undefined

    constructor(request: IdempotentRequest) {
      this.request = request
      this.name = nameOf(request)
    }

    get claim() {
      return this
    }

    get isClaimed() {
      return () => this.state === "claimed"
    }

    get claiming() {
      return <A, E>(write: (row: ClaimRow) => Effect.Effect<A, E>) =>
        Effect.clockWith((clock) => {
          this.state = "unknown"
          return Effect.matchEffect(write(claimRow(this.request, clock.currentTimeMillisUnsafe())), {
            onSuccess: (result) => {
              claimed(this)
              return Effect.succeed(result)
            },
            onFailure: (error) => {
              if (!(error instanceof StorageError)) this.state = "unclaimed"
              return Effect.fail(error)
            }
          })
        })
    }

    get row() {
      return (answer: KeptAnswer.PackedAnswer) => {
        const { key, keyHash, scope } = this.request
        const columns = KeptAnswer.columnsOf(answer, bounds.perKey)
        const stored = (bytesOfKey: number | undefined) => {
          if (bytesOfKey !== undefined) answers.added(keyHash, columns.bytes, bytesOfKey)
          freeUnsafe(this)
        }
        return { ...columns, scope, key, owner: owner.id, keyHash, stored }
      }
    }

    get complete() {
      return (answer: KeptAnswer.PackedAnswer) =>
        Effect.suspend(() =>
          keeps(answer.status)
            ? Effect.uninterruptible(keep(this.row(answer)))
            : Effect.andThen(
                drop(this.request),
                afterCommit(sql, () => freeUnsafe(this))
              )
        ).pipe(mapSqlError("Idempotency.complete"))
    }

    get abandon() {
      return Effect.suspend(() => (this.state === "unclaimed" ? free(this) : release(this)))
    }
  }

  /** Other requests wait here, so that at most one of them queries the database. */
  const slots = new Map<string, Slot>()
  const arrivals = EventLoopTurn.arrivals()

  const nameOf = ({ key, scope }: IdempotentRequest) => `${scope} ${key}`

  const occupy = (request: IdempotentRequest): Slot => {
    const slot = new Slot(request)
    slots.set(slot.name, slot)
    return slot
  }

  const wake = (waiting: Deferred.Deferred<void> | undefined) => {
    if (waiting !== undefined) Deferred.doneUnsafe(waiting, Exit.void)
  }

  const freeUnsafe = (slot: Slot) => {
    if (slots.get(slot.name) === slot) slots.delete(slot.name)
    wake(slot.asked)
    wake(slot.ended)
  }

  const free = (slot: Slot) => Effect.sync(() => freeUnsafe(slot))

  const drop = ({ key, scope }: IdempotentRequest) => Effect.asVoid(deleteClaim(scope, key, owner.id))

  /**
   * Claims that may still be in the database although no request has them, because a write
   * failed. Other processes would wait for them as long as this one lives.
   */
  const unconfirmed = new Map<string, IdempotentRequest>()
  let isConfirming = false

  /** Drops the unconfirmed claims. Requests with their keys wait meanwhile. */
  const dropUnconfirmed = Effect.suspend(() =>
    Effect.forEach(
      Array.from(unconfirmed),
      ([name, request]) => {
        unconfirmed.delete(name)
        // A request that has claimed the key ends the claim itself.
        if (slots.has(name)) return Effect.void
        const slot = occupy(request)
        return drop(request).pipe(
          Effect.onError(() => Effect.sync(() => unconfirmed.set(name, request))),
          Effect.ensuring(free(slot))
        )
      },
      { discard: true }
    )
  )

  const confirming = dropUnconfirmed.pipe(
    Effect.ignore,
    Effect.delay(confirmEvery),
    Effect.repeat({ while: () => unconfirmed.size > 0 }),
    Effect.ensuring(
      Effect.sync(() => {
        isConfirming = false
      })
    )
  )

  const confirm = (request: IdempotentRequest) =>
    Effect.suspend(() => {
      unconfirmed.set(nameOf(request), request)
      if (isConfirming) return Effect.void
      isConfirming = true
      return Effect.asVoid(Effect.forkIn(confirming, layerScope))
    })

  /** The database has decided that the request has the key. */
  const claimed = (slot: Slot) => {
    slot.state = "claimed"
    wake(slot.asked)
  }

  const keep = (answer: AnswerToStore) =>
    Effect.flatMap(ledger.keep(answer), (bytesOfKey) => afterCommit(sql, () => answer.stored(bytesOfKey)))

  const release = (slot: Slot) =>
    drop(slot.request).pipe(
      mapSqlError("Idempotency.abandon"),
      // Free the key even if its row could not be removed: the next request of this process
      // finds that no request has it and takes it over.
      Effect.ensuring(free(slot)),
      Effect.tapError(() => confirm(slot.request)),
      Effect.uninterruptible
    )

  const claimRow = ({ fingerprint, key, keyHash, scope }: IdempotentRequest, now: number): ClaimRow => ({
    scope,
    key,
    keyHash,
    fingerprint,
    owner: owner.id,
    createdAt: now,
    expiresAt: now + lifetime
  })

  const claimNew = (request: IdempotentRequest, now: number) =>
    ledger.claim(claimRow(request, now), slots.size <= 1 && arrivals.isAlone())

  const claimNow = (slot: Slot) => {
    claimed(slot)
    return Begun.First({ claim: slot })
  }

  const takeOver = Effect.fnUntraced(function* ({ key, scope }: IdempotentRequest, from: string, now: number) {
    const rows =
      yield* sql`UPDATE idempotency SET owner = ${owner.id}, created_at = ${now}, expires_at = ${now + lifetime}
      WHERE scope = ${scope} AND idempotency_key = ${key} AND status IS NULL AND owner = ${from} RETURNING scope`
    return rows.length > 0
  })

  /** Reads the key's row: the result of the request, or undefined to look again. */
  const contend = Effect.fnUntraced(function* (request: IdempotentRequest, slot: Slot) {
    const now = yield* Clock.currentTimeMillis
    if (yield* claimNew(request, now)) return claimNow(slot)
    const [row] =
      yield* sql`SELECT * FROM idempotency WHERE scope = ${request.scope} AND idempotency_key = ${request.key}`
    if (row === undefined) return undefined
    const kept = KeptAnswer.table.read(row)
    const { owner: claimedBy, status } = kept
    if (claimedBy === null && kept.expiresAt <= now) {
      yield* answers.expired(kept)
      return undefined
    }
    if (kept.fingerprint !== request.fingerprint) return yield* conflict(otherBody)
    if (status !== null) {
      const answer = yield* KeptAnswer.answerOf(kept, status)
      return answer === null ? yield* unrepeatable("was too large to be kept") : Begun.Replay({ answer })
    }
    // This process has the claim but no request does: the claim could not be ended.
    const isDead = claimedBy === null || claimedBy === owner.id || !(yield* owner.isAlive(claimedBy))
    if (!isDead) {
      yield* Effect.interruptible(Effect.sleep(pollEvery))
      return undefined
    }
    return (yield* takeOver(request, claimedBy ?? "", now)) ? claimNow(slot) : undefined
  })

  /** Waits for the request of this process that has the key. */
  const wait = (slot: Slot, { fingerprint }: IdempotentRequest) => {
    if (slot.state !== "claimed") return Effect.interruptible(Deferred.await((slot.asked ??= Deferred.makeUnsafe())))
    if (slot.request.fingerprint !== fingerprint) return conflict(otherBody)
    return Effect.interruptible(Deferred.await((slot.ended ??= Deferred.makeUnsafe())))
  }

  /** Looks at the key once: the result of the request, or undefined to look again. */
  const look = (request: IdempotentRequest) =>
    Effect.suspend(() => {
      const other = slots.get(nameOf(request))
      if (other !== undefined) return Effect.as(wait(other, request), undefined)
      const slot = occupy(request)
      arrivals.add()
      return contend(request, slot).pipe(
        Effect.onExit((exit) => (Exit.isSuccess(exit) && exit.value?._tag === "First" ? Effect.void : free(slot))),
        // The claim may have been committed all the same.
        Effect.tapError((error) => (isSqlError(error) ? confirm(request) : Effect.void))
      )
    })

  const begin = Effect.fnUntraced(
    function* (request: IdempotentRequest) {
      while (true) {
        const begun = yield* look(request)
        if (begun !== undefined) return begun
      }
    },
    mapSqlError("Idempotency.begin"),
    Effect.uninterruptible
  )

  const hold = (request: IdempotentRequest): Effect.Effect<Hold, IdempotencyConflict> =>
    Effect.suspend(() => {
      const other = slots.get(nameOf(request))
      if (other !== undefined) return Effect.flatMap(wait(other, request), () => hold(request))
      return Effect.succeed(occupy(request))
    })

  return Idempotency.of({
    begin,
    hold,
    holdNow: (request) => (slots.has(nameOf(request)) ? undefined : occupy(request)),
    isUsed: ({ key, scope }) =>
      sql`SELECT 1 FROM idempotency WHERE scope = ${scope} AND idempotency_key = ${key}`.pipe(
        Effect.map((rows) => rows.length > 0),
        mapSqlError("Idempotency.isUsed")
      ),
    purge: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const purged = yield* Purge.all(answers.expiredBefore(now))
      yield* answers.shrinkAll
      return purged
    }).pipe(mapSqlError("Idempotency.purge"))
  })
})

/** The service over the database. It does not purge by itself; see {@link layerBackground}. */
export const layerSql: Layer.Layer<Idempotency, never, SqlClient | Transactions | LedgerStore | ProcessInstance> =
  Layer.effect(Idempotency, make)

/** Purges in the background, at the start and then at an interval (default: 1 hour). */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, Idempotency> =>
  Background.layer({
    work: Effect.flatMap(Idempotency, ({ purge }) => purge),
    every: options?.every ?? "1 hour",
    failure: "Old idempotency keys could not be purged"
  })
