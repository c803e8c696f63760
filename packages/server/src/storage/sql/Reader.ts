/**
 * Fast reads of committed data on a separate connection.
 *
 * A statement outside a transaction reads the last commit and waits for no one. A prepared one also
 * skips the template and its own span. For frequent reads with one statement.
 */
import { Context } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import * as Dialect from "./Dialect.ts"

/** Prepares reads. */
export class Reader extends Context.Service<
  Reader,
  {
    /** A fixed `SELECT`. Parameters are written `?1`, `?2`, … */
    readonly prepare: (text: string) => Dialect.Prepared
  }
>()("@model-gateway/server/storage/sql/Reader") {}

/** Reads on their own connection. */
export const make = (connection: Connection): Reader["Service"] =>
  Reader.of({
    prepare:
      (text) =>
      (...params) =>
        connection.execute(text, params, undefined)
  })

/** Reads on the client itself. */
export const makeSql = (sql: SqlClient): Reader["Service"] => Reader.of({ prepare: (text) => Dialect.fixed(sql, text) })
