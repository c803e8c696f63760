/**
 * Looks up the caller of a key's hash, and keeps it for a few seconds, so that a busy key is not
 * looked up for every request.
 *
 * Every change to what authentication reads (a key, a guardrail, an assignment) evicts the affected
 * entries here, so a change made in this process takes effect immediately. A change made by another
 * process takes effect when the entry expires.
 */
import { Cache, Context, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Guardrail from "./Guardrail.ts"
import { type InvalidKey, invalid } from "./InvalidKey.ts"
import type { Caller } from "./Caller.ts"
import * as Key from "./Key.ts"
import * as MonotonicTime from "../internal/MonotonicTime.ts"

/** The callers by the hash of their key. */
export class KeyCache extends Context.Service<KeyCache, Cache.Cache<string, Caller, InvalidKey | SqlError>>()(
  "@model-gateway/server/access/KeyCache"
) {}

/** A key that was changed in another process works here as before for at most this long. */
const timeToLive = "3 seconds"

/** A cache of 10,000 entries. A failed lookup and a null are not kept. */
export const make = <A, E>(lookup: (hash: string) => Effect.Effect<A, E>): Effect.Effect<Cache.Cache<string, A, E>> =>
  Cache.makeWith(lookup, {
    capacity: 10_000,
    timeToLive: (exit) => (Exit.isSuccess(exit) && exit.value !== null ? timeToLive : 0)
  })

/** The entry of a hash. A change of the system clock does not prolong its life. */
export const get = <A, E>(cache: Cache.Cache<string, A, E>, hash: string): Effect.Effect<A, E> =>
  MonotonicTime.provide(Cache.get(cache, hash))

/** The cache of this process, over the database in the context. */
export const layerSql: Layer.Layer<KeyCache, never, SqlClient> = Layer.effect(
  KeyCache,
  Effect.gen(function* () {
    const select = Dialect.fixed(
      yield* SqlClient,
      `SELECT ${Key.keyColumns}, ${Guardrail.guardrailColumns} FROM keys k ${Key.joinLimit}
        LEFT JOIN guardrails g ON g.id = k.guardrail_id LEFT ${Guardrail.joinLimit} WHERE k.hash = ?1`
    )
    return yield* make(
      Effect.fnUntraced(function* (hash: string) {
        const [row] = yield* select(hash)
        if (row === undefined) return yield* invalid("unknown")
        const key = Key.keyRow(row)
        if (key.deletedAt !== null) return yield* invalid("deleted")
        const caller: Caller = {
          key,
          guardrail: key.guardrailId === null ? null : Guardrail.guardrailRow(row),
          ephemeral: null
        }
        return caller
      })
    )
  })
)
