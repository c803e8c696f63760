/**
 * API keys: made, found, listed, changed, deleted, and told from strangers.
 *
 * A key is known by the SHA-256 of its text and never stored otherwise. The lookup goes by that hash, which tells an attacker who measures its time nothing about any key. What
 * authentication finds is kept for a few seconds ({@link KeyCache}); a change made in this process is felt at once, one made in another process within that time. Expiry
 * is judged by the clock at every use.
 */
import { Context, Data, type Effect, type Redacted } from "effect"
import type { MicroCredits } from "../accounting/MicroCredits.ts"
import type { Guardrail } from "../guardrails/Guardrail.ts"
import type { Page, PageRequest } from "../storage/Page.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { LimitReset } from "./Periods.ts"

/** A key as it is stored. Times are epoch milliseconds, money is micro-credits. */
export interface Key {
  /** Lower-case hex SHA-256 of the key; its name wherever a key is addressed. */
  readonly hash: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly guardrailId: string | null
  readonly name: string
  /** Such as `mg_sk_…abc`. */
  readonly label: string
  readonly isManagement: boolean
  readonly isFreeTier: boolean
  readonly creatorUserId: string | null
  readonly expiresAt: number | null
  readonly disabled: boolean
  readonly limit: MicroCredits | null
  readonly limitReset: LimitReset | null
  readonly includeByokInLimit: boolean
  /** Requests to free models a UTC day. */
  readonly freeDailyLimit: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** Who sent a request: the key, and the guardrail it holds. */
export interface Caller {
  readonly key: Key
  readonly guardrail: Guardrail | null
}

/** What a new key is. */
export interface CreateKey {
  readonly organizationId: string
  readonly workspaceId: string
  readonly name: string
  /** Default false. */
  readonly isManagement?: boolean | undefined
  /** Default false. */
  readonly isFreeTier?: boolean | undefined
  /** Default null. */
  readonly creatorUserId?: string | null | undefined
  /** Epoch milliseconds; default null: never. */
  readonly expiresAt?: number | null | undefined
  /** Default null: no limit. */
  readonly limit?: MicroCredits | null | undefined
  /** Default null: the limit never starts anew. */
  readonly limitReset?: LimitReset | null | undefined
  /** Default false. */
  readonly includeByokInLimit?: boolean | undefined
  /** Default 200. */
  readonly freeDailyLimit?: number | undefined
}

/** What of a key can be changed; what is left out stays. */
export interface UpdateKey {
  readonly name?: string | undefined
  readonly disabled?: boolean | undefined
  readonly expiresAt?: number | null | undefined
  readonly limit?: MicroCredits | null | undefined
  readonly limitReset?: LimitReset | null | undefined
  readonly includeByokInLimit?: boolean | undefined
  readonly freeDailyLimit?: number | undefined
}

/** A new key. `plain` is shown once and cannot be had again. */
export interface CreatedKey {
  readonly plain: Redacted.Redacted<string>
  readonly key: Key
}

/**
 * The text is no key that may be used (status 401).
 *
 * - `malformed`: it has not the form of a key · `checksum`: it has, but its checksum does not fit: a typo · `unknown`: no such key
 * - `deleted`, `disabled`, `expired`: there was one
 */
export class InvalidKey extends Data.TaggedError("InvalidKey")<{
  readonly reason: "malformed" | "checksum" | "unknown" | "deleted" | "disabled" | "expired"
  readonly message: string
}> {}

/** The organisation has no such key, or no longer (status 404). */
export class KeyNotFound extends Data.TaggedError("KeyNotFound")<{
  readonly hash: string
}> {
  override readonly message = "There is no such key."
}

/** The key service. */
export class KeyStore extends Context.Service<
  KeyStore,
  {
    /** Makes a key. */
    readonly create: (input: CreateKey) => Effect.Effect<CreatedKey, StorageError>
    /** A key of the organisation that is not deleted. */
    readonly get: (organizationId: string, hash: string) => Effect.Effect<Key, KeyNotFound | StorageError>
    /** The organisation's keys that are not deleted, newest first; of one workspace when it is named. */
    readonly list: (
      filter: { readonly organizationId: string; readonly workspaceId?: string | undefined },
      page?: PageRequest
    ) => Effect.Effect<Page<Key>, StorageError>
    /** Changes what is given and answers the key as it is then. */
    readonly update: (
      organizationId: string,
      hash: string,
      change: UpdateKey
    ) => Effect.Effect<Key, KeyNotFound | StorageError>
    /** Deletes for good: the key stops at once, its usage is kept. Deleting it again fails with {@link KeyNotFound}. */
    readonly remove: (organizationId: string, hash: string) => Effect.Effect<void, KeyNotFound | StorageError>
    /** Who the bearer of this text is. */
    readonly authenticate: (key: Redacted.Redacted<string>) => Effect.Effect<Caller, InvalidKey | StorageError>
  }
>()("@model-gateway/server/keys/KeyStore") {}
