/** Listing the changes of the audit log. */
import type * as Audit from "@model-gateway/core/AuditLog"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import { type AuditEntry, AuditLog } from "../audit/AuditLog.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as Paging from "../http/Paging.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Timestamp from "../internal/Timestamp.ts"

const toWire = (entry: AuditEntry): typeof Audit.AuditEntry.Type => ({
  id: entry.id,
  created_at: Timestamp.fromMillis(entry.createdAt),
  actor: entry.actor,
  actor_label: entry.actorLabel,
  actor_role: entry.actorRole,
  address: entry.address,
  action: entry.action,
  target_kind: entry.targetKind,
  target_id: entry.targetId,
  before: entry.before,
  after: entry.after,
  request_id: entry.requestId
})

const make = Effect.gen(function* () {
  const log = yield* AuditLog

  return Effect.fnUntraced(function* (query: Audit.ListOptions) {
    const { key } = yield* currentCaller
    const filter = {
      actor: query.actor,
      action: query.action,
      target: query.target,
      ...(yield* Timestamp.toRange(query))
    }
    const page = yield* Paging.rejectUnknownCursor(orUnavailable(log.list(key.organizationId, filter, query)))
    return Paging.toWire(page, toWire)
  })
})

/** The `audit` group of the contract. */
export const layer = RequestServices.group(make, (list) =>
  HttpApiBuilder.group(GatewayApi, "audit", (handlers) => handlers.handle("listAudit", ({ query }) => list(query)))
)
