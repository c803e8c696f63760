/**
 * Functions in the database, for what must run in one round trip.
 *
 * The name of a function ends in the hash of its text. Each version of the service calls the text
 * that it was built with, so that processes of two versions work side by side during an upgrade.
 * A process creates the functions that are missing when it starts; a changed text needs no
 * migration. Functions of earlier versions stay and cost nothing.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { createHash } from "node:crypto"
import * as Dialect from "../sql/Dialect.ts"

/** A function. */
export interface PostgresFunction {
  readonly name: string
  /** The statement that creates it. */
  readonly create: string
}

/** A function. `text` begins with the list of its parameters. */
export const make = (prefix: string, text: string): PostgresFunction => {
  const name = `${prefix}_${createHash("sha256").update(text).digest("hex").slice(0, 12)}`
  return { name, create: `CREATE FUNCTION ${name}${text}` }
}

/** Any number: the lock of those who create functions. */
const lockId = 7_310_590

/** Creates the functions that the database does not have. */
export const ensure = Effect.fnUntraced(function* (functions: ReadonlyArray<PostgresFunction>) {
  const sql = yield* SqlClient
  const missing = Effect.gen(function* () {
    const names = functions.map(({ name }) => name)
    const rows = yield* sql`SELECT proname FROM pg_proc
      WHERE pronamespace = current_schema()::regnamespace AND ${sql.in("proname", names)}`
    const found = new Set(rows.map((row) => Dialect.text(row, "proname")))
    return functions.filter(({ name }) => !found.has(name))
  })
  if ((yield* missing).length === 0) return
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`SELECT pg_advisory_xact_lock(${lockId})`
      for (const { create } of yield* missing) yield* sql.unsafe(create)
    })
  )
})
