/**
 * A folder of this process's own below one that several processes of a machine may share. What a
 * process leaves there when it is killed is removed when the next process starts, and once an hour.
 *
 * Each folder holds a lock file that its process keeps locked. The operating system lets go of the
 * lock when the process ends, however it ends, so that a folder whose lock is free belongs to
 * nobody: no clock and no process id is asked. The lock is that of an empty SQLite file, because
 * Node has no other.
 */
import { Effect, FileSystem, Path, type PlatformError, Schedule, type Scope } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import { DatabaseSync } from "node:sqlite"
import { isLocked } from "../storage/StorageError.ts"

/** The name of the lock file in each folder. */
export const lockName = "lock"

/** A folder under this prefix is being made and not locked yet. */
const unfinished = "new-"

/** Locks the file until the scope closes; false when another process has locked it. */
const lock = (file: string): Effect.Effect<boolean, Error, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => {
        const database = new DatabaseSync(file, { timeout: 0 })
        try {
          // Nothing is ever written, so that no journal has to lie beside the file.
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

/** Removes what dead processes left in the shared folder. */
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
      Effect.logWarning(`What a process left in ${path.join(shared, entry)} could not be removed`)
    )
  }
})

/**
 * Makes the folder of this process below `shared` and answers its path. It is removed when the
 * scope closes.
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

  // Under its own name the folder is seen by others only once it is locked.
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
