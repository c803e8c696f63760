/** The wire format of a key in `/keys`. */
import type * as Keys from "@model-gateway/core/Keys"
import { DateTime } from "effect"
import type { Key } from "../access/Key.ts"
import type { KeyRecord } from "../access/KeyRecord.ts"

/** A time in wire format: ISO 8601 UTC. */
export const iso = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

/** The key and the budget fields of its record. */
export const make = (key: Key, record: KeyRecord): Keys.Key => ({
  hash: key.hash,
  name: key.name,
  label: key.label,
  workspace_id: key.workspaceId,
  disabled: key.disabled,
  is_management_key: key.isManagement,
  limit: record.limit,
  limit_remaining: record.limit_remaining,
  limit_reset: record.limit_reset,
  include_byok_in_limit: record.include_byok_in_limit,
  usage: record.usage,
  guardrail_id: key.guardrailId,
  creator_user_id: key.creatorUserId,
  created_at: iso(key.createdAt),
  updated_at: iso(key.updatedAt),
  expires_at: key.expiresAt === null ? null : iso(key.expiresAt)
})
