/** The error of an authentication. */
import { Data } from "effect"
import type { Key } from "./Key.ts"

/** Whose key it was. */
export type Owner = Pick<Key, "hash" | "workspaceId" | "organizationId">

/**
 * The text is not a valid key (status 401).
 *
 * - `malformed`: it does not have the format of a key
 * - `checksum`: it has the format, but a wrong checksum: a typo
 * - `unknown`: no such key exists
 * - `deleted`, `disabled`, `expired`: the key existed but can no longer be used
 * - `replaced`: the key was rotated, and this secret of it has ended
 */
export class InvalidKey extends Data.TaggedError("InvalidKey")<{
  readonly reason: "malformed" | "checksum" | "unknown" | "deleted" | "disabled" | "expired" | "replaced"
  readonly message: string
  /** For an ephemeral key, its parent. Undefined: no such key is stored. */
  readonly owner: Owner | undefined
}> {}

const sentences: Record<InvalidKey["reason"], string> = {
  malformed: "invalid API key: it does not have the form of a key",
  checksum: "invalid API key: its checksum does not fit, so it was mistyped or cut off",
  unknown: "invalid API key",
  deleted: "invalid API key",
  disabled: "invalid API key: it is disabled",
  expired: "invalid API key: it has expired",
  replaced: "invalid API key: it was replaced by a newer one"
}

/** The error for a reason, and for a stored key its owner. */
export const invalid = (reason: InvalidKey["reason"], owner?: Owner): InvalidKey =>
  new InvalidKey({ reason, message: sentences[reason], owner })
