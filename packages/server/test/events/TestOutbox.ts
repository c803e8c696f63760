/** Reads the outbox as a destination does, and makes workspaces broadcast. */
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { DestinationStore } from "../../src/broadcast/DestinationStore.ts"
import { Event } from "../../src/events/Event.ts"
import { Outbox, type Unreadable } from "../../src/events/Outbox.ts"
import { options } from "../broadcast/TestEvent.ts"

/**
 * Gives the workspace a destination that is enabled or disabled, so that its events are written or
 * not. For stores alone: a service that sends cannot open it. Makes the workspace if it is missing.
 */
export const setDestination = Effect.fnUntraced(function* (workspaceId: string, isEnabled = true) {
  const sql = yield* SqlClient
  const [workspace] = yield* sql`SELECT organization_id FROM workspaces WHERE id = ${workspaceId}`
  if (workspace === undefined) {
    yield* sql`INSERT INTO organizations (id, name, created_at) VALUES (${workspaceId}, 'o', 0)`
    yield* sql`INSERT INTO workspaces
      (id, organization_id, name, is_default, file_shape, balance_micro, reserved_micro, created_at, updated_at)
      VALUES (${workspaceId}, ${workspaceId}, 'w', 0, 'openai', 0, 0, 0, 0)`
  }
  const organizationId = workspace?.["organization_id"] ?? workspaceId
  const enabled = isEnabled ? 1 : 0
  yield* sql`INSERT INTO destinations
    (id, organization_id, workspace_id, name, type, enabled, options, secrets, revision, delivered, created_at, updated_at)
    VALUES (${`destination of ${workspaceId}`}, ${organizationId}, ${workspaceId}, 'd', 'webhook', ${enabled}, '{}', '{}',
      1, 0, 0, 0)
    ON CONFLICT (id) DO UPDATE SET enabled = excluded.enabled`
})

/**
 * Gives the workspace an enabled destination of a service that sends, so that its events are
 * written. None of them is in its sample, so that nothing is sent.
 */
export const broadcast = Effect.fnUntraced(function* (workspace: {
  readonly id: string
  readonly organizationId: string
}) {
  return yield* (yield* DestinationStore).create({
    organizationId: workspace.organizationId,
    workspaceId: workspace.id,
    name: "events are written",
    type: "webhook",
    enabled: true,
    options: options({ sampling_rate: 0 }),
    secrets: Redacted.make({ headers: {}, signing_secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLawM" })
  })
})

/** All events of the workspace after this sequence, part by part, and where the outbox ends. */
export const read = Effect.fnUntraced(function* (workspaceId: string, after?: number) {
  const outbox = yield* Outbox
  const events: Array<Event> = []
  const unreadable: Array<Unreadable> = []
  /** The number of events of each part. */
  const parts: Array<number> = []
  let through = after ?? 0
  while (true) {
    const part = yield* outbox.next(through)
    if (part === undefined) return { events, unreadable, parts, through }
    const page = yield* outbox.readOf(workspaceId, part)
    events.push(...page.events)
    unreadable.push(...page.unreadable)
    parts.push(page.events.length + page.unreadable.length)
    through = part.through
  }
})

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Event))

/** The events of all workspaces. */
export const all = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql`SELECT body FROM events ORDER BY sequence`
  return rows.map(({ body }) => decode(body))
})
