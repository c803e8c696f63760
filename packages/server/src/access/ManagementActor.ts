/** Who manages the gateway without a key that is stored: the operator, or who is signed in. */
import type { Key } from "./Key.ts"

/** What is known of the actor. */
export interface Actor extends Pick<Key, "organizationId" | "workspaceId" | "role" | "workspaceIds"> {
  /** What records have in place of the hash of a key. No key has it, so nobody can send it. */
  readonly id: string
  /** In words, for the audit log. */
  readonly label: string
  /** Since when, in epoch milliseconds. */
  readonly since: number
}

/** The management key that stands for the actor, with its permissions. It is in no database. */
export const keyOf = ({ id, label, organizationId, role, since, workspaceId, workspaceIds }: Actor): Key => ({
  hash: id,
  label,
  name: label,
  organizationId,
  workspaceId,
  guardrailId: null,
  guardrailAssignedAt: null,
  guardrailAssignedBy: null,
  isManagement: true,
  role,
  workspaceIds,
  isFreeTier: false,
  // Without a user, it may name the user of each key that it creates.
  creatorUserId: null,
  externalUser: null,
  expiresAt: null,
  disabled: false,
  deletedAt: null,
  freeDailyLimit: 0,
  createdAt: since,
  updatedAt: since,
  limit: null,
  limitReset: null,
  includeByokInLimit: false
})
