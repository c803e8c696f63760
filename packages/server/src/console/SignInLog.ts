/**
 * Sign-ins to the console in the audit log.
 *
 * Everybody who reaches the gateway can be refused, so refusals must not push changes out of the
 * log. Of each hour, only the first ones are recorded.
 */
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { WorkspaceStore } from "../access/WorkspaceStore.ts"
import { AuditLog, type NewAuditEntry } from "../audit/AuditLog.ts"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as ClientAddress from "../http/ClientAddress.ts"
import * as RequestContext from "../http/RequestContext.ts"
import type { ConsoleSession, Kind } from "./ConsoleSessions.ts"

type Request = HttpServerRequest.HttpServerRequest

/** How many refused sign-ins of an hour are recorded. */
export const maxRefused = 10

const hour = 3_600_000

/** What is known of who was refused. */
export interface Refused {
  readonly kind: Kind
  /** The answer, which quotes no secret. */
  readonly message: string
  /** Default: nothing is known. */
  readonly actor?: string | undefined
  readonly label?: string | undefined
}

/** Makes the functions from the stores in the context. */
export const make = Effect.gen(function* () {
  const log = yield* AuditLog
  const workspaces = yield* WorkspaceStore
  const { trustedProxies } = yield* GatewayServerConfig
  const addressOf = ClientAddress.make(trustedProxies)

  const ofRequest = Effect.fnUntraced(function* (request: Request) {
    const record = yield* RequestContext.current
    return { address: addressOf(request), requestId: record?.id ?? "", targetKind: "console_session" }
  })

  const ofSession = ({ actor, id, label, organizationId, role }: ConsoleSession) => ({
    organizationId,
    actor,
    actorLabel: label,
    actorRole: role,
    targetId: id ?? ""
  })

  return {
    addressOf,
    /** Run it in the transaction that starts the session. */
    signedIn: Effect.fnUntraced(function* (request: Request, session: ConsoleSession) {
      const { kind, workspaceIds } = session
      yield* log.write({
        ...(yield* ofRequest(request)),
        ...ofSession(session),
        action: "signIn",
        before: null,
        after: { kind, workspace_ids: workspaceIds }
      })
    }),
    /** Run it in the transaction that ends the session. */
    signedOut: Effect.fnUntraced(function* (request: Request, session: ConsoleSession) {
      yield* log.write({
        ...(yield* ofRequest(request)),
        ...ofSession(session),
        action: "signOut",
        before: { kind: session.kind },
        after: null
      })
    }),
    refused: Effect.fnUntraced(function* (
      request: Request,
      { actor = "unknown", kind, label = "unknown", message }: Refused
    ) {
      const { organizationId } = yield* workspaces.ensureDefault()
      const entry: NewAuditEntry = {
        ...(yield* ofRequest(request)),
        organizationId,
        actor,
        actorLabel: label,
        actorRole: "none",
        action: "refuseSignIn",
        targetId: "refused",
        before: null,
        after: { kind, message }
      }
      yield* log.writeSome(entry, { limit: maxRefused, within: hour })
    })
  }
})
