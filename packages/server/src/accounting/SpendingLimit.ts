/**
 * The limit of a key or a guardrail: the columns of its budget that people set. `Budgets.ts` reads
 * those that requests write.
 */
import { LimitReset } from "@model-gateway/core/CurrentKey"
import { Effect, Schema } from "effect"
import { Model } from "effect/schema"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "effect/sql/SqlConnection"
import * as Table from "../storage/sql/Table.ts"

/** A limit with whose it is. */
class StoredLimit extends Model.Class<StoredLimit>("SpendingLimit")({
  /** The key's hash or the guardrail's id. */
  id: Table.constant(Schema.String),
  kind: Table.constant(Schema.Literals(["key", "guardrail"])),
  /** What may be spent per period. Null: no limit. */
  limit: Table.nullable(Table.MicroCredits),
  /** Null: the limit never resets. */
  limitReset: Table.oneOfOrNull(LimitReset),
  /** Whether what is spent with the caller's provider keys counts. */
  includeByokInLimit: Table.Bit
}) {}

/** A limit. */
export type SpendingLimit = Omit<StoredLimit, "id" | "kind">

const table = Table.make(StoredLimit, { limit: "limit_micro", includeByokInLimit: "include_byok" })

/** The columns that {@link readOf} reads, of a budget that a statement names `alias`. */
export const columnsOf = table.columnsOf

/** Reads the limit from a row with the columns of this alias. */
export const readOf = (alias: string): ((row: Row) => SpendingLimit) => {
  const read = table.readOf(alias)
  return (row) => {
    const { includeByokInLimit, limit, limitReset } = read(row)
    return { limit, limitReset, includeByokInLimit }
  }
}

/** Joins the budget whose id is this expression. */
export const join = (alias: string, id: string): string => `JOIN budgets ${alias} ON ${alias}.id = ${id}`

/** The statements that set limits, for the transaction of the caller. */
export const make = (sql: SqlClient) => ({
  create: (limit: typeof StoredLimit.insert.Type) => sql`INSERT INTO budgets ${sql.insert(table.insert(limit))}`,
  update: (id: string, change: Table.Change<SpendingLimit>) => {
    const columns = table.update(change)
    if (Object.keys(columns).length === 0) return Effect.void
    return Effect.asVoid(sql`UPDATE budgets SET ${sql.update(columns)} WHERE id = ${id}`)
  },
  remove: (id: string) => Effect.asVoid(sql`DELETE FROM budgets WHERE id = ${id}`)
})
