/**
 * A guardrail limits which models and providers its keys may use and how much they may spend
 * together.
 */
import type { UpdateRequest } from "@model-gateway/core/Guardrails"
import { Schema } from "effect"
import { Model } from "effect/schema"
import type { Row } from "effect/sql/SqlConnection"
import * as SpendingLimit from "../accounting/SpendingLimit.ts"
import * as Table from "../storage/sql/Table.ts"

/** The table `guardrails`. Times are epoch milliseconds. */
class StoredGuardrail extends Model.Class<StoredGuardrail>("Guardrail")({
  /** A UUID. */
  id: Table.constant(Schema.String),
  organizationId: Table.constant(Schema.String),
  name: Schema.String,
  description: Table.nullable(Schema.String),
  /** The workspace that it is listed in. Null: none. */
  workspaceId: Table.constantOrNull(Schema.String),
  /** Ids, and prefixes that end in `/*`. Null: all models. */
  allowedModels: Table.nullable(Table.Texts),
  /** Not allowed, even if `allowedModels` has them. Null: none. */
  ignoredModels: Table.nullable(Table.Texts),
  /** Null: all providers. */
  allowedProviders: Table.nullable(Table.Texts),
  /** Not allowed, even if `allowedProviders` has them. Null: none. */
  ignoredProviders: Table.nullable(Table.Texts),
  createdAt: Table.constant(Table.Whole),
  updatedAt: Table.Whole
}) {}

/** What all keys of a guardrail may spend together per period. */
type Limit = Pick<SpendingLimit.SpendingLimit, "limit" | "limitReset">

/** A stored guardrail, with its limit. */
export interface Guardrail extends StoredGuardrail, Limit {}

/** A new guardrail. Absent fields are null. */
export type CreateGuardrail = Omit<typeof StoredGuardrail.insert.Type, "id" | "createdAt" | "updatedAt"> &
  Table.Change<Limit>

/** A change to a guardrail. Absent fields stay as they are. */
export type UpdateGuardrail = Table.Change<Omit<typeof StoredGuardrail.update.Type, "updatedAt"> & Limit>

/** The table. */
export const table = Table.make(StoredGuardrail)

/**
 * The columns that {@link guardrailRow} reads from `guardrails g` and {@link joinLimit}. A key's
 * columns are beside them.
 */
export const guardrailColumns = `${table.columnsOf("g")}, ${SpendingLimit.columnsOf("gb")}`

/** Joins the limit of `guardrails g`. */
export const joinLimit = SpendingLimit.join("gb", "g.id")

const readGuardrail = table.readOf("g")

const readLimit = SpendingLimit.readOf("gb")

/** Reads a guardrail. */
export const guardrailRow = (row: Row): Guardrail => {
  const { limit, limitReset } = readLimit(row)
  return { ...readGuardrail(row), limit, limitReset }
}

/** What the contract shows of a guardrail as it is stored, by its names there. */
export const shown = (guardrail: Guardrail) => ({
  id: guardrail.id,
  name: guardrail.name,
  description: guardrail.description,
  workspace_id: guardrail.workspaceId,
  reset_interval: guardrail.limitReset,
  allowed_models: guardrail.allowedModels,
  ignored_models: guardrail.ignoredModels,
  allowed_providers: guardrail.allowedProviders,
  ignored_providers: guardrail.ignoredProviders
})

/** What is stored of a request as it is. Absent fields are undefined. */
export const stated = (request: typeof UpdateRequest.Type) => ({
  description: request.description,
  limitReset: request.reset_interval,
  allowedModels: request.allowed_models,
  ignoredModels: request.ignored_models,
  allowedProviders: request.allowed_providers,
  ignoredProviders: request.ignored_providers
})

const isListed = (list: ReadonlyArray<string>, model: string): boolean =>
  list.some((entry) => entry === model || (entry.endsWith("/*") && model.startsWith(entry.slice(0, -1))))

/** Whether the guardrail allows the model that a caller names. */
export const allowsModel = ({ allowedModels, ignoredModels }: Guardrail, model: string): boolean =>
  (allowedModels === null || isListed(allowedModels, model)) &&
  (ignoredModels === null || !isListed(ignoredModels, model))

/** Whether the guardrail allows the provider. */
export const allowsProvider = ({ allowedProviders, ignoredProviders }: Guardrail, provider: string): boolean =>
  allowedProviders?.includes(provider) !== false && ignoredProviders?.includes(provider) !== true
