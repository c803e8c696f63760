/**
 * The outbox: events are written in the transaction of what they report, so that neither can exist
 * without the other. Broadcast reads them from here. Webhooks do not: `webhooks/DeliveryStore`
 * stores what they send.
 *
 * Only of workspaces that broadcast: the event of a workspace without an enabled destination is not
 * written, because a destination gets only what is written while it is enabled.
 */
import { Clock, Context, Duration, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import { GatewayServerConfig } from "../GatewayServerConfig.ts"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import { EventLog } from "../storage/sql/EventLog.ts"
import type { EventRow } from "../storage/sql/EventLog.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { Event } from "./Event.ts"

/** An event to write. The outbox adds its time. */
export type NewEvent = Omit<Event, "created_at" | "duration_ms">

/** A part of the outbox that is small enough to be read at once. It can be read again. */
export interface Part {
  /** It has the events with a higher sequence than this one. */
  readonly after: number
  /** The sequence of its last event. */
  readonly through: number
  /** The most memory that its events take as they are stored. */
  readonly bytes: number
  /** Whether more events of any workspace follow. */
  readonly hasMore: boolean
}

/** An event that cannot be read. It stays in the outbox until it is old. */
export interface Unreadable {
  readonly sequence: number
  /** Without any content of the event. */
  readonly reason: string
}

/** The events of one workspace in a part of the outbox. */
export interface Page {
  readonly events: ReadonlyArray<Event>
  readonly unreadable: ReadonlyArray<Unreadable>
}

/** The maximum number of events of a part. */
const maxPartEvents = 100

/** The maximum number of bytes of a part. */
export const maxPartBytes = 512 * 1024

/**
 * The maximum number of bytes of an event that is read. The bounds of requests keep events well
 * below it: their largest field is `trace`, with 64 KiB.
 */
export const maxEventBytes = 256 * 1024

/** The outbox. */
export class Outbox extends Context.Service<
  Outbox,
  {
    /**
     * The row of an event that ends now, for `Accounting`, which writes it with what it reports,
     * if its workspace broadcasts.
     */
    readonly row: (event: NewEvent) => Effect.Effect<EventRow>
    /**
     * Writes an event as part of the transaction that is under way, if its workspace broadcasts.
     * Fails outside of a transaction.
     */
    readonly write: (event: NewEvent) => Effect.Effect<void, StorageError>
    /**
     * The part of the outbox that follows the event with this sequence. Undefined: no event does. A
     * reader that continues after `through` misses no event, also if one with a lower sequence is
     * committed later than one with a higher sequence.
     */
    readonly next: (after: number) => Effect.Effect<Part | undefined, StorageError>
    /** The events of a workspace in a part, oldest first. */
    readonly readOf: (workspaceId: string, part: Part) => Effect.Effect<Page, StorageError>
    /**
     * The sequence of the newest event, which the outbox always keeps, or of an earlier one that is
     * followed by an event that is not committed yet. 0 if there is none.
     */
    readonly newest: Effect.Effect<number, StorageError>
    /**
     * Deletes events that are older than this, except the newest one, so that no sequence is used
     * twice. Returns their number.
     */
    readonly purge: (age: Duration.Duration) => Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/events/Outbox") {}

const EventJson = Schema.fromJsonString(Event)
const decode = Schema.decodeUnknownOption(EventJson)

/** The start of an event's text that has its `workspace_id`. */
const headCharacters = 1000

/** The first of the rows, as far as they fit. A row that is too large is a part of its own. */
const partOf = (after: number, rows: ReadonlyArray<Row>): Part | undefined => {
  let bytes = 0
  let through: number | undefined
  for (const row of rows) {
    const size = Math.min(Dialect.int(row, "bytes"), maxPartBytes)
    if (through !== undefined && bytes + size > maxPartBytes) return { after, through, bytes, hasMore: true }
    bytes += size
    through = Dialect.int(row, "sequence")
  }
  return through === undefined ? undefined : { after, through, bytes, hasMore: rows.length === maxPartEvents }
}

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
    Effect.clockWith((clock) => {
      const now = clock.currentTimeMillisUnsafe()
      return Effect.succeed<EventRow>({
        createdAt: now,
        workspaceId: event.workspace_id,
        body: () => {
          const { id, type, workspace_id, ...rest } = event
          // `readOf` looks for the workspace in the head of the text, so it precedes long fields.
          const head = { id, type, workspace_id }
          const written: Event = { ...head, ...rest, created_at: now, duration_ms: Math.max(0, now - event.started_at) }
          return JSON.stringify(written)
        }
      })
    })

  return Outbox.of({
    row: rowOf,
    write: (event) => Effect.flatMap(rowOf(event), log.append).pipe(mapSqlError("Outbox.write")),
    next: Effect.fnUntraced(function* (after: number) {
      const through = yield* log.readableThrough
      // Both databases know the length of a text without reading it.
      const rows = yield* sql`SELECT sequence, octet_length(body) AS bytes FROM events
        WHERE sequence > ${after} AND sequence <= ${through} ORDER BY sequence LIMIT ${maxPartEvents}`
      return partOf(after, rows)
    }, mapSqlError("Outbox.next")),
    readOf: Effect.fnUntraced(function* (workspaceId: string, { after, through }: Part) {
      // Spares reading the events of other workspaces. A text search, because the JSON functions
      // of Postgres fail on a text of a caller with U+0000 or half of a surrogate pair.
      const pattern = `%"workspace_id":${JSON.stringify(workspaceId)}%`
      const rows = yield* sql`SELECT sequence, CASE WHEN octet_length(body) <= ${maxEventBytes} THEN body END AS body
        FROM events WHERE sequence > ${after} AND sequence <= ${through}
        AND substr(body, 1, ${sql.literal(String(headCharacters))}) LIKE ${pattern} ORDER BY sequence`
      const events: Array<Event> = []
      const unreadable: Array<Unreadable> = []
      for (const row of rows) {
        const sequence = Dialect.int(row, "sequence")
        const body = Dialect.textOrNull(row, "body")
        const decoded = body === null ? Option.none() : decode(body)
        if (body === null) unreadable.push({ sequence, reason: `it is larger than ${maxEventBytes / 1024} KiB` })
        else if (Option.isNone(decoded)) unreadable.push({ sequence, reason: "it is not a valid event" })
        // The text of a caller may contain the pattern, too.
        else if (decoded.value.workspace_id === workspaceId) events.push(decoded.value)
      }
      return { events, unreadable }
    }, mapSqlError("Outbox.readOf")),
    newest: Effect.gen(function* () {
      const through = yield* log.readableThrough
      const [row] = yield* sql`SELECT MAX(sequence) AS newest FROM events`
      return row === undefined ? 0 : Math.min(through, Dialect.intOrNull(row, "newest") ?? 0)
    }).pipe(mapSqlError("Outbox.newest")),
    purge: Effect.fn("Outbox.purge")(function* (age: Duration.Duration) {
      const end = Math.floor((yield* Clock.currentTimeMillis) - Duration.toMillis(age))
      return yield* Purge.all(deleteSome(end))
    }, mapSqlError("Outbox.purge"))
  })
})

/** The outbox in the database. It does not purge by itself; see {@link layerBackground}. */
export const layerSql: Layer.Layer<Outbox, never, SqlClient | EventLog> = Layer.effect(Outbox, make)

/**
 * Deletes old events in the background, at the start and then at an interval (default: 10 minutes).
 * `retention.events` of {@link GatewayServerConfig} says what is old.
 */
export const layerBackground = (options?: {
  readonly every?: Duration.Input | undefined
}): Layer.Layer<never, never, Outbox> =>
  Background.layer({
    work: Effect.gen(function* () {
      const { retention } = yield* GatewayServerConfig
      return yield* (yield* Outbox).purge(retention.events)
    }),
    every: options?.every ?? "10 minutes",
    failure: "Old events could not be deleted"
  })
