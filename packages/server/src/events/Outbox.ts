/**
 * The outbox: events are written in the transaction of what they report, so that neither can exist
 * without the other. Webhooks and broadcast read them from here.
 */
import { Clock, Context, Duration, Effect, Layer, Schema } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql/SqlClient"
import * as Background from "../internal/Background.ts"
import * as Dialect from "../storage/sql/Dialect.ts"
import * as Purge from "../storage/sql/Purge.ts"
import { mapSqlError, type StorageError } from "../storage/sql/StorageError.ts"
import { Event } from "./Event.ts"

/** An event to write. The outbox adds its id and time. */
export type NewEvent = Omit<Event, "id" | "created_at" | "duration_ms">

/** The outbox. */
export class Outbox extends Context.Service<
  Outbox,
  {
    /** Writes an event as part of the transaction that is under way. Fails outside of one. */
    readonly write: (event: NewEvent) => Effect.Effect<void, StorageError>
    /** At most `limit` events, oldest first, that were written after the event with the id `after`. */
    readonly read: (after: string | undefined, limit: number) => Effect.Effect<ReadonlyArray<Event>, StorageError>
    /** Deletes events that are older than this. Returns their number. */
    readonly purge: (age: Duration.Duration) => Effect.Effect<number, StorageError>
  }
>()("@model-gateway/server/events/Outbox") {}

const EventJson = Schema.fromJsonString(Event)
const decode = Schema.decodeEffect(EventJson)

/** Sorts before every id of `time` or later: a UUID v7 starts with its time in 48 bits. */
const firstIdOf = (time: number): string => {
  const digits = Math.max(0, time).toString(16).padStart(12, "0")
  return `${digits.slice(0, 8)}-${digits.slice(8)}`
}

/** Makes the outbox over the database in the context. */
export const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const random = yield* SecureRandom
  const insert = Dialect.prepareChange(sql, `INSERT INTO events (id, body) VALUES (?1, ?2)`)

  return Outbox.of({
    write: Effect.fnUntraced(function* (event: NewEvent) {
      const id = yield* random.uuidV7()
      const now = yield* Clock.currentTimeMillis
      const written: Event = { ...event, id, created_at: now, duration_ms: Math.max(0, now - event.started_at) }
      yield* insert(id, JSON.stringify(written))
    }, mapSqlError("Outbox.write")),
    read: Effect.fn("Outbox.read")(function* (after: string | undefined, limit: number) {
      const rows = yield* sql`SELECT body FROM events WHERE id > ${after ?? ""} ORDER BY id LIMIT ${limit}`
      return yield* Effect.forEach(rows, (row) => Effect.orDie(decode(Dialect.text(row, "body"))))
    }, mapSqlError("Outbox.read")),
    purge: Effect.fn("Outbox.purge")(function* (age: Duration.Duration) {
      const end = firstIdOf(Math.floor((yield* Clock.currentTimeMillis) - Duration.toMillis(age)))
      const some = sql`DELETE FROM events WHERE id IN (
        SELECT id FROM events WHERE id < ${end} ORDER BY id LIMIT ${Purge.atOnce}
      ) RETURNING id`
      return yield* Purge.all(Effect.map(some, (rows) => rows.length))
    }, mapSqlError("Outbox.purge"))
  })
})

/** The outbox in the database. It does not purge by itself; see {@link layerPurge}. */
export const layerSql: Layer.Layer<Outbox, never, SqlClient | SecureRandom> = Layer.effect(Outbox, make)

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
