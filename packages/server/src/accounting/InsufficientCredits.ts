/** The error of a request that its budgets do not allow. */
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Data } from "effect"
import { StorageError } from "../storage/sql/StorageError.ts"
import * as Budgets from "./Budgets.ts"
import type { NewReservation } from "./Ledger.ts"
import type { Refusal } from "./LedgerStore.ts"

/**
 * A budget does not allow the amount (status 402). `limit` and `remaining` are micro-credits; for a
 * workspace `limit` is its balance. `message` names the budget and says what to do.
 */
export class InsufficientCredits extends Data.TaggedError("InsufficientCredits")<{
  readonly scope: "workspace" | "key" | "guardrail"
  readonly limit: MicroCredits.MicroCredits
  readonly remaining: MicroCredits.MicroCredits
  readonly message: string
}> {}

const insufficient = (
  scope: InsufficientCredits["scope"],
  amount: number,
  limit: number,
  remaining: number,
  resets: boolean
): InsufficientCredits => {
  const payer = scope === "key" ? "the key" : scope === "guardrail" ? "the key's guardrail" : "the workspace"
  const remedy =
    scope === "workspace"
      ? "Add credits to the workspace."
      : `Its limit is ${MicroCredits.format(limit)} credits. ${Budgets.waysOut(resets)}`
  const message = `insufficient credits: this request needs up to ${MicroCredits.format(amount)} credits; ${payer} has ${MicroCredits.format(remaining)} left. ${remedy}`
  return new InsufficientCredits({
    scope,
    limit: MicroCredits.make(limit),
    remaining: MicroCredits.make(remaining),
    message
  })
}

/** The error of a reservation that was refused. */
export const fromRefusal = (
  { amount, byokExtra, dayStart, isByok }: NewReservation,
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
      const read = Budgets.fromRow(budget, dayStart)
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
