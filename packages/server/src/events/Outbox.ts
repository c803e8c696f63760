/**
 * The outbox: events are written in the transaction of what they report, so that neither can exist
 * without the other. Webhooks and broadcast read them from here.
 */
import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { EventLog } from "../storage/sql/EventLog.ts"
import type { EventRow } from "../storage/sql/LedgerStore.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { Event } from "./Event.ts"

/** An event to write. The outbox adds its time. */
export type NewEvent = Omit<Event, "created_at" | "duration_ms">

/** An event, and its place in the outbox. */
export interface Written {
  /** Grows with each event. */
  readonly sequence: number
  readonly event: Event
}

/** The events of one workspace in a part of the outbox. */
export interface Page {
  readonly events: ReadonlyArray<Event>
  /** The sequence up to which the outbox was read. */
  readonly through: number
  /** Whether more events of any workspace follow. */
  readonly hasMore: boolean
}

/** The outbox. */
export class Outbox extends Context.Service<
  Outbox,
  {
    /**
     * The row of an event that ends now, for `Accounting`, which writes it with what it reports.
     */
    readonly row: (event: NewEvent) => Effect.Effect<EventRow>
    /** Writes an event as part of the transaction that is under way. Fails outside of one. */
    readonly write: (event: NewEvent) => Effect.Effect<void, StorageError>
    /** At most `limit` events, oldest first, that were written after the one with this sequence. */
    readonly read: (after: number, limit: number) => Effect.Effect<ReadonlyArray<Written>, StorageError>
    /**
     * The events of a workspace among the `limit` events of all workspaces that were written after
     * the one with this sequence. A reader that continues after `through` misses none, also if an
     * event with a lower sequence is committed later than one with a higher sequence.
     */
    readonly readOf: (workspaceId: string, after: number, limit: number) => Effect.Effect<Page, StorageError>
    /**
     * Deletes events that are older than this, except the newest one, so that no sequence is used
     * twice. Returns their number.
     */
    readonly purge: (age: Duration.Duration) => Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/events/Outbox") {}

const EventJson = Schema.fromJsonString(Event)
const decode = Schema.decodeEffect(EventJson)

/** Makes the outbox over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const log = yield* EventLog

  /** Deletes some of the oldest events that were written before `end`. Returns their number. */
  const deleteSome = Effect.fnUntraced(function* (end: number) {
    const oldest = yield* sql`SELECT sequence, created_at FROM events WHERE sequence > 0
      ORDER BY sequence LIMIT ${Purge.atOnce + 1}`
    const due = oldest.slice(0, -1).filter((row) => Dialect.int(row, "created_at") < end)
    if (due.length === 0) return 0
    yield* sql`DELETE FROM events WHERE ${sql.in(
      "sequence",
      due.map((row) => Dialect.int(row, "sequence"))
    )}`
    return due.length
  })

  const rowOf = (event: NewEvent) =>
    Effect.map(Clock.currentTimeMillis, (now): EventRow => {
      const written: Event = { ...event, created_at: now, duration_ms: Math.max(0, now - event.started_at) }
      return { createdAt: now, body: JSON.stringify(written) }
    })

  return Outbox.of({
    row: rowOf,
    write: (event) => Effect.flatMap(rowOf(event), log.append).pipe(mapSqlError("Outbox.write")),
    read: Effect.fn("Outbox.read")(function* (after: number, limit: number) {
      const through = yield* log.readableThrough
      const rows = yield* sql`SELECT sequence, body FROM events WHERE sequence > ${after} AND sequence <= ${through}
        ORDER BY sequence LIMIT ${limit}`
      return yield* Effect.forEach(rows, (row) =>
        Effect.map(Effect.orDie(decode(Dialect.text(row, "body"))), (event) => ({
          sequence: Dialect.int(row, "sequence"),
          event
        }))
      )
    }, mapSqlError("Outbox.read")),
    readOf: Effect.fnUntraced(function* (workspaceId: string, after: number, limit: number) {
      const through = yield* log.readableThrough
      // Spares decoding the events of other workspaces. A text search, because the JSON functions
      // of Postgres fail on a text of a caller with U+0000 or half of a surrogate pair.
      const pattern = `%"workspace_id":${JSON.stringify(workspaceId)}%`
      const rows = yield* sql`SELECT sequence, CASE WHEN body LIKE ${pattern} THEN body END AS body
        FROM events WHERE sequence > ${after} AND sequence <= ${through} ORDER BY sequence LIMIT ${limit}`
      const bodies = rows.flatMap((row) => Dialect.textOrNull(row, "body") ?? [])
      const found = yield* Effect.forEach(bodies, (body) => Effect.orDie(decode(body)))
      const last = rows.at(-1)
      return {
        // The `trace` of another workspace's request may contain the pattern, too.
        events: found.filter((event) => event.workspace_id === workspaceId),
        through: last === undefined ? after : Dialect.int(last, "sequence"),
        hasMore: rows.length === limit
      }
    }, mapSqlError("Outbox.readOf")),
    purge: Effect.fn("Outbox.purge")(function* (age: Duration.Duration) {
      const end = Math.floor((yield* Clock.currentTimeMillis) - Duration.toMillis(age))
      return yield* Purge.all(deleteSome(end))
    }, mapSqlError("Outbox.purge"))
  })
})

/** The outbox in the database. It does not purge by itself; see {@link layerPurge}. */
export const layerSql: Layer.Layer<Outbox, never, SqlClient | EventLog> = Layer.effect(Outbox, make)

/**
 * Deletes old events in the background, at the start and then at an interval (default: 10 minutes).
 * `keep` is how long events are kept, default 3 days: longer than a webhook is retried.
 */
export const layerPurge = (options?: {
  readonly keep?: Duration.Input | undefined
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, Outbox> =>
  Background.layerRepeating({
    work: Effect.flatMap(Outbox, ({ purge }) => purge(Duration.fromInputUnsafe(options?.keep ?? "3 days"))),
    every: options?.every ?? "10 minutes",
    failure: "Old events could not be deleted"
  })
