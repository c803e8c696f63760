/**
 * The locks of processes on one machine: a lock file each, in a folder beside the database.
 *
 * A missing file proves nothing: its process may run an older version, which has none.
 */
import { Effect, FileSystem, Layer, Path } from "effect"
import { ProcessLocks } from "../sql/ProcessLocks.ts"
import * as FileLock from "./FileLock.ts"
import * as LogEvent from "../../log/LogEvent.ts"

/** In milliseconds. Covers the moment in which another process tests the lock of this one. */
const lockTimeout = 1000

/** Makes locks in this folder, which is created if it is missing. */
export const make = Effect.fnUntraced(function* (folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const fileOf = (id: string) => path.join(folder, id)

  const acquire = Effect.fnUntraced(function* (id: string) {
    yield* fs.makeDirectory(folder, { recursive: true })
    yield* Effect.addFinalizer(() => Effect.ignore(fs.remove(fileOf(id), { force: true })))
    if (yield* FileLock.acquire(fileOf(id), lockTimeout)) return
    return yield* Effect.fail(new Error("Another process holds it"))
  })

  return ProcessLocks.of({
    grace: 0,
    acquire: (id) =>
      Effect.catch(acquire(id), (error) =>
        LogEvent.log(
          "process_lock_failed",
          `The lock file of this process could not be locked. If the process dies, others notice it later: ${error.message}`
        ).pipe(Effect.andThen(Effect.ignore(fs.remove(fileOf(id), { force: true }))))
      ),
    released: Effect.fnUntraced(function* (ids) {
      const released = new Set<string>()
      for (const id of ids) if (yield* FileLock.isFree(fileOf(id))) released.add(id)
      return released
    }),
    removeExcept: (ids) =>
      Effect.gen(function* () {
        for (const id of yield* fs.readDirectory(folder)) {
          if (!ids.has(id) && (yield* FileLock.isFree(fileOf(id)))) yield* fs.remove(fileOf(id), { force: true })
        }
      }).pipe(Effect.ignore)
  })
})

/** Locks in this folder. */
export const layer = (folder: string): Layer.Layer<never, never, FileSystem.FileSystem | Path.Path> =>
  Layer.effect(ProcessLocks, make(folder))
