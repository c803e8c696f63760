/**
 * Loaded into a gateway: counts how often a connection waited because another process had locked
 * the database, and for how long. Writes both to a file of this process, in the folder
 * `BENCH_LOCK_WAITS`.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { DatabaseSync, StatementSync } from "node:sqlite"

/** What the file has. */
export interface LockWaits {
  /** How often a connection was refused, and tried again until it could run a statement. */
  readonly waits: number
  /** Milliseconds of all waits. */
  readonly waited: number
}

const folder = process.env["BENCH_LOCK_WAITS"] ?? ""

let waits = 0
let waited = 0
let written = -1

const databases = new WeakMap<object, object>()

/** Since when connections wait, in milliseconds. */
const waiting = new WeakMap<object, number>()

/** SQLite's code `SQLITE_BUSY`, in the low byte of the extended code. */
const isBusy = (cause: unknown): boolean =>
  cause instanceof Error && "errcode" in cause && typeof cause.errcode === "number" && (cause.errcode & 0xff) === 5

const wrap = (prototype: object, name: string, around: (self: object, call: () => unknown) => unknown): void => {
  const original: unknown = Reflect.get(prototype, name)
  if (typeof original !== "function") throw new TypeError(`node:sqlite has no ${name}`)
  Reflect.defineProperty(prototype, name, {
    configurable: true,
    writable: true,
    value(this: object, ...args: ReadonlyArray<unknown>): unknown {
      return around(this, () => Reflect.apply(original, this, args))
    }
  })
}

const count = (database: object, call: () => unknown): unknown => {
  try {
    const result = call()
    const since = waiting.get(database)
    if (since !== undefined) {
      waits++
      waited += performance.now() - since
      waiting.delete(database)
    }
    return result
  } catch (cause) {
    if (isBusy(cause) && !waiting.has(database)) waiting.set(database, performance.now())
    throw cause
  }
}

wrap(DatabaseSync.prototype, "prepare", (database, call) => {
  const statement = call()
  if (statement instanceof StatementSync) databases.set(statement, database)
  return statement
})
wrap(DatabaseSync.prototype, "exec", count)
for (const name of ["run", "all", "get"]) {
  wrap(StatementSync.prototype, name, (statement, call) => count(databases.get(statement) ?? statement, call))
}

setInterval(() => {
  if (waits === written) return
  written = waits
  writeFileSync(join(folder, String(process.pid)), JSON.stringify({ waits, waited } satisfies LockWaits))
}, 50).unref()
