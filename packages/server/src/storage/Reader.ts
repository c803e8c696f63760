/**
 * Quick reads of what is committed, beside the one who writes.
 *
 * A statement outside a transaction reads the last commit and waits for nobody. A prepared one also
 * runs without a template and without a span of its own. For hot reads of one statement.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import * as Dialect from "./Dialect.ts"

/** Prepares reads. */
export class Reader extends Context.Service<
  Reader,
  {
    /** A fixed `SELECT`; parameters are written `?1`, `?2`, … */
    readonly prepare: (text: string) => Dialect.Prepared
  }
>()("@model-gateway/server/storage/Reader") {}

/** Reads over a connection of their own. */
export const make = (connection: Connection): Reader["Service"] =>
  Reader.of({
    prepare:
      (text) =>
      (...params) =>
        connection.execute(text, params, undefined)
  })

/** Reads over the client itself. */
export const makeSql = (sql: SqlClient): Reader["Service"] => Reader.of({ prepare: (text) => Dialect.fixed(sql, text) })

/** Reads over the client itself: for a database whose connections do not wait for each other. */
export const layerSql: Layer.Layer<Reader, never, SqlClient> = Layer.effect(Reader, Effect.map(SqlClient, makeSql))
