/**
 * What GET `/key` answers: a key's limits and what it has used, from its counters.
 *
 * Specification: "Key record (`data` of GET `/key`)". Names are the wire's, money is credits.
 */
import { Context, type Effect } from "effect"
import type { StorageError } from "../storage/StorageError.ts"
import type { Key } from "./KeyStore.ts"
import type { LimitReset } from "./Periods.ts"

/** Every field of the specification's table; numbers of money are credits, times ISO 8601 UTC. */
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
  /** What can still be spent in the period: `limit` less what is used and what requests under way hold; never below 0. */
  readonly limit_remaining: number | null
  readonly limit_reset: LimitReset | null
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
    /** The record of a key now. */
    readonly of: (key: Key) => Effect.Effect<KeyRecord, StorageError>
  }
>()("@model-gateway/server/keys/KeyRecords") {}
