/** The table of events on SQLite, which makes them visible in the order of their sequences. */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "../sql/Dialect.ts"
import { enabledDestination, EventLog, insertEvent } from "../sql/EventLog.ts"

/** The table of events over the database in the context. */
export const layer: Layer.Layer<EventLog, never, SqlClient> = Layer.effect(
  EventLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const destinationOf = Dialect.prepare(sql, enabledDestination("?1"))
    const insert = Dialect.prepareChange(sql, insertEvent("?1", "?2"))
    return EventLog.of({
      append: ({ body, createdAt, workspaceId }) =>
        Effect.flatMap(destinationOf(workspaceId), ([destination]) =>
          destination === undefined ? Effect.void : Effect.asVoid(insert(createdAt, body()))
        ),
      readableThrough: Effect.succeed(Number.MAX_SAFE_INTEGER)
    })
  })
)
