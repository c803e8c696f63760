/** Provider keys as they are stored. */
import { Schema } from "effect"
import { Model } from "effect/schema"
import type { Row } from "effect/sql/SqlConnection"
import * as Table from "../storage/sql/Table.ts"
import type { Sealed } from "./Vault.ts"

/** The table `provider_keys`. Times are epoch milliseconds. */
class StoredProviderKey extends Model.Class<StoredProviderKey>("ProviderKey")({
  /** A UUID. */
  id: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  workspaceId: Table.constant(Schema.String),
  provider: Table.constant(Schema.String),
  name: Table.nullable(Schema.String),
  /** A few characters of the secret. */
  label: Schema.String,
  /** The encrypted secret: see {@link Sealed}. */
  masterKeyId: Schema.String,
  dataKey: Schema.String,
  secret: Schema.String,
  disabled: Table.Bit,
  /** Used after the gateway's own credentials instead of before them. */
  isFallback: Table.Bit,
  /** The gateway's own credential for the provider is not used for the models of this key. */
  isRequired: Table.Bit,
  /** The gateway's own credential for the provider is not used for any model. */
  isByokOnly: Table.Bit,
  declaredZdr: Table.nullable(Table.Bit),
  /** The hashes of the API keys that may use it. Null: all of the workspace. */
  allowedKeys: Table.nullable(Table.Texts),
  /** Null: all models. */
  allowedModels: Table.nullable(Table.Texts),
  /** The creators of the API keys that may use it. Null: all. */
  allowedUsers: Table.nullable(Table.Texts),
  /** Keys for the same provider are tried in ascending order. */
  sortOrder: Table.Whole,
  /** When a call with it ended last, and how: `Success`, or the reason. Written within a minute. */
  usedAt: Table.nullable(Table.Whole),
  outcome: Table.nullable(Schema.String),
  /** The HTTP status of the provider's error. */
  outcomeStatus: Table.nullable(Table.Whole),
  createdAt: Table.constant(Table.Whole),
  updatedAt: Table.Whole
}) {}

/** A stored provider key, without its secret. */
export type ProviderKey = Omit<StoredProviderKey, keyof Sealed>

/** What callers choose about a provider key. */
export type Options = Pick<
  ProviderKey,
  | "name"
  | "disabled"
  | "isFallback"
  | "isRequired"
  | "isByokOnly"
  | "declaredZdr"
  | "allowedKeys"
  | "allowedModels"
  | "allowedUsers"
>

/** The table. */
export const table = Table.make(StoredProviderKey)

/** A label of the secret: enough to recognize the key, too little to guess it. */
export const labelOf = (secret: string): string =>
  secret.length < 16 ? "…" : `${secret.slice(0, 3)}…${secret.slice(-4)}`

/** Reads a row without its secret. */
export const keyRow = (row: Row): ProviderKey => {
  const { dataKey: _dataKey, masterKeyId: _masterKeyId, secret: _secret, ...key } = table.read(row)
  return key
}

/** Reads the encrypted secret of a row. */
export const sealedRow = (row: Row): Sealed => {
  const { dataKey, masterKeyId, secret } = table.read(row)
  return { dataKey, masterKeyId, secret }
}

/** The options of a key that sets none. */
export const defaults: Options = {
  name: null,
  disabled: false,
  isFallback: false,
  isRequired: false,
  isByokOnly: false,
  declaredZdr: null,
  allowedKeys: null,
  allowedModels: null,
  allowedUsers: null
}
