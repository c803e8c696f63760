/**
 * The table of events on Postgres. Sequences are not handed out in the order of commits, so each
 * writer announces the sequence after which its events will come (`eventFunctions.ts`). Readers
 * stop before the first one that is announced. Neither waits for the other.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../sql/Dialect.ts"
import { EventLog } from "../sql/EventLog.ts"
import * as eventFunctions from "./eventFunctions.ts"

/** The table of events over the database in the context. */
export const layer: Layer.Layer<EventLog, never, SqlClient> = Layer.effect(
  EventLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const append = Dialect.prepare(sql, `SELECT ${eventFunctions.append.name}(?1, ?2, ?3)`)
    const through = Dialect.fixed(sql, `SELECT ${eventFunctions.readableThrough.name}() AS through`)
    return EventLog.of({
      append: ({ body, createdAt, workspaceId }) => Effect.asVoid(append(createdAt, workspaceId, body())),
      readableThrough: Effect.map(through(), ([row]) => (row === undefined ? 0 : Dialect.int(row, "through")))
    })
  })
)
