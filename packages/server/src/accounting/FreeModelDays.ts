/** Counts requests to free models per key and UTC day. */
import { Clock, Context, Data, type Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Periods from "../internal/Periods.ts"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { Transactions } from "../storage/sql/Transactions.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"

/** The same fields as the key record's `free_model_daily_requests`. */
export interface FreeModelDay {
  readonly limit: number
  readonly used: number
  readonly remaining: number
}

/** A counted request. Pass it to `giveBack` to undo the count. */
export interface FreeModelTake extends FreeModelDay {
  readonly keyHash: string
  /** Start of the UTC day it counts toward, in epoch milliseconds. */
  readonly day: number
}

/**
 * All free requests of the day are used (status 429). `retryAfter` is the number of whole seconds
 * until the next UTC day.
 */
export class FreeModelDayUsedUp extends Data.TaggedError("FreeModelDayUsedUp")<{
  readonly limit: number
  readonly used: number
  readonly retryAfter: number
  readonly message: string
}> {}

/** The counter. */
export class FreeModelDays extends Context.Service<
  FreeModelDays,
  {
    /** Counts one request atomically. `limit` is the key's `freeDailyLimit`. */
    readonly take: (keyHash: string, limit: number) => Effect.Effect<FreeModelTake, FreeModelDayUsedUp | StorageError>
    /**
     * Undoes a count. Use it for requests that the gateway rejected before calling an upstream.
     * Requests that failed upstream stay counted; otherwise failing requests would be unlimited.
     */
    readonly giveBack: (take: FreeModelTake) => Effect.Effect<void, StorageError>
    /**
     * Deletes the counts of days before yesterday, for keys that are no longer used. Returns their
     * number. `layerBackground` runs it regularly.
     */
    readonly purge: Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/accounting/FreeModelDays") {}

const dayOf = (limit: number, used: number): FreeModelDay => ({ limit, used, remaining: Math.max(0, limit - used) })

/** Makes the counter over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const transactions = yield* Transactions

  const usedOn = Effect.fnUntraced(function* (keyHash: string, day: number) {
    const [row] = yield* sql`SELECT used FROM free_model_days WHERE key_hash = ${keyHash} AND day_start = ${day}`
    return row === undefined ? 0 : Dialect.int(row, "used")
  })

  const add = transactions.prepare(
    `INSERT INTO free_model_days (key_hash, day_start, used) VALUES (?1, ?2, 1)
      ON CONFLICT (key_hash, day_start) DO UPDATE SET used = free_model_days.used + 1 WHERE free_model_days.used < ?3
      RETURNING used`
  )

  const count = Effect.fnUntraced(function* (keyHash: string, day: number, limit: number) {
    const [row] = yield* add(keyHash, day, limit)
    if (row === undefined) return undefined
    const used = Dialect.int(row, "used")
    // The first request of a day deletes the counts of earlier days. If that fails, the purge
    // deletes them. The transaction of its own keeps the caller's from failing with it.
    if (used === 1) {
      const earlier = sql`DELETE FROM free_model_days WHERE key_hash = ${keyHash} AND day_start < ${day}`
      yield* Effect.ignore(sql.withTransaction(earlier))
    }
    return used
  })

  return FreeModelDays.of({
    take: Effect.fnUntraced(function* (keyHash: string, limit: number) {
      const now = yield* Clock.currentTimeMillis
      const day = Periods.startOfDay(now)
      const used = yield* limit < 1 ? Effect.undefined : count(keyHash, day, limit)
      if (used === undefined) {
        const retryAfter = Math.max(1, Math.ceil((day + Periods.dayMillis - now) / 1000))
        return yield* new FreeModelDayUsedUp({
          limit,
          used: yield* usedOn(keyHash, day),
          retryAfter,
          message: `rate limit exceeded: all ${limit} free model requests of this UTC day are used`
        })
      }
      return { ...dayOf(limit, used), keyHash, day }
    }, mapSqlError("FreeModelDays.take")),
    giveBack: ({ day, keyHash }) =>
      sql`UPDATE free_model_days SET used = used - 1 WHERE key_hash = ${keyHash} AND day_start = ${day} AND used > 0`.pipe(
        Effect.asVoid,
        mapSqlError("FreeModelDays.giveBack")
      ),
    purge: Effect.gen(function* () {
      // Another process's clock may not have reached midnight yet.
      const yesterday = Periods.startOfDay(yield* Clock.currentTimeMillis) - Periods.dayMillis
      const some = sql`DELETE FROM free_model_days WHERE (key_hash, day_start) IN (
        SELECT key_hash, day_start FROM free_model_days WHERE day_start < ${yesterday} LIMIT ${Purge.atOnce}
      ) RETURNING key_hash`
      return yield* Purge.all(Effect.map(some, (rows) => rows.length))
    }).pipe(mapSqlError("FreeModelDays.purge"))
  })
})

/** The counter over the database. It does not purge by itself; see {@link layerBackground}. */
export const layerSql: Layer.Layer<FreeModelDays, never, SqlClient | Transactions> = Layer.effect(FreeModelDays, make)

/** Purges in the background, at the start and then at an interval (default: 10 minutes). */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, FreeModelDays> =>
  Background.layer({
    work: Effect.flatMap(FreeModelDays, ({ purge }) => purge),
    every: options?.every ?? "10 minutes",
    failure: "Old counts of free-model requests could not be deleted"
  })
