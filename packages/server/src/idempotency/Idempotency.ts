/**
 * The first answer to an `Idempotency-Key`, kept for 24 hours and given again.
 *
 * A key belongs to the API key that sent it. The first request with it goes ahead. A request with
 * the same key and the same body waits for it and gets its answer; one with another body is a
 * conflict. Answers that a retry could better (402, 408, 409, 425, 429 and all 5xx) are not kept,
 * and neither is a failure: the next request with the key goes ahead afresh, also when the process
 * that held the key has died. This holds across processes that share the database.
 *
 * What kept answers take is bounded, for each API key and in all ({@link KeptAnswerBounds}). Past
 * the bound the oldest answers go first, and a request that is repeated after that goes ahead
 * afresh.
 */
import { Clock, Context, Data, Deferred, type Duration, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash } from "node:crypto"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Dialect from "../storage/Dialect.ts"
import { GroupCommit } from "../storage/GroupCommit.ts"
import { ProcessInstance } from "../storage/ProcessInstance.ts"
import * as Purge from "../storage/Purge.ts"
import { refine, type StorageError } from "../storage/StorageError.ts"
import * as KeptAnswer from "./KeptAnswer.ts"
import * as KeptAnswerBounds from "./KeptAnswerBounds.ts"

export type { Answer, PackedAnswer } from "./KeptAnswer.ts"
export { pack } from "./KeptAnswer.ts"

/** A request that carries an idempotency key. */
export interface IdempotentRequest {
  /**
   * Within which the key means one request: the hash of the API key that was sent, ephemeral or
   * not.
   */
  readonly scope: string
  /**
   * The API key whose bytes are counted: for an ephemeral key, its parent, so that new ephemeral
   * keys do not mean more room.
   */
  readonly keyHash: string
  /** The header's value, which the contract bounds. */
  readonly key: string
  /** Of operation and body: see {@link fingerprintOf}. */
  readonly fingerprint: string
}

/** The right to go ahead; end it by `complete` or `abandon`. */
export interface Claim {
  /**
   * Keeps the answer if it is one to keep (see {@link keeps}), else frees the key. Inside a `sql.withTransaction` it stands or falls with the rest, so that what
   * was done and what will be answered cannot differ. An answer that may be large goes through
   * {@link pack} first, outside of the transaction.
   *
   * Of an answer that alone takes more than an API key may have, only the status is kept: a request
   * that repeats it fails with {@link IdempotencyConflict}, because to run it again would charge it
   * again, each time.
   */
  readonly complete: (answer: KeptAnswer.PackedAnswer) => Effect.Effect<void, StorageError>
  /** Frees the key for the next request. */
  readonly abandon: Effect.Effect<void, StorageError>
}

/** What a request with an idempotency key is told. */
export type Begun = Data.TaggedEnum<{
  First: { readonly claim: Claim }
  Replay: { readonly answer: KeptAnswer.Answer }
}>

/** Constructors and matchers of {@link Begun}. */
export const Begun = Data.taggedEnum<Begun>()

/**
 * The key was used before with another body, or its answer was too large to be kept (status 400).
 */
export class IdempotencyConflict extends Data.TaggedError("IdempotencyConflict")<{
  readonly message: string
}> {}

/** The idempotency service. */
export class Idempotency extends Context.Service<
  Idempotency,
  {
    /**
     * Claims the key, or answers what was answered before; waits while another request holds it. Only that wait can be interrupted. Whoever gets a claim must end it, by
     * `complete` in the transaction of what the answer tells of, by `abandon` whenever there is no answer: call this where nothing can interrupt between the two.
     */
    readonly begin: (request: IdempotentRequest) => Effect.Effect<Begun, IdempotencyConflict | StorageError>
    /**
     * Deletes answers older than 24 hours, and the oldest of those that together pass their bound;
     * answers how many of the first kind. Runs by itself under `layerPurge`.
     */
    readonly purge: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/idempotency/Idempotency") {}

/** The fingerprint of what a request asks for: its operation, then its body or the parts of it. */
export const fingerprintOf = (...parts: ReadonlyArray<string | Uint8Array>): string => {
  const hash = createHash("sha256")
  for (const part of parts) {
    const bytes = typeof part === "string" ? Buffer.from(part) : part
    // With its length before it no part can be taken for two, nor two for one.
    hash.update(`${bytes.byteLength}:`).update(bytes)
  }
  return hash.digest("hex")
}

/** Whether an answer of that status is kept: it would come out the same again. */
export const keeps = (status: number): boolean =>
  status >= 200 && status < 500 && ![402, 408, 409, 425, 429].includes(status)

const lifetime = 86_400_000
const pollEvery = "100 millis"

const conflict = (message: string) => Effect.fail(new IdempotencyConflict({ message }))

const otherBody = "this Idempotency-Key was used before with another body"

const tooLarge =
  "the answer to this Idempotency-Key was too large to be kept; the request was done, and charged, once. Send another key to do it again"

interface Held {
  readonly fingerprint: string
  /** Done when the database has said whether the request has the key. */
  readonly asked: Deferred.Deferred<void>
  /** Done when the request has the key no longer. */
  readonly ended: Deferred.Deferred<void>
  claimed: boolean
}

/** Makes the service over the database of the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const owner = yield* ProcessInstance
  const transactions = yield* GroupCommit
  const bounds = (yield* GatewayServerConfig).keptAnswers
  const answers = yield* KeptAnswerBounds.make(sql, transactions, bounds)
  const write = Dialect.prepareChange(
    sql,
    `UPDATE idempotency SET owner = NULL, status = ?1, headers = ?2, body = ?3, packed = ?4, bytes = ?5
      WHERE scope = ?6 AND idempotency_key = ?7 AND owner = ?8`
  )
  /** Keys that a request of this process holds or is about to; the others wait, so that at most one of them asks the database. */
  const held = new Map<string, Held>()

  const nameOf = ({ key, scope }: IdempotentRequest) => `${scope} ${key}`

  const free = (request: IdempotentRequest) =>
    Effect.sync(() => {
      const slot = held.get(nameOf(request))
      if (slot === undefined) return
      held.delete(nameOf(request))
      Deferred.doneUnsafe(slot.asked, Exit.void)
      Deferred.doneUnsafe(slot.ended, Exit.void)
    })

  const drop = ({ key, scope }: IdempotentRequest) =>
    sql`DELETE FROM idempotency WHERE scope = ${scope} AND idempotency_key = ${key} AND owner = ${owner.id}`

  const claimOf = (request: IdempotentRequest): Claim => {
    const { key, scope } = request
    const slot = held.get(nameOf(request))
    if (slot !== undefined) {
      slot.claimed = true
      Deferred.doneUnsafe(slot.asked, Exit.void)
    }
    const keep = Effect.fnUntraced(function* (answer: KeptAnswer.PackedAnswer) {
      const columns = KeptAnswer.columnsOf(answer, bounds.perKey)
      // Nothing is written where another process has taken the claim over.
      if ((yield* write(...columns, scope, key, owner.id)) > 0) yield* answers.added(request.keyHash, columns[4])
    })
    return {
      complete: (answer) =>
        Effect.suspend(() => (keeps(answer.status) ? keep(answer) : drop(request))).pipe(
          Effect.andThen(sql.afterCommit(free(request))),
          transactions.run,
          refine("Idempotency.complete")
        ),
      abandon: transactions.run(drop(request)).pipe(
        Effect.asVoid,
        refine("Idempotency.abandon"),
        // Even when the row could not be removed: whoever waits then finds it held by nobody and takes it over.
        Effect.ensuring(free(request)),
        Effect.uninterruptible
      )
    }
  }

  const insert = Effect.fnUntraced(function* ({ fingerprint, key, keyHash, scope }: IdempotentRequest, now: number) {
    const rows =
      yield* sql`INSERT INTO idempotency (scope, idempotency_key, key_hash, fingerprint, owner, created_at, expires_at)
      VALUES (${scope}, ${key}, ${keyHash}, ${fingerprint}, ${owner.id}, ${now}, ${now + lifetime})
      ON CONFLICT (scope, idempotency_key) DO NOTHING RETURNING scope`
    return rows.length > 0
  })

  const takeOver = Effect.fnUntraced(function* ({ key, scope }: IdempotentRequest, from: string, now: number) {
    const rows =
      yield* sql`UPDATE idempotency SET owner = ${owner.id}, created_at = ${now}, expires_at = ${now + lifetime}
      WHERE scope = ${scope} AND idempotency_key = ${key} AND status IS NULL AND owner = ${from} RETURNING scope`
    return rows.length > 0
  })

  /** What the database says of the key: what the request is told, or undefined to look again. */
  const contend = Effect.fnUntraced(function* (request: IdempotentRequest) {
    const now = yield* Clock.currentTimeMillis
    if (yield* transactions.run(insert(request, now))) return Begun.First({ claim: claimOf(request) })
    const [row] =
      yield* sql`SELECT * FROM idempotency WHERE scope = ${request.scope} AND idempotency_key = ${request.key}`
    if (row === undefined) return undefined
    const holder = Dialect.textOrNull(row, "owner")
    const status = Dialect.intOrNull(row, "status")
    const expiresAt = Dialect.int(row, "expires_at")
    if (holder === null && expiresAt <= now) {
      yield* answers.expired(row)
      return undefined
    }
    if (Dialect.text(row, "fingerprint") !== request.fingerprint) return yield* conflict(otherBody)
    if (status !== null) {
      const answer = yield* KeptAnswer.fromRow(row)
      return answer === null ? yield* conflict(tooLarge) : Begun.Replay({ answer })
    }
    // Held by this process with no request that holds it: the row of a claim that could not be ended.
    const isDead = holder === null || holder === owner.id || !(yield* owner.isAlive(holder))
    if (!isDead) {
      yield* Effect.interruptible(Effect.sleep(pollEvery))
      return undefined
    }
    return (yield* takeOver(request, holder ?? "", now)) ? Begun.First({ claim: claimOf(request) }) : undefined
  })

  /** One look at the key: what the request is told, or undefined to look again. */
  const look = (request: IdempotentRequest) =>
    Effect.suspend(() => {
      const slot = held.get(nameOf(request))
      if (slot === undefined) {
        held.set(nameOf(request), {
          fingerprint: request.fingerprint,
          asked: Deferred.makeUnsafe(),
          ended: Deferred.makeUnsafe(),
          claimed: false
        })
        return Effect.onExit(contend(request), (exit) =>
          Exit.isSuccess(exit) && exit.value?._tag === "First" ? Effect.void : free(request)
        )
      }
      if (!slot.claimed) return Effect.as(Effect.interruptible(Deferred.await(slot.asked)), undefined)
      if (slot.fingerprint !== request.fingerprint) return conflict(otherBody)
      return Effect.as(Effect.interruptible(Deferred.await(slot.ended)), undefined)
    })

  const begin = Effect.fnUntraced(
    function* (request: IdempotentRequest) {
      while (true) {
        const begun = yield* look(request)
        if (begun !== undefined) return begun
      }
    },
    refine("Idempotency.begin"),
    Effect.uninterruptible
  )

  return Idempotency.of({
    begin,
    purge: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const purged = yield* Purge.all(answers.expiredBefore(now))
      yield* answers.shrinkAll
      return purged
    }).pipe(refine("Idempotency.purge"))
  })
})

/** The service over the database; does not purge by itself: see {@link layerPurge}. */
export const layerSql: Layer.Layer<Idempotency, never, SqlClient | GroupCommit | ProcessInstance> = Layer.effect(
  Idempotency,
  make
)

/** Purges in the background: once at the start and then every so often (default an hour). */
export const layerPurge = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, Idempotency> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      yield* idempotency.purge.pipe(
        Effect.catch((error) => Effect.logError(`Old idempotency keys could not be purged: ${error.message}`)),
        Effect.andThen(Effect.sleep(options?.every ?? "1 hour")),
        Effect.forever,
        Effect.forkScoped
      )
    })
  )
