/**
 * Reads of what is committed, beside the one who writes.
 *
 * On SQLite a read over the shared connection waits for the transaction that has it. A second, read-only connection sees the last commit and waits for nobody, and
 * its statements run at once: no lease, no template, no span; and what it has read since that commit it knows. What this process has committed is seen at once, what another has with the next turn of the event
 * loop. For hot reads of one statement that may come from just before a write under way.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Dialect from "./Dialect.ts"

/** Prepares reads. */
export class Reader extends Context.Service<
  Reader,
  {
    /** A fixed `SELECT`; parameters are written `?1`, `?2`, … */
    readonly prepare: (text: string) => Dialect.Prepared
  }
>()("@model-gateway/server/storage/Reader") {}

/** Reads over the client itself: for a database whose connections do not wait for each other, or that lies in memory. */
export const layerSql: Layer.Layer<Reader, never, SqlClient> = Layer.effect(
  Reader,
  Effect.map(SqlClient, (sql) => Reader.of({ prepare: (text) => Dialect.fixed(sql, text) }))
)
