/** Provider keys as they are stored. */
import { Schema } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import * as Change from "../internal/Change.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import type { Sealed } from "./Vault.ts"

/** What callers choose about a provider key. */
export interface Options {
  readonly name: string | null
  readonly disabled: boolean
  /** Used after the gateway's own credentials instead of before them. */
  readonly isFallback: boolean
  /** The gateway's own credential for the provider is not used for the models of this key. */
  readonly isRequired: boolean
  /** The gateway's own credential for the provider is not used for any model. */
  readonly isByokOnly: boolean
  readonly declaredZdr: boolean | null
  /** The hashes of the API keys that may use it. Null: all of the workspace. */
  readonly allowedKeys: ReadonlyArray<string> | null
  /** Null: all models. */
  readonly allowedModels: ReadonlyArray<string> | null
  /** The creators of the API keys that may use it. Null: all. */
  readonly allowedUsers: ReadonlyArray<string> | null
}

/** A stored provider key, without its secret. Times are epoch milliseconds. */
export interface ProviderKey extends Options {
  /** A UUID. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly provider: string
  /** A few characters of the secret. */
  readonly label: string
  /** Keys for the same provider are tried in ascending order. */
  readonly sortOrder: number
  readonly createdAt: number
  readonly updatedAt: number
}

/** A label of the secret: enough to recognize the key, too little to guess it. */
export const labelOf = (secret: string): string =>
  secret.length < 16 ? "…" : `${secret.slice(0, 3)}…${secret.slice(-4)}`

const decodeNames = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(Schema.String)))

const names = (row: Row, column: string): ReadonlyArray<string> | null => {
  const json = Dialect.textOrNull(row, column)
  return json === null ? null : decodeNames(json)
}

const json = (names: ReadonlyArray<string> | null): string | null => (names === null ? null : JSON.stringify(names))

/** Reads a row. */
export const keyRow = (row: Row): ProviderKey => {
  const declaredZdr = Dialect.intOrNull(row, "declared_zdr")
  return {
    id: Dialect.text(row, "id"),
    organizationId: Dialect.text(row, "organization_id"),
    workspaceId: Dialect.text(row, "workspace_id"),
    provider: Dialect.text(row, "provider"),
    name: Dialect.textOrNull(row, "name"),
    label: Dialect.text(row, "label"),
    disabled: Dialect.bool(row, "disabled"),
    isFallback: Dialect.bool(row, "is_fallback"),
    isRequired: Dialect.bool(row, "is_required"),
    isByokOnly: Dialect.bool(row, "is_byok_only"),
    declaredZdr: declaredZdr === null ? null : declaredZdr !== 0,
    allowedKeys: names(row, "allowed_keys"),
    allowedModels: names(row, "allowed_models"),
    allowedUsers: names(row, "allowed_users"),
    sortOrder: Dialect.int(row, "sort_order"),
    createdAt: Dialect.int(row, "created_at"),
    updatedAt: Dialect.int(row, "updated_at")
  }
}

/** Reads the encrypted secret of a row. */
export const sealedRow = (row: Row): Sealed => ({
  masterKeyId: Dialect.text(row, "master_key_id"),
  dataKey: Dialect.text(row, "data_key"),
  secret: Dialect.text(row, "secret")
})

/** The columns of an encrypted secret. */
export const sealedColumns = ({ dataKey, masterKeyId, secret }: Sealed) => ({
  master_key_id: masterKeyId,
  data_key: dataKey,
  secret
})

/** The columns of the options. */
export const optionColumns = (options: Options) => ({
  name: options.name,
  disabled: Dialect.fromBool(options.disabled),
  is_fallback: Dialect.fromBool(options.isFallback),
  is_required: Dialect.fromBool(options.isRequired),
  is_byok_only: Dialect.fromBool(options.isByokOnly),
  declared_zdr: options.declaredZdr === null ? null : Dialect.fromBool(options.declaredZdr),
  allowed_keys: json(options.allowedKeys),
  allowed_models: json(options.allowedModels),
  allowed_users: json(options.allowedUsers)
})

/** The options after a change. */
export const changed = (before: Options, change: Partial<Options>): Options => ({
  name: Change.valueOf(change.name, before.name),
  disabled: change.disabled ?? before.disabled,
  isFallback: change.isFallback ?? before.isFallback,
  isRequired: change.isRequired ?? before.isRequired,
  isByokOnly: change.isByokOnly ?? before.isByokOnly,
  declaredZdr: Change.valueOf(change.declaredZdr, before.declaredZdr),
  allowedKeys: Change.valueOf(change.allowedKeys, before.allowedKeys),
  allowedModels: Change.valueOf(change.allowedModels, before.allowedModels),
  allowedUsers: Change.valueOf(change.allowedUsers, before.allowedUsers)
})

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
