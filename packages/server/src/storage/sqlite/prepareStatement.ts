/**
 * Prepares a statement whose parameters are numbered (`?1`), or have no names.
 *
 * Node 22.19 binds numbered parameters only by name. Newer ones also bind them by position, which
 * is how they are passed here.
 *
 * Rows are read as arrays where it can be: the objects that `node:sqlite` makes of them take almost
 * twice the time, and leave V8 a hidden class for each query.
 */
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementResultingChanges } from "node:sqlite"

type Values = ReadonlyArray<SQLInputValue>

type Row = Record<string, SQLOutputValue>

/** A prepared statement. */
export interface Statement {
  /** Whether it is a query, which may return no rows. */
  readonly returnsRows: boolean
  /** Runs it and returns what it changed. */
  readonly run: (...values: Values) => StatementResultingChanges
  /** Runs it and returns its rows. */
  readonly all: (...values: Values) => ReadonlyArray<Row>
  /** Runs it and returns the values of its rows, in the order of its columns. */
  readonly arrays: (...values: Values) => ReadonlyArray<ReadonlyArray<SQLOutputValue>>
  readonly setReadBigInts: (enabled: boolean) => void
}

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

const byName = (values: Values): Record<string, SQLInputValue> =>
  Object.fromEntries(values.map((value, index) => [`?${index + 1}`, value]))

const areArrays = (rows: ReadonlyArray<object>): rows is ReadonlyArray<ReadonlyArray<SQLOutputValue>> =>
  rows.every((row) => Array.isArray(row))

/** Makes the objects of rows. */
const objectsOf = (names: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<SQLOutputValue>>) =>
  rows.map((row) => {
    const object: Row = {}
    names.forEach((name, index) => {
      object[name] = row[index] ?? null
    })
    return object
  })

/** Prepares the statement. Pass the parameters by position. */
export const prepareStatement = (database: DatabaseSync, text: string): Statement => {
  const statement = database.prepare(text)
  const bindsByName = !(bindsNumbers ??= doesBindNumbers()) && /\?\d/.test(text)
  const names = statement.columns().map(({ name }) => name)
  // What `*` stands for changes when another process migrates the database.
  const isFixed = !text.includes("*")
  const query = (values: Values) => (bindsByName ? statement.all(byName(values)) : statement.all(...values))
  const arrays = (...values: Values) => {
    statement.setReturnArrays(true)
    const rows = query(values)
    if (!areArrays(rows)) throw new TypeError("node:sqlite returned no arrays")
    return rows
  }
  return {
    returnsRows: names.length > 0,
    run: (...values) => (bindsByName ? statement.run(byName(values)) : statement.run(...values)),
    all: (...values) => {
      if (isFixed) return objectsOf(names, arrays(...values))
      statement.setReturnArrays(false)
      return query(values)
    },
    arrays,
    setReadBigInts: (enabled) => statement.setReadBigInts(enabled)
  }
}
