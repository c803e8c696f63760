/**
 * The response of GET `/key`: a key's limits and usage, read from its counters.
 *
 * Specification: "Key record (`data` of GET `/key`)". Names are the wire's, money is in credits.
 */
import { Clock, Context, DateTime, Effect, Layer } from "effect"
import * as Budgets from "../accounting/Budgets.ts"
import { toCredits } from "@model-gateway/providers/MicroCredits"
import * as Dialect from "../storage/sql/Dialect.ts"
import { Reader } from "../storage/sql/Reader.ts"
import { mapSqlError, StorageError } from "../storage/sql/StorageError.ts"
import { endOf, type EphemeralKey, type Key } from "./Key.ts"
import * as Periods from "../accounting/Periods.ts"

/** Every field of the specification's table. Money is in credits, times are ISO 8601 UTC. */
export interface KeyRecord {
  readonly byok_usage: number
  readonly byok_usage_daily: number
  readonly byok_usage_weekly: number
  readonly byok_usage_monthly: number
  readonly creator_user_id: string | null
  readonly expires_at: string | null
  readonly free_model_daily_requests: { readonly limit: number; readonly remaining: number; readonly used: number }
  readonly include_byok_in_limit: boolean
  readonly is_free_tier: boolean
  readonly is_management_key: boolean
  readonly is_provisioning_key: boolean
  readonly label: string
  readonly limit: number | null
  /**
   * What can still be spent in the period: `limit` minus what is used and reserved, never below 0.
   */
  readonly limit_remaining: number | null
  readonly limit_reset: Periods.LimitReset | null
  readonly rate_limit: { readonly interval: string; readonly requests: number; readonly note: string }
  readonly usage: number
  readonly usage_daily: number
  readonly usage_weekly: number
  readonly usage_monthly: number
}

/** Reads key records. */
export class KeyRecords extends Context.Service<
  KeyRecords,
  {
    /** The current record of a key. */
    readonly of: (key: Key) => Effect.Effect<KeyRecord, StorageError>
  }
>()("@model-gateway/server/keys/KeyRecords") {}

/** The deprecated field, the same for every key. */
const rateLimit = { requests: -1, interval: "10s", note: "This field is deprecated and safe to ignore." } as const

/** The record of a key, from its budget and the free requests it made today. */
export const make = (key: Key, budget: Budgets.Budget, freeUsed: number): KeyRecord => {
  const remaining = Budgets.remaining(budget)
  return {
    byok_usage: toCredits(budget.byok.total),
    byok_usage_daily: toCredits(budget.byok.daily),
    byok_usage_weekly: toCredits(budget.byok.weekly),
    byok_usage_monthly: toCredits(budget.byok.monthly),
    creator_user_id: key.creatorUserId,
    expires_at: key.expiresAt === null ? null : DateTime.formatIso(DateTime.makeUnsafe(key.expiresAt)),
    free_model_daily_requests: {
      limit: key.freeDailyLimit,
      remaining: Math.max(0, key.freeDailyLimit - freeUsed),
      used: freeUsed
    },
    include_byok_in_limit: budget.includeByok,
    is_free_tier: key.isFreeTier,
    is_management_key: key.isManagement,
    is_provisioning_key: key.isManagement,
    label: key.label,
    limit: budget.limit === null ? null : toCredits(budget.limit),
    limit_remaining: remaining === null ? null : toCredits(remaining),
    limit_reset: budget.limitReset,
    rate_limit: rateLimit,
    usage: toCredits(budget.usage.total),
    usage_daily: toCredits(budget.usage.daily),
    usage_weekly: toCredits(budget.usage.weekly),
    usage_monthly: toCredits(budget.usage.monthly)
  }
}

/** The record that an ephemeral key sees: its parent's, with its own label and expiry. */
export const forEphemeral = (record: KeyRecord, ephemeral: EphemeralKey, parent: Key): KeyRecord => ({
  ...record,
  label: ephemeral.label,
  expires_at: DateTime.formatIso(DateTime.makeUnsafe(endOf(ephemeral, parent)))
})

/** Reads records from the database in the context. */
export const layerSql: Layer.Layer<KeyRecords, never, Reader> = Layer.effect(
  KeyRecords,
  Effect.gen(function* () {
    const select = (yield* Reader).prepare(
      `SELECT b.*, f.used AS free_used FROM budgets b
       LEFT JOIN free_model_days f ON f.key_hash = b.id AND f.day_start = ?2 WHERE b.id = ?1`
    )
    return KeyRecords.of({
      of: Effect.fnUntraced(function* (key: Key) {
        const now = yield* Clock.currentTimeMillis
        const [row] = yield* select(key.hash, Periods.startOfDay(now))
        if (row === undefined) {
          return yield* new StorageError({
            operation: "KeyRecords.of",
            message: "The key is not in the database.",
            retryable: false
          })
        }
        return make(key, Budgets.fromRow(row, now), Dialect.intOrNull(row, "free_used") ?? 0)
      }, mapSqlError("KeyRecords.of"))
    })
  })
)
