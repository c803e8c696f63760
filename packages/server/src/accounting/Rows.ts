/** Converts the requests of accounting to the rows of the ledger, and its refusals to errors. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import type { PeriodStarts } from "../internal/Periods.ts"
import type { Entry, Hold, Refusal } from "./LedgerStore.ts"
import { StorageError } from "../storage/sql/StorageError.ts"
import * as Attempt from "./Attempt.ts"
import * as Budgets from "./Budgets.ts"
import { storedUser } from "./Ledger.ts"
import { type Failure, InsufficientCredits, type Outcome, type ReserveRequest } from "./Reservation.ts"

/** The reservation of a request, owned by the process `owner` or by the request's job. */
export const hold = (request: ReserveRequest, owner: string, now: number, starts: PeriodStarts): Hold => {
  const { amount, byokAmount, id, isByok = false, jobId, model, operation, payer, requestId, user } = request
  return {
    id,
    owner: jobId === undefined ? owner : null,
    jobId: jobId ?? null,
    keyHash: payer.keyHash,
    workspaceId: payer.workspaceId,
    guardrailId: payer.guardrailId,
    ephemeralHash: payer.ephemeralHash ?? null,
    requestId: requestId ?? null,
    externalUser: user === undefined ? null : storedUser(user),
    operation,
    model,
    amount,
    isByok,
    // Only one of both costs is charged. If BYOK usage counts toward the limit, both together hold
    // the larger one.
    byokExtra: isByok ? 0 : Math.max(0, (byokAmount ?? 0) - amount),
    now,
    starts
  }
}

/** The ledger's entry of a request that was served. */
export const charge = ({ attempts, cost, isByok, provider, upstreamModel, usage }: Outcome): Entry => ({
  status: "completed",
  errorStatus: null,
  provider,
  upstreamModel,
  isByok,
  cost,
  usage: usage === undefined ? null : JSON.stringify(usage),
  attempts: Attempt.toJson(attempts ?? [])
})

/** The ledger's entry of a request that was not served. */
export const failure = ({ attempts, errorStatus, isByok, provider, status, upstreamModel }: Failure): Entry => ({
  status,
  errorStatus: errorStatus ?? null,
  provider: provider ?? "",
  upstreamModel: upstreamModel ?? "",
  isByok,
  cost: 0,
  usage: null,
  attempts: Attempt.toJson(attempts ?? [])
})

const insufficient = (
  scope: InsufficientCredits["scope"],
  amount: number,
  limit: number,
  remaining: number,
  resets: boolean
): InsufficientCredits => {
  const credits = (micro: number) => String(MicroCredits.toCredits(micro))
  const payer = scope === "key" ? "the key" : scope === "guardrail" ? "the key's guardrail" : "the workspace"
  const remedy =
    scope === "workspace"
      ? "Add credits to the workspace."
      : `Its limit is ${credits(limit)} credits. ${Budgets.waysOut(resets)}`
  const message = `insufficient credits: this request needs up to ${credits(amount)} credits; ${payer} has ${credits(remaining)} left. ${remedy}`
  return new InsufficientCredits({
    scope,
    limit: MicroCredits.make(limit),
    remaining: MicroCredits.make(remaining),
    message
  })
}

/** The error of a reservation that was refused. */
export const refusal = (
  { amount, byokExtra, isByok, starts }: Hold,
  reason: Exclude<Refusal, { readonly _tag: "ClockBehind" }>
): InsufficientCredits | StorageError => {
  switch (reason._tag) {
    case "Missing":
      return new StorageError({
        operation: "Accounting.reserve",
        message: `The ${reason.what} is not in the database.`,
        retryable: false
      })
    case "OverBalance": {
      const { balance, reserved } = reason
      return insufficient("workspace", amount, balance, Math.max(0, balance - reserved), false)
    }
    case "OverBudget": {
      const { budget, scope } = reason
      const read = Budgets.fromRow(budget, starts.day)
      const credits = isByok ? 0 : amount
      const byok = scope === "key" && read.includeByok ? (isByok ? amount : byokExtra) : 0
      return insufficient(
        scope,
        credits + byok,
        read.limit ?? 0,
        Budgets.remaining(read) ?? 0,
        read.limitReset !== null
      )
    }
  }
}
