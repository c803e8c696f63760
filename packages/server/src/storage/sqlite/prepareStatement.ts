/**
 * Prepares a statement whose parameters are numbered (`?1`), or have no names.
 *
 * Node 22.19 binds numbered parameters only by name. Newer ones also bind them by position, which
 * is how they are passed here.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite"

let bindsNumbers: boolean | undefined

const doesBindNumbers = (): boolean => {
  const database = new DatabaseSync(":memory:")
  try {
    database.prepare("SELECT ?1").get(1)
    return true
  } catch {
    return false
  } finally {
    database.close()
  }
}

const byName = (values: ReadonlyArray<SQLInputValue>): Record<string, SQLInputValue> =>
  Object.fromEntries(values.map((value, index) => [`?${index + 1}`, value]))

/** Prepares the statement. Pass the parameters to `all` and `run` by position. */
export const prepareStatement = (database: DatabaseSync, text: string): StatementSync => {
  const statement = database.prepare(text)
  if ((bindsNumbers ??= doesBindNumbers()) || !/\?\d/.test(text)) return statement
  const all = statement.all.bind(statement)
  const run = statement.run.bind(statement)
  return Object.assign(statement, {
    all: (...values: ReadonlyArray<SQLInputValue>) => all(byName(values)),
    run: (...values: ReadonlyArray<SQLInputValue>) => run(byName(values))
  })
}
