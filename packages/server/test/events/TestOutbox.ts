/** Reads the outbox as a destination does. */
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { Event } from "../../src/events/Event.ts"
import { Outbox, type Unreadable } from "../../src/events/Outbox.ts"

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
