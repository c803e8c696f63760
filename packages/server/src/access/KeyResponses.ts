/**
 * Keys in wire format: the record that GET `/key` returns, read from the key's counters, and the
 * key as `/keys` lists it. Money is in credits.
 *
 * Specification: "Key record".
 */
import type { KeyRecord } from "@model-gateway/core/CurrentKey"
import type * as Keys from "@model-gateway/core/Keys"
import { Context, Effect, Layer } from "effect"
import * as Budgets from "../accounting/Budgets.ts"
import * as KeyUsage from "../accounting/KeyUsage.ts"
import { toCredits } from "@model-gateway/offers/MicroCredits"
import * as Timestamp from "../internal/Timestamp.ts"
import type { Reader } from "../storage/sql/Reader.ts"
import { mapSqlError, StorageError } from "../storage/sql/StorageError.ts"
import { endOf, type EphemeralKey, type Key } from "./Key.ts"

/** A record as this service sends it: with every field. */
export type SentRecord = typeof KeyRecord.Type

/** Reads the records of keys. */
export class KeyResponses extends Context.Service<
  KeyResponses,
  {
    /** The current record of a key. */
    readonly of: (key: Key) => Effect.Effect<SentRecord, StorageError>
    /** The key as the operations of `/keys` return it. */
    readonly listed: (key: Key) => Effect.Effect<typeof Keys.Key.Type, StorageError>
  }
>()("@model-gateway/server/access/KeyResponses") {}

/** The deprecated field, the same for every key. */
const rateLimit = { requests: -1, interval: "10s", note: "This field is deprecated and safe to ignore." } as const

/** What the record of a management key has besides. */
const permission = ({ isManagement, role, workspaceIds }: Key) =>
  isManagement ? { role, workspace_ids: workspaceIds } : {}

/** The record of a key, from its budget and the free requests it made today. */
export const make = (key: Key, budget: Budgets.Budget, freeUsed: number): SentRecord => {
  const remaining = Budgets.remaining(budget)
  return {
    allowed_data_regions: [],
    byok_usage: toCredits(budget.byok.total),
    byok_usage_daily: toCredits(budget.byok.daily),
    byok_usage_weekly: toCredits(budget.byok.weekly),
    byok_usage_monthly: toCredits(budget.byok.monthly),
    creator_user_id: key.creatorUserId,
    expires_at: Timestamp.fromMillisOrNull(key.expiresAt),
    free_model_daily_requests: {
      limit: key.freeDailyLimit,
      remaining: Math.max(0, key.freeDailyLimit - freeUsed),
      used: freeUsed
    },
    include_byok_in_limit: budget.includeByok,
    is_free_tier: key.isFreeTier,
    is_management_key: key.isManagement,
    is_provisioning_key: key.isManagement,
    ...permission(key),
    label: key.label,
    limit: budget.limit === null ? null : toCredits(budget.limit),
    limit_remaining: remaining === null ? null : toCredits(remaining),
    limit_reset: budget.limitReset,
    organization_id: key.organizationId,
    rate_limit: rateLimit,
    usage: toCredits(budget.usage.total),
    usage_daily: toCredits(budget.usage.daily),
    usage_weekly: toCredits(budget.usage.weekly),
    usage_monthly: toCredits(budget.usage.monthly),
    workspace_id: key.workspaceId
  }
}

/** The record that an ephemeral key sees: its parent's, with its own label and expiry. */
export const forEphemeral = (record: SentRecord, ephemeral: EphemeralKey, parent: Key): SentRecord => ({
  ...record,
  label: ephemeral.label,
  expires_at: Timestamp.fromMillis(endOf(ephemeral, parent))
})

/** A key as the operations of `/keys` return it: the key, and the budget fields of its record. */
const listed = (key: Key, record: SentRecord, lastUsedDay: number | null): typeof Keys.Key.Type => ({
  hash: key.hash,
  name: key.name,
  label: key.label,
  workspace_id: key.workspaceId,
  disabled: key.disabled,
  is_management_key: key.isManagement,
  ...permission(key),
  is_free_tier: key.isFreeTier,
  limit: record.limit,
  limit_remaining: record.limit_remaining,
  limit_reset: record.limit_reset,
  include_byok_in_limit: record.include_byok_in_limit,
  usage: record.usage,
  usage_daily: record.usage_daily,
  usage_weekly: record.usage_weekly,
  usage_monthly: record.usage_monthly,
  byok_usage: record.byok_usage,
  byok_usage_daily: record.byok_usage_daily,
  byok_usage_weekly: record.byok_usage_weekly,
  byok_usage_monthly: record.byok_usage_monthly,
  last_used_on: lastUsedDay === null ? null : Timestamp.fromMillis(lastUsedDay).slice(0, 10),
  guardrail_id: key.guardrailId,
  creator_user_id: key.creatorUserId,
  external_user: key.externalUser,
  created_at: Timestamp.fromMillis(key.createdAt),
  updated_at: Timestamp.fromMillis(key.updatedAt),
  expires_at: Timestamp.fromMillisOrNull(key.expiresAt)
})

/** As {@link listed}, from the key's budget. It does not say how many free requests were made. */
export const listedWith = (key: Key, budget: Budgets.Budget, lastUsedDay: number | null): typeof Keys.Key.Type =>
  listed(key, make(key, budget, 0), lastUsedDay)

/** Reads records from the database in the context. */
export const layerSql: Layer.Layer<KeyResponses, never, Reader> = Layer.effect(
  KeyResponses,
  Effect.gen(function* () {
    const usageOf = yield* KeyUsage.make
    const read = Effect.fnUntraced(function* (key: Key) {
      const usage = yield* usageOf(key.hash)
      if (usage === undefined) {
        return yield* new StorageError({
          operation: "KeyResponses.of",
          message: "The key is not in the database.",
          retryable: false
        })
      }
      return { record: make(key, usage.budget, usage.freeRequests), lastUsedDay: usage.lastUsedDay }
    }, mapSqlError("KeyResponses.of"))
    return KeyResponses.of({
      of: (key) => Effect.map(read(key), ({ record }) => record),
      listed: (key) => Effect.map(read(key), ({ lastUsedDay, record }) => listed(key, record, lastUsedDay))
    })
  })
)
