/**
 * On SQLite, applies what the ends of reservations change in budgets and credits: once before each
 * commit, for all requests that end in it. So requests of one key update its budget together.
 *
 * A reservation in the same commit still counts what they have reserved. Its request was sent
 * before theirs were answered.
 */
import * as Periods from "../internal/Periods.ts"
import type { LocalTransactions } from "../storage/sql/Transactions.ts"
import type { Amounts } from "./Ledger.ts"
import * as Statements from "./LedgerStatements.ts"

/** What the end of a reservation changes. */
export interface Change {
  readonly keyHash: string
  readonly guardrailId: string | null
  readonly workspaceId: string
  /** The start of the day in which the request counts. */
  readonly dayStart: number
  /** What it is charged in credits, and as BYOK usage. */
  readonly charged: Amounts
  /** What it had reserved. */
  readonly reserved: Amounts
}

const sum = (changes: ReadonlyArray<Change>, of: "charged" | "reserved", amount: keyof Amounts): number =>
  changes.reduce((total, change) => total + change[of][amount], 0)

/** Returns a function that adds a change to the transaction under way. */
export const make = ({ collect, prepare }: Pick<LocalTransactions, "collect" | "prepare">) => {
  const applyToBudget = prepare(Statements.applyToBudget)
  const chargeWorkspace = prepare(Statements.chargeWorkspace)

  const applyTo = (budgetId: string, changes: ReadonlyArray<Change>, hasByok: boolean): void => {
    for (const [dayStart, own] of Map.groupBy(changes, (change) => change.dayStart)) {
      applyToBudget.change({
        ...Periods.startsOf(dayStart),
        budget_id: budgetId,
        usage: sum(own, "charged", "credits"),
        reserved: -sum(own, "reserved", "credits"),
        byok: hasByok ? sum(own, "charged", "byok") : 0,
        byok_reserved: hasByok ? -sum(own, "reserved", "byok") : 0
      })
    }
  }

  return collect<Change>((changes) => {
    for (const [keyHash, own] of Map.groupBy(changes, (change) => change.keyHash)) applyTo(keyHash, own, true)
    const inCredits = changes.filter(({ charged, reserved }) => charged.credits !== 0 || reserved.credits !== 0)
    for (const [guardrailId, own] of Map.groupBy(inCredits, (change) => change.guardrailId)) {
      if (guardrailId !== null) applyTo(guardrailId, own, false)
    }
    for (const [workspaceId, own] of Map.groupBy(inCredits, (change) => change.workspaceId)) {
      const used = sum(own, "charged", "credits")
      chargeWorkspace.change({ workspace_id: workspaceId, used, credits: sum(own, "reserved", "credits") })
    }
  })
}
