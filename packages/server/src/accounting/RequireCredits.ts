/** Requires that a caller has something left to spend, before the cost of a request is known. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Budgets from "./Budgets.ts"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { InsufficientCredits } from "./InsufficientCredits.ts"
import type { Payer } from "./Reservation.ts"

const nothingLeft = (scope: InsufficientCredits["scope"], limit: number, message: string): InsufficientCredits =>
  new InsufficientCredits({
    scope,
    limit: MicroCredits.make(limit),
    remaining: MicroCredits.zero,
    message: `insufficient credits: ${message}`
  })

/** Fails if the row of a budget has nothing left. Passes if there is no row. */
const checkBudget = (scope: "key" | "guardrail", row: Row | undefined, now: number) => {
  if (row === undefined) return Effect.void
  const budget = Budgets.fromRow(row, now)
  if (Budgets.remaining(budget) !== 0) return Effect.void
  const owner = scope === "key" ? "this key" : "this key's guardrail"
  const message = `${owner} has nothing left of its spending limit. ${Budgets.waysOut(budget.limitReset !== null)}`
  return Effect.fail(nothingLeft(scope, budget.limit ?? 0, message))
}

/** Prepares the check. It reserves nothing; a paid request still needs a reservation. */
export const make = (sql: SqlClient) => {
  // One statement, because each is a round trip on Postgres.
  const select = Dialect.fixed(
    sql,
    `SELECT b.*, w.balance_micro, w.reserved_micro FROM workspaces w LEFT JOIN budgets b ON b.id IN (?1, ?2) WHERE w.id = ?3`
  )

  /** Fails if the key, its guardrail or its workspace has nothing left. */
  return Effect.fnUntraced(function* ({ guardrailId, keyHash, workspaceId }: Payer, now: number) {
    const rows = yield* select(keyHash, guardrailId, workspaceId)
    const budgetOf = (id: string | null) => rows.find((row) => id !== null && Dialect.textOrNull(row, "id") === id)
    yield* checkBudget("key", budgetOf(keyHash), now)
    yield* checkBudget("guardrail", budgetOf(guardrailId), now)
    const [row] = rows
    if (row === undefined) return
    const balance = Dialect.int(row, "balance_micro")
    if (balance > Dialect.int(row, "reserved_micro")) return
    return yield* nothingLeft("workspace", balance, "the workspace has no credits left. Add credits to the workspace.")
  })
}
