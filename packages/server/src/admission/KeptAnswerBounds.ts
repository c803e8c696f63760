/**
 * Limits the size of stored answers, per API key and in total.
 *
 * Each API key has a counter row, written in the transaction that stores or deletes an answer, so
 * it is exact across processes. The process that finds a limit exceeded deletes the oldest answers
 * in the background, a few megabytes at a time: those of the API key above its limit, or, above the
 * total limit, those of the API keys that use more than an equal share. A claim in progress is
 * never deleted.
 *
 * Without shares, one key could push out the answers of all others, whose retries would be charged
 * twice. The attack `kept-answers` fills the store.
 */
import { Effect, Latch } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../storage/sql/Dialect.ts"
import type { Transactions } from "../storage/sql/Transactions.ts"
import * as ProcessInstance from "../storage/sql/ProcessInstance.ts"
import * as Purge from "../storage/sql/Purge.ts"
import type { Kept } from "./KeptAnswer.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** Sizes in bytes as stored, after compression. */
export interface Bounds {
  /** For each API key. */
  readonly perKey: number
  /** For all API keys together. */
  readonly total: number
}

/** SQLite blocks this process while it deletes (attack `kept-answers`). */
const bytesAtOnce = 4 * 1024 * 1024

/** With 500 answers of 2 KiB, SQLite blocks for 3 ms. More do not cost less each. */
const rowsAtOnce = 500

/**
 * The part of a limit that is freed once it is exceeded, so that the next answers do not exceed it
 * at once.
 */
const slack = 1 / 8

/**
 * The condition of a `DELETE` of the oldest rows among those that are `due`. `isFreed` says of a
 * row whether it is deleted, from its `bytes` and `freed`, which is their sum up to it.
 *
 * On Postgres, rows that another process is deleting are left to it. So two processes do not wait
 * for each other in a circle. Both choose the same rows, so that they free no more than one does.
 */
const oldest = (sql: SqlClient, due: string, isFreed: string): string => {
  const rows = (id: string) => `SELECT id FROM (
    SELECT ${id} AS id, bytes, SUM(bytes) OVER (ORDER BY expires_at ROWS UNBOUNDED PRECEDING) AS freed
    FROM idempotency WHERE ${due} ORDER BY expires_at LIMIT ${rowsAtOnce}) AS oldest
    WHERE freed - bytes < ${bytesAtOnce} AND (${isFreed})`
  return sql.onDialectOrElse({
    pg: () => `ctid IN (SELECT ctid FROM idempotency WHERE ctid IN (${rows("ctid")}) FOR UPDATE SKIP LOCKED)`,
    orElse: () => `rowid IN (${rows("rowid")})`
  })
}

/** Makes the counter and the deletion over the database. */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient,
  transactions: Transactions["Service"],
  bounds: Bounds
) {
  const wanted = Latch.makeUnsafe()
  const countDown = Dialect.prepareChange(sql, "UPDATE idempotency_bytes SET bytes = bytes - ?2 WHERE key_hash = ?1")

  const passed = new Set<string>()
  let addedSinceSum = 0

  /**
   * A transaction that deletes the rows for which the condition is true. Returns how many. One
   * statement finds and deletes them, so it never deletes a newer answer of the same key.
   */
  const removal = (condition: string) => {
    const remove = Dialect.prepare(sql, `DELETE FROM idempotency WHERE ${condition} RETURNING key_hash, bytes`)
    return (...params: ReadonlyArray<Dialect.Parameter>) =>
      transactions.run(
        Effect.gen(function* () {
          const rows = yield* remove(...params)
          const freed = new Map<string, number>()
          for (const row of rows) {
            const keyHash = Dialect.text(row, "key_hash")
            freed.set(keyHash, (freed.get(keyHash) ?? 0) + Dialect.int(row, "bytes"))
          }
          // In the order of all writers; see `accounting/ledgerFunction.ts`.
          for (const keyHash of Array.from(freed.keys()).toSorted()) yield* countDown(keyHash, freed.get(keyHash) ?? 0)
          return rows.length
        })
      )
  }

  const removeExpired = removal("scope = ?1 AND idempotency_key = ?2 AND expires_at = ?3 AND owner IS NULL")
  const isUnclaimed = `(owner IS NULL OR NOT ${ProcessInstance.isRegistered("idempotency.owner")})`
  const removeExpiredBefore = removal(oldest(sql, `expires_at <= ?1 AND ${isUnclaimed}`, "TRUE"))
  // A claim has no bytes.
  const counted = "(SELECT bytes FROM idempotency_bytes WHERE key_hash = ?1)"
  const removeOldest = removal(
    oldest(sql, "key_hash = ?1 AND bytes > 0", `freed - bytes < ${counted} - ?2 OR freed <= ${counted} - ?3`)
  )

  /**
   * Deletes the API key's oldest answers until they take at most `bound` bytes, then more until
   * about `target`. Returns how many.
   */
  const shrink = (keyHash: string, bound: number, target: number) =>
    Purge.all(removeOldest(keyHash, bound, Math.floor(target)))

  /**
   * Deletes answers of the API keys that use more than an equal share, until the total is within
   * its limit.
   */
  const shrinkAll = Effect.gen(function* () {
    let target = bounds.total
    while (true) {
      const [counted] = yield* sql`SELECT SUM(bytes) AS total, COUNT(*) AS keys FROM idempotency_bytes WHERE bytes > 0`
      const total = counted === undefined ? null : Dialect.intOrNull(counted, "total")
      if (counted === undefined || total === null || total <= target) return
      target = bounds.total * (1 - slack)
      const share = Math.floor(target / Dialect.int(counted, "keys"))
      const largest =
        yield* sql`SELECT key_hash, bytes FROM idempotency_bytes WHERE bytes > ${share} ORDER BY bytes DESC LIMIT 100`
      let removed = 0
      for (const row of largest) {
        const left = Math.max(share, Math.floor(Dialect.int(row, "bytes") * (1 - slack)))
        removed += yield* shrink(Dialect.text(row, "key_hash"), left, left)
      }
      // Nothing is left, or another process is deleting it.
      if (removed === 0) return
    }
  })

  const work = Effect.gen(function* () {
    for (const keyHash of passed) {
      passed.delete(keyHash)
      yield* shrink(keyHash, bounds.perKey, bounds.perKey * (1 - slack))
    }
    if (addedSinceSum < bounds.total * slack) return
    addedSinceSum = 0
    yield* shrinkAll
  }).pipe(
    Effect.catch((error) =>
      LogEvent.log("purge_failed", `Stored answers above their limit could not be deleted: ${error.message}`)
    )
  )

  yield* wanted.await.pipe(Effect.andThen(wanted.close), Effect.andThen(work), Effect.forever, Effect.forkScoped)

  return {
    /** An answer was stored and counted. `ofKey` is the size of all answers of its API key. */
    added: (keyHash: string, bytes: number, ofKey: number) => {
      addedSinceSum += bytes
      if (ofKey > bounds.perKey) passed.add(keyHash)
      if (ofKey > bounds.perKey || addedSinceSum >= bounds.total * slack) wanted.openUnsafe()
    },
    /** Deletes an expired answer. */
    expired: ({ expiresAt, key, scope }: Kept) => removeExpired(scope, key, expiresAt),
    /**
     * Deletes some answers that expired before `time`. Returns how many; 0 if none is left, or
     * another process is deleting them.
     */
    expiredBefore: (time: number) => removeExpiredBefore(time),
    shrinkAll
  }
})
