/** Reading the credits that were added and used, the credit ledger, and reservations. */
import type * as Credits from "@model-gateway/core/Credits"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import { Accounting, type CreditEntry } from "../accounting/Accounting.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Paging from "../http/Paging.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import * as CallerWorkspace from "../access/CallerWorkspace.ts"
import * as Reservations from "./Reservations.ts"

const toWire = (entry: CreditEntry): Credits.LedgerEntry => ({
  id: entry.id,
  created_at: Timestamp.fromMillis(entry.createdAt),
  workspace_id: entry.workspaceId,
  kind: entry.kind,
  amount: MicroCredits.toCredits(entry.amount),
  balance: MicroCredits.toCredits(entry.balance),
  note: entry.note,
  actor: entry.actor
})

const make = Effect.gen(function* () {
  const accounting = yield* Accounting
  const workspaceOf = yield* CallerWorkspace.make
  const recordedWorkspaceOf = yield* CallerWorkspace.makeRecorded

  const scopeOf = Effect.fnUntraced(function* (workspaceId: string | undefined) {
    if (workspaceId !== undefined) return { workspaceIds: [(yield* workspaceOf(workspaceId)).id] }
    const { organizationId, workspaceIds } = (yield* currentCaller).key
    return workspaceIds === null ? { organizationId } : { workspaceIds }
  })

  const get = Effect.fnUntraced(function* (workspaceId: string | undefined) {
    const { added, used } = yield* orUnavailable(accounting.creditsOf(yield* scopeOf(workspaceId)))
    const response: Credits.Response = {
      data: { total_credits: MicroCredits.toCredits(added), total_usage: MicroCredits.toCredits(used) }
    }
    return response
  })

  const ledger = Effect.fnUntraced(function* ({ workspace_id, ...page }: Credits.LedgerOptions) {
    const { id } = yield* workspace_id === undefined ? workspaceOf(undefined) : recordedWorkspaceOf(workspace_id)
    const { hasMore, items } = yield* Paging.rejectUnknownCursor(orUnavailable(accounting.creditLedger(id, page)))
    return { data: items.map(toWire), has_more: hasMore }
  })

  return { get, ledger, reservations: yield* Reservations.make }
})

/** The `credits` group of the contract. */
export const layer = RequestServices.group(make, (credits) =>
  HttpApiBuilder.group(GatewayApi, "credits", (handlers) =>
    handlers
      .handle("getCredits", ({ query }) => credits.get(query.workspace_id))
      .handle("listCreditLedger", ({ query }) => credits.ledger(query))
      .handle("listReservations", ({ query }) => credits.reservations.list(query))
      .handle("settleReservation", ({ params, payload }) => credits.reservations.settle(params.id, payload))
      .handle("dismissReservation", ({ params }) => credits.reservations.dismiss(params.id))
  )
)
