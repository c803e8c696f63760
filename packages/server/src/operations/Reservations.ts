/** Listing reservations, and settling and dismissing those that a crash left open. */
import type * as Reservations from "@model-gateway/core/Reservations"
import { type BadRequest, NotFound, phrases } from "@model-gateway/core/GatewayError"
import * as MicroCredits from "@model-gateway/offers/MicroCredits"
import { Effect } from "effect"
import { currentCaller } from "../access/Caller.ts"
import { type Held, type NotAbandoned, Reconcile } from "../accounting/Reconcile.ts"
import type { Reservation } from "../accounting/Ledger.ts"
import * as Audited from "../audit/Audited.ts"
import * as CreditAmount from "../http/CreditAmount.ts"
import { orUnavailable } from "../http/Failures.ts"
import { invalid } from "../internal/Issues.ts"
import * as Timestamp from "../internal/Timestamp.ts"
import type { StorageError } from "../storage/sql/StorageError.ts"

const toWire = (reservation: Held): Reservations.Reservation => ({
  id: reservation.id,
  state: reservation.state,
  holder: reservation.holder,
  workspace_id: reservation.workspaceId,
  key_hash: reservation.keyHash,
  request_id: reservation.requestId,
  video_id: reservation.jobId,
  operation: reservation.operation,
  model: reservation.model,
  amount: MicroCredits.toCredits(reservation.amount),
  is_byok: reservation.isByok,
  reserved_at: Timestamp.fromMillis(reservation.reservedAt),
  abandoned_at: Timestamp.fromMillisOrNull(reservation.abandonedAt)
})

const refused = ({ isOpen, message }: NotAbandoned): Effect.Effect<never, BadRequest | NotFound> =>
  isOpen
    ? Effect.fail(invalid([], message))
    : Effect.fail(new NotFound({ error: { message: `${phrases[404]}: there is no such abandoned reservation` } }))

const closed = (close: Effect.Effect<Reservation, NotAbandoned | StorageError>, cost: number) =>
  orUnavailable(close).pipe(
    Effect.catchTag("NotAbandoned", refused),
    Effect.map(({ id, workspaceId }) => ({ data: { id, workspace_id: workspaceId, cost } }))
  )

const organization = Effect.map(currentCaller, ({ key }) => key.organizationId)

/** Makes the handlers. */
export const make = Effect.gen(function* () {
  const reconcile = yield* Reconcile
  const audited = yield* Audited.make
  return {
    list: Effect.fnUntraced(function* ({ state = "abandoned" }: Reservations.ListOptions) {
      const { hasMore, items } = yield* orUnavailable(reconcile.list(yield* organization, state))
      return { data: items.map(toWire), has_more: hasMore }
    }),
    settle: Effect.fnUntraced(function* (id: string, request: Reservations.SettleRequest) {
      const cost = yield* CreditAmount.fromWire("cost", request.cost)
      const bill = { cost, provider: request.provider }
      const change = closed(reconcile.settle(id, bill, yield* organization), request.cost)
      return yield* audited({ kind: "reservation", id }, change)
    }),
    dismiss: Effect.fnUntraced(function* (id: string) {
      return yield* audited({ kind: "reservation", id }, closed(reconcile.dismiss(id, yield* organization), 0))
    })
  }
})
