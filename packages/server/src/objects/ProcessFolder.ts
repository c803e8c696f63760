/**
 * A folder of this process, inside a folder that several processes on one machine may share. When a
 * process is killed, the next process to start removes its folder; running processes also look once
 * an hour.
 *
 * Each folder contains a lock file that its process keeps locked. The operating system releases the
 * lock when the process ends in any way, so a folder with a free lock has no owner. No clock or
 * process id is needed. The lock is that of an empty SQLite file, because Node has no other file
 * lock.
 */
import { Effect, FileSystem, Path, type PlatformError, Schedule, type Scope } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { DatabaseSync } from "node:sqlite"
import { isLocked } from "../storage/sql/StorageError.ts"

/** The name of the lock file in each folder. */
export const lockName = "lock"

/** A folder with this prefix is being created and not locked yet. */
const unfinished = "new-"

/** Locks the file until the scope closes. False if another process holds the lock. */
const lock = (file: string): Effect.Effect<boolean, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const database = new DatabaseSync(file, { timeout: 0 })
        try {
          // Nothing is written, so no journal file is needed.
          database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
          return database
        } catch (cause) {
          database.close()
          if (isLocked(cause)) return undefined
          throw cause
        }
      },
      catch: (cause) => new Error("The lock of a folder could not be taken", { cause })
    }),
    (database) => Effect.sync(() => database?.close())
  ).pipe(Effect.map((database) => database !== undefined))

/** Removes the folders of dead processes. */
const removeDead = Effect.fnUntraced(function* (shared: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const removeIfDead = Effect.fnUntraced(function* (entry: string) {
    const folder = path.join(shared, entry)
    const isFolder = (yield* fs.stat(folder)).type === "Directory"
    if (isFolder && !(yield* lock(path.join(folder, lockName)))) return
    yield* fs.remove(folder, { recursive: true, force: true })
  }, Effect.scoped)
  for (const entry of yield* fs.readDirectory(shared)) {
    if (entry.startsWith(unfinished)) continue
    yield* Effect.catch(removeIfDead(entry), () =>
      Effect.logWarning(`The folder ${path.join(shared, entry)} of a dead process could not be removed`)
    )
  }
})

/**
 * Creates this process's folder below `shared` and returns its path. Closing the scope removes it.
 */
export const make = Effect.fnUntraced(function* (
  shared: string
): Effect.fn.Return<
  string,
  PlatformError.PlatformError,
  FileSystem.FileSystem | Path.Path | SecureRandom | Scope.Scope
> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const id = yield* (yield* SecureRandom).uuidV7()
  yield* fs.makeDirectory(shared, { recursive: true })
  yield* removeDead(shared)

  // Rename the folder only after it is locked, so that other processes never see it unlocked.
  const folder = path.join(shared, `${unfinished}${id}`)
  const own = path.join(shared, id)
  yield* fs.makeDirectory(folder)
  yield* Effect.orDie(lock(path.join(folder, lockName)))
  yield* Effect.acquireRelease(fs.rename(folder, own), () =>
    Effect.ignore(fs.remove(own, { recursive: true, force: true }))
  )

  yield* removeDead(shared).pipe(
    Effect.ignore,
    Effect.repeat(Schedule.spaced("1 hour")),
    Effect.delay("1 hour"),
    Effect.forkScoped
  )
  return own
})
