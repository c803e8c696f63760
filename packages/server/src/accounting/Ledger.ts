/** The rows of the ledger: open intents, and the requests that have ended. */
import { Option, Schema } from "effect"
import type { Row } from "effect/sql/SqlConnection"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Attempt from "./Attempt.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { maxCount } from "@model-gateway/offers/Pricing"

/** How a request ended. */
export const Status = Schema.Literals(["completed", "failed", "cancelled", "expired"])

/**
 * One entry of the usage ledger: a paid request that has ended. Only a completed one is charged.
 * Amounts are micro-credits, times are epoch milliseconds.
 */
export interface UsageRow {
  readonly id: string
  readonly keyHash: string
  readonly workspaceId: string
  readonly guardrailId: string | null
  /** The id of the HTTP request. Null: not known. */
  readonly requestId: string | null
  /** The end user whom the request names. */
  readonly externalUser: string | null
  readonly jobId: string | null
  readonly operation: string
  readonly model: string
  readonly status: typeof Status.Type
  /** The HTTP status of the error that the caller got, if it got one. */
  readonly errorStatus: number | null
  /** The provider that served it, or the last one that was tried. Null if none was. */
  readonly provider: string | null
  readonly upstreamModel: string | null
  readonly attempts: ReadonlyArray<Attempt.Attempt>
  readonly isByok: boolean
  /** Settled after the reaper had released it. */
  readonly isLate: boolean
  readonly reserved: MicroCredits.MicroCredits
  readonly cost: MicroCredits.MicroCredits
  readonly usage: Readonly<Record<string, number>> | null
  readonly reservedAt: number
  readonly settledAt: number
}

/** An intent that was neither settled nor released. */
export interface IntentRow {
  readonly id: string
  readonly state: "open" | "abandoned"
  /** The process that owns it, or null for a job's intent. */
  readonly owner: string | null
  readonly jobId: string | null
  readonly keyHash: string
  readonly workspaceId: string
  readonly guardrailId: string | null
  readonly operation: string
  readonly model: string
  readonly amount: MicroCredits.MicroCredits
  readonly isByok: boolean
  /** Held as BYOK usage besides the amount, if the caller's own provider key may cost more. */
  readonly byokExtra: MicroCredits.MicroCredits
  readonly reservedAt: number
  readonly abandonedAt: number | null
}

/**
 * The name of an end user as it is stored and searched. Postgres stores neither U+0000 nor half a
 * character pair, and no request fails because of the name of its end user.
 */
export const storedUser = (user: string): string => user.toWellFormed().replaceAll("\u0000", "\ufffd")

/** The most rows of a list for an operator. */
export const maxListed = 1000

const decodeUsage = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Unknown)))

/**
 * The counts of a request. Earlier releases stored what a provider reported, such as a number that
 * JSON does not have. Such a count is left out, so that the request stays readable.
 */
const usageOf = (json: string): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const [name, count] of Object.entries(Option.getOrElse(decodeUsage(json), () => ({})))) {
    if (typeof count === "number" && count >= 0 && count <= maxCount) counts[name] = count
  }
  return counts
}

/** Reads a row of `usage_ledger`. */
export const usageRow = (row: Row): UsageRow => {
  const usage = Dialect.textOrNull(row, "usage")
  return {
    id: Dialect.text(row, "id"),
    keyHash: Dialect.text(row, "key_hash"),
    workspaceId: Dialect.text(row, "workspace_id"),
    guardrailId: Dialect.textOrNull(row, "guardrail_id"),
    requestId: Dialect.textOrNull(row, "request_id"),
    externalUser: Dialect.textOrNull(row, "external_user"),
    jobId: Dialect.textOrNull(row, "job_id"),
    operation: Dialect.text(row, "operation"),
    model: Dialect.text(row, "model"),
    status: Dialect.oneOfOrNull(row, "status", Status.literals) ?? "failed",
    errorStatus: Dialect.intOrNull(row, "error_status"),
    provider: Dialect.text(row, "provider") || null,
    upstreamModel: Dialect.text(row, "upstream_model") || null,
    attempts: Attempt.fromJson(Dialect.textOrNull(row, "attempts")),
    isByok: Dialect.bool(row, "is_byok"),
    isLate: Dialect.bool(row, "is_late"),
    reserved: MicroCredits.make(Dialect.int(row, "reserved_micro")),
    cost: MicroCredits.make(Dialect.int(row, "cost_micro")),
    usage: usage === null ? null : usageOf(usage),
    reservedAt: Dialect.int(row, "reserved_at"),
    settledAt: Dialect.int(row, "settled_at")
  }
}

/** Reads a row of `intents`. */
export const intentRow = (row: Row): IntentRow => ({
  id: Dialect.text(row, "id"),
  state: Dialect.text(row, "state") === "open" ? "open" : "abandoned",
  owner: Dialect.textOrNull(row, "owner"),
  jobId: Dialect.textOrNull(row, "job_id"),
  keyHash: Dialect.text(row, "key_hash"),
  workspaceId: Dialect.text(row, "workspace_id"),
  guardrailId: Dialect.textOrNull(row, "guardrail_id"),
  operation: Dialect.text(row, "operation"),
  model: Dialect.text(row, "model"),
  amount: MicroCredits.make(Dialect.int(row, "amount_micro")),
  isByok: Dialect.bool(row, "is_byok"),
  byokExtra: MicroCredits.make(Dialect.int(row, "byok_extra_micro")),
  reservedAt: Dialect.int(row, "reserved_at"),
  abandonedAt: Dialect.intOrNull(row, "abandoned_at")
})
