/** Records the keys of a first start in the audit log: the gateway itself has created them. */
import { Effect, Layer } from "effect"
import { KeyRecord } from "../access/KeyRecord.ts"
import { AuditLog } from "./AuditLog.ts"

/** The record, in the log of the context. */
export const layer: Layer.Layer<never, never, AuditLog> = Layer.effect(
  KeyRecord,
  Effect.map(
    AuditLog,
    (log): KeyRecord =>
      ({ hash, isManagement, label, name, organizationId, role, workspaceId }) =>
        log.write({
          organizationId,
          actor: "gateway",
          actorLabel: "gateway",
          actorRole: "admin",
          address: null,
          action: "createKey",
          targetKind: "key",
          targetId: hash,
          before: null,
          after: { hash, label, name, is_management_key: isManagement, role, workspace_id: workspaceId },
          requestId: ""
        })
  )
)
