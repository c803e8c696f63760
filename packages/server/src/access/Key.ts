/** Keys as they are stored. */
import { LimitReset } from "@model-gateway/core/CurrentKey"
import type { Row } from "effect/sql/SqlConnection"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Dialect from "../storage/sql/Dialect.ts"

/** A stored key. Times are epoch milliseconds, money is micro-credits. */
export interface Key {
  /** SHA-256 of the key in lowercase hex. It identifies the key everywhere. */
  readonly hash: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly guardrailId: string | null
  readonly name: string
  /** For example `mg_sk_…abc`. */
  readonly label: string
  readonly isManagement: boolean
  /** Whether it spends no credits: see `routing/FreeTier.ts`. */
  readonly isFreeTier: boolean
  readonly creatorUserId: string | null
  /** The end user whom the key was created for, as the caller names it. */
  readonly externalUser: string | null
  readonly expiresAt: number | null
  readonly disabled: boolean
  readonly limit: MicroCredits.MicroCredits | null
  readonly limitReset: LimitReset | null
  readonly includeByokInLimit: boolean
  /** Requests to free models per UTC day. */
  readonly freeDailyLimit: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** A key that is valid for some minutes and acts as its parent. Times are epoch milliseconds. */
export interface EphemeralKey {
  readonly hash: string
  readonly parentHash: string
  /** For example `mg_ek_…abc`. */
  readonly label: string
  readonly createdAt: number
  /** The key may expire earlier, with its parent; see {@link endOf}. */
  readonly expiresAt: number
  /**
   * The identifiers of the operations that the key may call. Null: all that its parent may call.
   */
  readonly operations: ReadonlySet<string> | null
  /** Whether the key sees only its own files, video jobs and requests. */
  readonly ownFiles: boolean
}

/** When an ephemeral key expires: never after its parent. */
export const endOf = (ephemeral: EphemeralKey, parent: Key): number =>
  Math.min(ephemeral.expiresAt, parent.expiresAt ?? ephemeral.expiresAt)

/** The columns that {@link keyRow} reads from `keys k JOIN budgets b ON b.id = k.hash`. */
export const keyColumns = `k.hash, k.organization_id, k.workspace_id, k.guardrail_id, k.name, k.label, k.is_management, k.is_free_tier,
  k.creator_user_id, k.external_user, k.expires_at, k.disabled, k.deleted_at, k.free_daily_limit, k.created_at, k.updated_at,
  b.limit_micro, b.limit_reset, b.include_byok`

/** Reads a key. */
export const keyRow = (row: Row): Key => {
  const limit = Dialect.intOrNull(row, "limit_micro")
  return {
    hash: Dialect.text(row, "hash"),
    organizationId: Dialect.text(row, "organization_id"),
    workspaceId: Dialect.text(row, "workspace_id"),
    guardrailId: Dialect.textOrNull(row, "guardrail_id"),
    name: Dialect.text(row, "name"),
    label: Dialect.text(row, "label"),
    isManagement: Dialect.bool(row, "is_management"),
    isFreeTier: Dialect.bool(row, "is_free_tier"),
    creatorUserId: Dialect.textOrNull(row, "creator_user_id"),
    externalUser: Dialect.textOrNull(row, "external_user"),
    expiresAt: Dialect.intOrNull(row, "expires_at"),
    disabled: Dialect.bool(row, "disabled"),
    limit: limit === null ? null : MicroCredits.make(limit),
    limitReset: Dialect.oneOfOrNull(row, "limit_reset", LimitReset.literals),
    includeByokInLimit: Dialect.bool(row, "include_byok"),
    freeDailyLimit: Dialect.int(row, "free_daily_limit"),
    createdAt: Dialect.int(row, "created_at"),
    updatedAt: Dialect.int(row, "updated_at")
  }
}
