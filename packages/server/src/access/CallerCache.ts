/**
 * Looks up the caller of a key's hash, and keeps it for a few seconds, so that a busy key is not
 * looked up for every request.
 *
 * Every change to what authentication reads (a key, a guardrail, an assignment) evicts the affected
 * callers: `KeyStore` and `GuardrailStore` do so when the change is committed.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as ShortCache from "../internal/ShortCache.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import type { Caller } from "./Caller.ts"
import * as Guardrail from "./Guardrail.ts"
import { type InvalidKey, invalid } from "./InvalidKey.ts"
import * as Key from "./Key.ts"

/** The callers by the hash of their key. */
export class CallerCache extends Context.Service<
  CallerCache,
  ShortCache.ShortCache<Caller, InvalidKey | StorageError>
>()("@model-gateway/server/access/CallerCache") {}

/** The cache of this process, over the database in the context. */
export const layerSql: Layer.Layer<CallerCache, never, SqlClient> = Layer.effect(
  CallerCache,
  Effect.gen(function* () {
    const select = Dialect.fixed(
      yield* SqlClient,
      `SELECT ${Key.keyColumns}, ${Guardrail.guardrailColumns} FROM keys k ${Key.joinLimit}
        LEFT JOIN guardrails g ON g.id = k.guardrail_id LEFT ${Guardrail.joinLimit} WHERE k.hash = ?1`
    )
    return yield* ShortCache.make(
      Effect.fnUntraced(function* (hash: string) {
        const [row] = yield* select(hash)
        if (row === undefined) return yield* invalid("unknown")
        const key = Key.keyRow(row)
        if (key.deletedAt !== null) return yield* invalid("deleted", key)
        const caller: Caller = {
          key,
          guardrail: key.guardrailId === null ? null : Guardrail.guardrailRow(row),
          ephemeral: null
        }
        return caller
      }, mapSqlError("CallerCache.get"))
    )
  })
)
