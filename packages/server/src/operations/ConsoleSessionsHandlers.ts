/** Listing and ending the sessions of the console. */
import type * as Console from "@model-gateway/core/ConsoleSessions"
import { GatewayApi } from "@model-gateway/core/GatewayApi"
import { NotFound, phrases } from "@model-gateway/core/GatewayError"
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { currentCaller } from "../access/Caller.ts"
import { SignedIn } from "../access/SignedIn.ts"
import * as Audited from "../audit/Audited.ts"
import { type ConsoleSession, ConsoleSessions } from "../console/ConsoleSessions.ts"
import { orUnavailable } from "../http/Failures.ts"
import * as RequestContext from "../http/RequestContext.ts"
import * as RequestServices from "../http/RequestServices.ts"
import * as Timestamp from "../internal/Timestamp.ts"

const toWire = (session: ConsoleSession, currentId: string | null): Console.ConsoleSession => ({
  id: session.id ?? "",
  kind: session.kind,
  actor: session.actor,
  label: session.label,
  role: session.role,
  workspace_ids: session.workspaceIds,
  address: session.address ?? "",
  created_at: Timestamp.fromMillis(session.createdAt),
  last_used_at: Timestamp.fromMillis(session.seenAt),
  expires_at: Timestamp.fromMillis(session.expiresAt),
  is_current: session.id === currentId
})

/** The id of the session that the request is part of. Null: of none. */
const currentId = Effect.map(RequestContext.current, (record) =>
  record?.session instanceof SignedIn ? record.session.sessionId : null
)

const missing = new NotFound({ error: { message: `${phrases[404]}: there is no such session, or it has ended` } })

const make = Effect.gen(function* () {
  const sessions = yield* ConsoleSessions
  const audited = yield* Audited.make

  const list = Effect.gen(function* () {
    const { key } = yield* currentCaller
    const current = yield* currentId
    const { hasMore, items } = yield* orUnavailable(sessions.list(key.organizationId))
    return { data: items.map((session) => toWire(session, current)), has_more: hasMore }
  })

  const get = Effect.fnUntraced(function* (id: string) {
    const { key } = yield* currentCaller
    return (yield* orUnavailable(sessions.get(key.organizationId, id))) ?? (yield* missing)
  })

  /** What the audit log has of a session. */
  const before = (id: string) =>
    Effect.map(get(id), ({ actor, address, kind, label, role, workspaceIds }) => ({
      data: { id, kind, actor, label, role, workspace_ids: workspaceIds, address }
    }))

  const end = (id: string) =>
    audited(
      { kind: "console_session", before: before(id) },
      Effect.gen(function* () {
        const { hash } = yield* get(id)
        yield* orUnavailable(sessions.end(hash))
        return { ended_count: 1 }
      })
    )

  const endAll = audited(
    { kind: "console_session", id: "all", after: (result: Console.EndResponse) => result },
    Effect.gen(function* () {
      const { key } = yield* currentCaller
      return { ended_count: yield* orUnavailable(sessions.endAll(key.organizationId)) }
    })
  )

  return { list, end, endAll }
})

/** The `console` group of the contract. */
export const layer = RequestServices.group(make, ({ end, endAll, list }) =>
  HttpApiBuilder.group(GatewayApi, "console", (handlers) =>
    handlers
      .handle("listConsoleSessions", () => list)
      .handle("endConsoleSession", ({ params }) => end(params.id))
      .handle("endConsoleSessions", () => endAll)
  )
)
