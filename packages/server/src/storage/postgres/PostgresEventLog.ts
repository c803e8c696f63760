/**
 * The table of events on Postgres. Sequences are not handed out in the order of commits, so each
 * writer announces the sequence after which its events will come (`ledgerFunctions.ts`). Readers
 * stop before the first one that is announced. Neither waits for the other.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../sql/Dialect.ts"
import { EventLog } from "../sql/EventLog.ts"
import { names } from "../../accounting/ledgerFunctions.ts"

/** The table of events over the database in the context. */
export const layer: Layer.Layer<EventLog, never, SqlClient> = Layer.effect(
  EventLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const append = Dialect.prepare(sql, `SELECT ${names.appendEvent}(?1, ?2)`)
    const through = Dialect.fixed(sql, `SELECT ${names.eventsThrough}() AS through`)
    return EventLog.of({
      append: ({ body, createdAt }) => Effect.asVoid(append(createdAt, body)),
      readableThrough: Effect.map(through(), ([row]) => (row === undefined ? 0 : Dialect.int(row, "through")))
    })
  })
)
