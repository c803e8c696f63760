/**
 * A folder of this process, inside a folder that several processes on one machine may share. When a
 * process is killed, another one removes its folder: the next one to start, or a running one, which
 * looks every 15 seconds.
 *
 * Before it removes a folder, it kills the programs that the dead process had started for calls in
 * it.
 *
 * Each folder contains a file that its process keeps locked ({@link FileLock}), so a folder with a
 * free lock has no owner.
 */
import * as CallProcesses from "@model-gateway/offers/CallProcesses"
import { Clock, Duration, Effect, FileSystem, Option, Path, type PlatformError, Schedule, type Scope } from "effect"
import { SecureRandom } from "effect/crypto/SecureRandom"
import * as FileLock from "../storage/sqlite/FileLock.ts"
import * as LogEvent from "../log/LogEvent.ts"

/** The name of the lock file in each folder. */
export const lockName = "lock"

/** A folder with this prefix is being created and not locked yet. */
export const unfinished = "new-"

/** Its process needs milliseconds, so an older one's is dead. */
const unfinishedFor = Duration.toMillis("1 minute")

/** What else to do with a folder. */
export interface Options {
  /** Called with the folder of a dead process before it is removed. */
  readonly onDead: (folder: string) => Effect.Effect<void, never, FileSystem.FileSystem | Path.Path>
}

/** Removes the folders of dead processes. */
const removeDead = Effect.fnUntraced(function* (shared: string, { onDead }: Options) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const removeIfDead = Effect.fnUntraced(function* (entry: string) {
    const folder = path.join(shared, entry)
    const found = yield* Effect.catchReason(fs.stat(folder), "PlatformError", "NotFound", () => Effect.undefined)
    // Its process has renamed or removed it since the folders were listed.
    if (found === undefined) return
    const { mtime, type } = found
    if (entry.startsWith(unfinished)) {
      const changed = Option.match(mtime, { onNone: () => Infinity, onSome: (date) => date.getTime() })
      if ((yield* Clock.currentTimeMillis) - changed < unfinishedFor) return
    }
    const isFolder = type === "Directory"
    if (isFolder && !(yield* FileLock.acquire(path.join(folder, lockName)))) return
    yield* CallProcesses.killAll(folder)
    if (isFolder) yield* onDead(folder)
    yield* fs.remove(folder, { recursive: true, force: true })
  }, Effect.scoped)
  for (const entry of yield* fs.readDirectory(shared)) {
    yield* Effect.catch(removeIfDead(entry), () =>
      LogEvent.log(
        "folder_not_removed",
        `The folder ${path.join(shared, entry)} of a dead process could not be removed`
      )
    )
  }
})

/**
 * Creates this process's folder below `shared` and returns its path. Closing the scope removes it.
 */
export const make = Effect.fnUntraced(function* (
  shared: string,
  options: Options = { onDead: () => Effect.void }
): Effect.fn.Return<
  string,
  PlatformError.PlatformError,
  FileSystem.FileSystem | Path.Path | SecureRandom | Scope.Scope
> {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const id = yield* (yield* SecureRandom).uuidV7()
  // What is in it is as private as the data folder.
  yield* fs.makeDirectory(shared, { recursive: true, mode: 0o700 })
  yield* removeDead(shared, options)

  // Rename the folder only after it is locked, so that other processes never see it unlocked.
  const folder = path.join(shared, `${unfinished}${id}`)
  const own = path.join(shared, id)
  yield* fs.makeDirectory(folder, { mode: 0o700 })
  yield* Effect.orDie(FileLock.acquire(path.join(folder, lockName)))
  yield* Effect.acquireRelease(fs.rename(folder, own), () =>
    Effect.ignore(fs.remove(own, { recursive: true, force: true }))
  )

  yield* removeDead(shared, options).pipe(
    Effect.ignore,
    Effect.repeat(Schedule.spaced("15 seconds")),
    Effect.delay("15 seconds"),
    Effect.forkScoped
  )
  return own
})
