/**
 * Whether the database can serve: its tables exist, and a write to it commits.
 *
 * The check is real, so it detects a missing table, a damaged or read-only database, a full disk
 * and a lock held by another process.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Readiness from "../../observability/Readiness.ts"
import { tables } from "./Migrations.ts"
import { ProcessInstance } from "./ProcessInstance.ts"
import { mapSqlError } from "./StorageError.ts"

/** Long enough that the write needs new pages, which a full disk does not have. */
const filler = ".".repeat(8192)

/**
 * Makes a check of the database in the context, which fails with the reason why it cannot serve. No
 * other check at the same time may have this name.
 */
export const checkAs = Effect.fnUntraced(function* (id: string) {
  const sql = yield* SqlClient
  const read = sql.literal(
    `SELECT ${tables.map((table) => `(SELECT COUNT(*) FROM (SELECT 1 FROM ${table} LIMIT 1) r)`).join(" + ")} AS n`
  )
  const name = `readiness of ${id} ${filler}`
  const write = Effect.andThen(
    sql`INSERT INTO milestones (name, reached_at) VALUES (${name}, 0)`,
    sql`DELETE FROM milestones WHERE name = ${name}`
  )
  return Effect.andThen(sql`${read}`, sql.withTransaction(write)).pipe(Effect.asVoid, mapSqlError("Readiness.check"))
})

/** The check of this process. */
export const check = Effect.flatMap(ProcessInstance, ({ id }) => checkAs(id))

/** Registers the database in the context, without which no request can be served. */
export const layer = (options?: Readiness.Options) =>
  Readiness.layerPart(
    Effect.map(check, (check) => ({ name: "database", check, isRequired: true })),
    options
  )
