/**
 * A guardrail limits which models and providers its keys may use and how much they may spend
 * together.
 */
import { LimitReset } from "@model-gateway/core/CurrentKey"
import { Schema } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import * as Dialect from "../storage/sql/Dialect.ts"

/** A stored guardrail. Times are epoch milliseconds, money is micro-credits. */
export interface Guardrail {
  /** A UUID. */
  readonly id: string
  readonly organizationId: string
  readonly name: string
  readonly description: string | null
  /** The workspace that it is listed in. Null: none. */
  readonly workspaceId: string | null
  /** What all assigned keys may spend together per period. Null: no limit. */
  readonly limit: MicroCredits.MicroCredits | null
  /** Null: the limit never resets. */
  readonly limitReset: LimitReset | null
  /** Ids, and prefixes that end in `/*`. Null: all models. */
  readonly allowedModels: ReadonlyArray<string> | null
  /** Not allowed, even if `allowedModels` has them. Null: none. */
  readonly ignoredModels: ReadonlyArray<string> | null
  /** Null: all providers. */
  readonly allowedProviders: ReadonlyArray<string> | null
  /** Not allowed, even if `allowedProviders` has them. Null: none. */
  readonly ignoredProviders: ReadonlyArray<string> | null
  readonly createdAt: number
  readonly updatedAt: number
}

/**
 * The columns that {@link guardrailRow} reads from `guardrails g JOIN budgets gb ON gb.id = g.id`.
 * The prefix keeps them apart from a key's columns.
 */
export const guardrailColumns = `g.id AS g_id, g.organization_id AS g_organization_id, g.name AS g_name, g.description AS g_description,
  g.workspace_id AS g_workspace_id,
  g.allowed_models AS g_allowed_models, g.ignored_models AS g_ignored_models,
  g.allowed_providers AS g_allowed_providers, g.ignored_providers AS g_ignored_providers, g.created_at AS g_created_at, g.updated_at AS g_updated_at,
  gb.limit_micro AS g_limit_micro, gb.limit_reset AS g_limit_reset`

const decodeNames = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Array(Schema.String)))

const names = (row: Row, column: string): ReadonlyArray<string> | null => {
  const json = Dialect.textOrNull(row, column)
  return json === null ? null : decodeNames(json)
}

const isListed = (list: ReadonlyArray<string>, model: string): boolean =>
  list.some((entry) => entry === model || (entry.endsWith("/*") && model.startsWith(entry.slice(0, -1))))

/** Whether the guardrail allows the model that a caller names. */
export const allowsModel = ({ allowedModels, ignoredModels }: Guardrail, model: string): boolean =>
  (allowedModels === null || isListed(allowedModels, model)) &&
  (ignoredModels === null || !isListed(ignoredModels, model))

/** Whether the guardrail allows the provider. */
export const allowsProvider = ({ allowedProviders, ignoredProviders }: Guardrail, provider: string): boolean =>
  allowedProviders?.includes(provider) !== false && ignoredProviders?.includes(provider) !== true

/** Reads a guardrail. */
export const guardrailRow = (row: Row): Guardrail => {
  const limit = Dialect.intOrNull(row, "g_limit_micro")
  return {
    id: Dialect.text(row, "g_id"),
    organizationId: Dialect.text(row, "g_organization_id"),
    name: Dialect.text(row, "g_name"),
    description: Dialect.textOrNull(row, "g_description"),
    workspaceId: Dialect.textOrNull(row, "g_workspace_id"),
    limit: limit === null ? null : MicroCredits.make(limit),
    limitReset: Dialect.oneOfOrNull(row, "g_limit_reset", LimitReset.literals),
    allowedModels: names(row, "g_allowed_models"),
    ignoredModels: names(row, "g_ignored_models"),
    allowedProviders: names(row, "g_allowed_providers"),
    ignoredProviders: names(row, "g_ignored_providers"),
    createdAt: Dialect.int(row, "g_created_at"),
    updatedAt: Dialect.int(row, "g_updated_at")
  }
}
