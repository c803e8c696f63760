/** How the first keys get into the audit log, which is above this folder. */
import { Context, Effect } from "effect"
import type { StorageError } from "../storage/sql/StorageError.ts"
import type { Key } from "./Key.ts"

/** Records a key that the gateway has created by itself, in the transaction that creates it. */
export type KeyRecord = (key: Key) => Effect.Effect<void, StorageError>

/** The record. Default: none. */
export const KeyRecord = Context.Reference<KeyRecord>("@model-gateway/server/access/KeyRecord", {
  defaultValue: () => () => Effect.void
})
