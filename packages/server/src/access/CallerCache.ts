/**
 * Looks up the caller of a secret's hash, and keeps it for a few seconds, so that a busy key is not
 * looked up for every request.
 *
 * A key is identified by the hash of its first secret, and `key_secrets` has the secrets of a key
 * that was rotated. So one statement finds a key by its own hash and by that of any of its secrets.
 *
 * Every change to what authentication reads (a key, its secrets, a guardrail, an assignment) evicts
 * the affected callers: `KeyStore` and `GuardrailStore` do so when the change is committed.
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

/** A caller, found by the hash of a secret. */
export interface FoundCaller {
  readonly caller: Caller
  /** When that secret ends, in epoch milliseconds. Null: with the key. */
  readonly secretEndsAt: number | null
}

/** The callers by the hash of a secret. */
export class CallerCache extends Context.Service<
  CallerCache,
  {
    /**
     * The caller of a secret's hash, whether or not the secret has ended. The hash of a key is that
     * of its first secret. Call it when the caller is needed: see `ShortCache`.
     */
    readonly get: (hash: string) => Effect.Effect<FoundCaller, InvalidKey | StorageError>
    /** Evicts the callers of these keys, whatever secret found them. */
    readonly evict: (keyHashes: ReadonlyArray<string>) => Effect.Effect<void>
    readonly evictAll: Effect.Effect<void>
  }
>()("@model-gateway/server/access/CallerCache") {}

/** The cache of this process, over the database in the context. */
export const layerSql: Layer.Layer<CallerCache, never, SqlClient> = Layer.effect(
  CallerCache,
  Effect.gen(function* () {
    const select = Dialect.fixed(
      yield* SqlClient,
      `SELECT ${Key.keyColumns}, ${Guardrail.guardrailColumns}, s.ends_at AS secret_ends_at
        FROM (SELECT CAST(?1 AS TEXT) AS hash) asked LEFT JOIN key_secrets s ON s.hash = asked.hash
        JOIN keys k ON k.hash = COALESCE(s.key_hash, asked.hash) ${Key.joinLimit}
        LEFT JOIN guardrails g ON g.id = k.guardrail_id LEFT ${Guardrail.joinLimit}`
    )
    const cache = yield* ShortCache.make(
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
        const found: FoundCaller = { caller, secretEndsAt: Dialect.intOrNull(row, "secret_ends_at") }
        return found
      }, mapSqlError("CallerCache.get"))
    )
    return CallerCache.of({
      get: cache.get,
      evict: (keyHashes) => {
        const hashes = new Set(keyHashes)
        return cache.evictWhere(({ caller }) => hashes.has(caller.key.hash))
      },
      evictAll: cache.evictAll
    })
  })
)
