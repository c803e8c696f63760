/**
 * Appends to the table of events, and says how far it may be read.
 *
 * Only broadcast destinations read events, and only those that are written while they are enabled.
 * So an event is written only if its workspace has an enabled destination. The transaction that
 * writes it decides.
 *
 * A reader that continues after the newest event it saw must miss none. SQLite has one writer, so
 * events become visible in the order of their sequences. Postgres hands out a sequence before its
 * transaction commits, so a reader there stops before the oldest event that may still appear.
 */
import { Context, type Effect } from "effect"
import type { SqlError } from "effect/sql/SqlError"

/** An event to write. */
export interface EventRow {
  readonly createdAt: number
  readonly workspaceId: string
  /** Makes the JSON of the event. SQLite asks for it only if the event is written. */
  readonly body: () => string
}

/**
 * Returns a row if the workspace has an enabled destination. The argument is a placeholder or an
 * expression. The `+` keeps SQLite from reading the enabled destinations of all workspaces.
 */
export const enabledDestination = (workspaceId: string): string =>
  `SELECT 1 FROM destinations d WHERE d.workspace_id = ${workspaceId} AND +d.enabled = 1 LIMIT 1`

/** Writes an event. The arguments are placeholders or expressions. */
export const insertEvent = (createdAt: string, body: string): string =>
  `INSERT INTO events (created_at, body) VALUES (${createdAt}, ${body})`

/** The table of events. */
export class EventLog extends Context.Service<
  EventLog,
  {
    /**
     * Writes an event as part of the transaction that is under way, if its workspace has an enabled
     * destination. Fails outside of a transaction.
     */
    readonly append: (event: EventRow) => Effect.Effect<void, SqlError>
    /**
     * The sequence up to which every event that will ever be visible is visible. Ask before reading
     * the events, and not in the same statement.
     */
    readonly readableThrough: Effect.Effect<number, SqlError>
  }
>()("@model-gateway/server/storage/sql/EventLog") {}
