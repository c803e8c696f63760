/**
 * A lock on a file, held by one process at a time.
 *
 * The operating system releases it when the process ends in any way, so a free lock proves that its
 * process is gone. No clock and no process id is needed. The lock is that of an empty SQLite file,
 * because Node has no other file lock.
 */
import { Effect, type Scope } from "effect"
import { DatabaseSync } from "node:sqlite"
import { pathToFileURL } from "node:url"
import { isLocked } from "./sqliteErrors.ts"

const open = (file: string | URL, timeout: number): DatabaseSync | undefined => {
  const database = new DatabaseSync(file, { timeout })
  try {
    // Nothing is written, so no journal file is needed.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
    return database
  } catch (cause) {
    database.close()
    if (isLocked(cause)) return undefined
    throw cause
  }
}

/**
 * Locks the file until the scope closes. False if it stays locked by another process for `timeout`
 * milliseconds (default: 0). Creates the file if it is missing.
 */
export const acquire = (file: string, timeout = 0): Effect.Effect<boolean, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => open(file, timeout),
      catch: (cause) => new Error(`The file ${file} could not be locked`, { cause })
    }),
    (database) => Effect.sync(() => database?.close())
  ).pipe(Effect.map((database) => database !== undefined))

/**
 * Whether the file is there and its lock is free. A file that cannot be opened is not free.
 */
export const isFree = (file: string): Effect.Effect<boolean> =>
  Effect.sync(() => {
    const existing = pathToFileURL(file)
    existing.searchParams.set("mode", "rw")
    try {
      const database = open(existing, 0)
      database?.close()
      return database !== undefined
    } catch {
      return false
    }
  })
