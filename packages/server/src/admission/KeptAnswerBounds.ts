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
import { type Place, tables } from "./KeptAnswer.ts"
import * as LogEvent from "../log/LogEvent.ts"

const { places } = tables

/** Sizes in bytes as stored, after compression. */
export interface Bounds {
  /** For each API key. */
  readonly perKey: number
  /** For all API keys together. */
  readonly total: number
}

/** SQLite blocks this process while it deletes (attack `kept-answers`). */
const bytesAtOnce = 4 * 1024 * 1024

const rowsAtOnce = 100

/**
 * The first rows until they free `minBytes`, plus further rows that fit into `maxBytes`, up to the
 * limit of one deletion.
 */
const selectRows = (victims: ReadonlyArray<Place>, minBytes: number, maxBytes: number): ReadonlyArray<Place> => {
  let freed = 0
  let count = 0
  for (const { bytes } of victims) {
    if (freed >= bytesAtOnce || (freed >= minBytes && freed + bytes > maxBytes)) break
    freed += bytes
    count++
  }
  return victims.slice(0, count)
}

/**
 * The part of a limit that is freed once it is exceeded, so that the next answers do not exceed it
 * at once.
 */
const slack = 1 / 8

/** Makes the counter and the deletion over the database. */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient,
  transactions: Transactions["Service"],
  bounds: Bounds
) {
  const wanted = Latch.makeUnsafe()
  const countDown = Dialect.prepareChange(sql, "UPDATE idempotency_bytes SET bytes = bytes - ?2 WHERE key_hash = ?1")
  // Skips claims of live processes, and a newer answer of the same key.
  const remove = Dialect.prepareChange(
    sql,
    `DELETE FROM idempotency WHERE scope = ?1 AND idempotency_key = ?2 AND expires_at = ?3
      AND (owner IS NULL OR NOT ${ProcessInstance.isRegistered("idempotency.owner")})`
  )

  const passed = new Set<string>()
  let addedSinceSum = 0

  const removeAll = (victims: ReadonlyArray<Place>) =>
    transactions.run(
      Effect.gen(function* () {
        const freed = new Map<string, number>()
        let removed = 0
        for (const { bytes, expiresAt, key, keyHash, scope } of victims) {
          if ((yield* remove(scope, key, expiresAt)) === 0) continue
          removed++
          if (bytes > 0) freed.set(keyHash, (freed.get(keyHash) ?? 0) + bytes)
        }
        // In the order of all writers; see `accounting/ledgerFunction.ts`.
        for (const keyHash of Array.from(freed.keys()).toSorted()) yield* countDown(keyHash, freed.get(keyHash) ?? 0)
        return removed
      })
    )

  /**
   * Deletes the API key's oldest answers until they take at most `bound` bytes, then more until
   * about `target`.
   */
  const shrink = Effect.fnUntraced(function* (keyHash: string, bound: number, target: number) {
    while (true) {
      const [counted] = yield* sql`SELECT bytes FROM idempotency_bytes WHERE key_hash = ${keyHash}`
      const bytes = counted === undefined ? 0 : Dialect.int(counted, "bytes")
      const rows =
        yield* sql`SELECT ${sql.literal(places.columns)} FROM idempotency WHERE key_hash = ${keyHash} AND bytes > 0
        ORDER BY expires_at LIMIT ${rowsAtOnce}`
      const victims = selectRows(rows.map(places.read), bytes - bound, bytes - target)
      if (victims.length === 0) return
      yield* removeAll(victims)
      yield* Effect.yieldNow
    }
  })

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
      if (largest.length === 0) return
      for (const row of largest) {
        const left = Math.max(share, Math.floor(Dialect.int(row, "bytes") * (1 - slack)))
        yield* shrink(Dialect.text(row, "key_hash"), left, left)
      }
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
    expired: (place: Place) => removeAll([place]),
    /** Deletes some answers that expired before `time`. Returns how many; 0 if none is left. */
    expiredBefore: Effect.fnUntraced(function* (time: number) {
      const rows = yield* sql`SELECT ${sql.literal(places.columns)} FROM idempotency WHERE expires_at <= ${time}
        AND (owner IS NULL OR NOT ${sql.literal(ProcessInstance.isRegistered("idempotency.owner"))})
        ORDER BY expires_at LIMIT ${rowsAtOnce}`
      return yield* removeAll(selectRows(rows.map(places.read), Number.POSITIVE_INFINITY, 0))
    }),
    shrinkAll
  }
})
