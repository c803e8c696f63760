/**
 * The first answer to an `Idempotency-Key`, kept for 24 hours and given again.
 *
 * A key belongs to the API key that sent it. The first request with it goes ahead; one with the same key and the same body waits for it and is given
 * its answer; one with another body is a conflict. Answers that a retry could better (402, 408, 409, 425, 429 and all 5xx) are not kept, and neither is a failure: the next
 * request with the key goes ahead afresh. So it does when the process that held the key has died. This holds across processes that share the database.
 */
import { Clock, Context, Data, Deferred, type Duration, Effect, Exit, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import { createHash } from "node:crypto"
import * as Dialect from "../storage/Dialect.ts"
import { GroupCommit } from "../storage/GroupCommit.ts"
import { ProcessInstance } from "../storage/ProcessInstance.ts"
import * as Purge from "../storage/Purge.ts"
import { refine, type StorageError } from "../storage/StorageError.ts"

/** A request that carries an idempotency key. */
export interface IdempotentRequest {
  /** The API key's hash. */
  readonly scope: string
  /** The header's value, which the contract bounds. */
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
     * Claims the key, or answers what was answered before; waits while another request holds it. Only that wait can be interrupted. Whoever gets a claim must end it, by
     * `complete` in the transaction of what the answer tells of, by `abandon` whenever there is no answer: call this where nothing can interrupt between the two.
     */
    readonly begin: (request: IdempotentRequest) => Effect.Effect<Begun, IdempotencyConflict | StorageError>
    /** Forgets answers older than 24 hours; answers how many. Runs by itself under `layerPurge`. */
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

const decodeHeaders = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.String)))

const answerOf = (row: Row, status: number): Answer => ({
  status,
  headers: decodeHeaders(Dialect.text(row, "headers")),
  body: Dialect.text(row, "body")
})

const conflict = () =>
  Effect.fail(
    new IdempotencyConflict({
      message: "this Idempotency-Key was used before with another body"
    })
  )

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
    const keep = (answer: Answer) =>
      sql`UPDATE idempotency SET owner = NULL, status = ${answer.status}, headers = ${JSON.stringify(answer.headers)}, body = ${answer.body}
        WHERE scope = ${scope} AND idempotency_key = ${key} AND owner = ${owner.id}`
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

  const insert = Effect.fnUntraced(function* ({ fingerprint, key, scope }: IdempotentRequest, now: number) {
    const rows = yield* sql`INSERT INTO idempotency (scope, idempotency_key, fingerprint, owner, created_at, expires_at)
      VALUES (${scope}, ${key}, ${fingerprint}, ${owner.id}, ${now}, ${now + lifetime})
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
      yield* sql`DELETE FROM idempotency WHERE scope = ${request.scope} AND idempotency_key = ${request.key}
        AND owner IS NULL AND expires_at = ${expiresAt}`
      return undefined
    }
    if (Dialect.text(row, "fingerprint") !== request.fingerprint) return yield* conflict()
    if (status !== null) return Begun.Replay({ answer: answerOf(row, status) })
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
      if (slot.fingerprint !== request.fingerprint) return conflict()
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
      // Never a claim of a live process: its clock may be far behind this one's.
      const some = sql`DELETE FROM idempotency WHERE (scope, idempotency_key) IN (
        SELECT scope, idempotency_key FROM idempotency WHERE expires_at <= ${now}
          AND (owner IS NULL OR NOT EXISTS (SELECT 1 FROM processes WHERE processes.id = idempotency.owner))
        LIMIT ${Purge.atOnce}
      ) RETURNING scope`
      return yield* Purge.all(Effect.map(some, (rows) => rows.length))
    }).pipe(refine("Idempotency.purge"))
  })
})

/** The service over the database; does not purge by itself: see {@link layerPurge}. */
export const layerSql: Layer.Layer<Idempotency, never, SqlClient | GroupCommit | ProcessInstance> = Layer.effect(
  Idempotency,
  make
)

/** Forgets what is older than 24 hours when it starts, and then every so often (default an hour). */
export const layerPurge = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, Idempotency> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const purge = Effect.catch(idempotency.purge, (error) =>
        Effect.logError(`Old idempotency keys could not be purged: ${error.message}`)
      )
      yield* purge
      yield* purge.pipe(Effect.delay(options?.every ?? "1 hour"), Effect.forever, Effect.forkScoped)
    })
  )
