/** Checks whether a caller has anything left to spend before the cost of a request is known. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Budgets from "./Budgets.ts"
import * as MicroCredits from "@model-gateway/providers/MicroCredits"
import { InsufficientCredits, type Payer } from "./Reservation.ts"

const exhausted = (scope: InsufficientCredits["scope"], limit: number, message: string): InsufficientCredits =>
  new InsufficientCredits({
    scope,
    limit: MicroCredits.make(limit),
    remaining: MicroCredits.zero,
    message: `insufficient credits: ${message}`
  })

/** Prepares the check. It reserves nothing; a paid request still needs a reservation. */
export const make = (sql: SqlClient) => {
  const selectBudget = Dialect.fixed(sql, `SELECT * FROM budgets WHERE id = ?1`)
  const selectWorkspace = Dialect.fixed(sql, `SELECT balance_micro, reserved_micro FROM workspaces WHERE id = ?1`)

  const checkBudget = Effect.fnUntraced(function* (scope: "key" | "guardrail", id: string, now: number) {
    const [row] = yield* selectBudget(id)
    if (row === undefined) return
    const budget = Budgets.fromRow(row, now)
    if (Budgets.remaining(budget) !== 0) return
    const owner = scope === "key" ? "this key" : "this key's guardrail"
    const reset = budget.limitReset === null ? "" : " or wait for its reset"
    return yield* exhausted(
      scope,
      budget.limit ?? 0,
      `${owner} has nothing left of its spending limit. Raise the limit${reset}.`
    )
  })

  /** Fails if the key, its guardrail or its workspace has nothing left. */
  return Effect.fnUntraced(function* ({ guardrailId, keyHash, workspaceId }: Payer, now: number) {
    yield* checkBudget("key", keyHash, now)
    if (guardrailId !== null) yield* checkBudget("guardrail", guardrailId, now)
    const [row] = yield* selectWorkspace(workspaceId)
    if (row === undefined) return
    const balance = Dialect.int(row, "balance_micro")
    if (balance > Dialect.int(row, "reserved_micro")) return
    return yield* exhausted("workspace", balance, "the workspace has no credits left. Add credits to the workspace.")
  })
}
