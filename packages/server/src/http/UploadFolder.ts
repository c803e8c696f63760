/**
 * Where uploads lie while they are being looked at: a folder of this process's own beside the data, not the machine's shared one, so that they count
 * against the same disk and a crash leaves nothing that nobody clears away.
 */
import { Effect, FileSystem, Layer, Path, type PlatformError } from "effect"
import { ProcessInstance } from "../storage/ProcessInstance.ts"
import type { StorageError } from "../storage/StorageError.ts"

const clearDead = Effect.fnUntraced(function* (folder: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const process = yield* ProcessInstance
  for (const entry of yield* fileSystem.readDirectory(folder)) {
    if (yield* process.isAlive(entry)) continue
    yield* fileSystem.remove(path.join(folder, entry), { recursive: true, force: true })
  }
})

const make = Effect.fnUntraced(function* (folder: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const process = yield* ProcessInstance
  const own = path.join(folder, process.id)
  yield* fileSystem.makeDirectory(folder, { recursive: true })
  yield* clearDead(folder)
  yield* Effect.acquireRelease(fileSystem.makeDirectory(own, { recursive: true }), () =>
    Effect.ignore(fileSystem.remove(own, { recursive: true, force: true }))
  )
  return FileSystem.FileSystem.of({
    ...fileSystem,
    makeTempDirectory: (options) => fileSystem.makeTempDirectory({ directory: own, ...options }),
    makeTempDirectoryScoped: (options) => fileSystem.makeTempDirectoryScoped({ directory: own, ...options }),
    makeTempFile: (options) => fileSystem.makeTempFile({ directory: own, ...options }),
    makeTempFileScoped: (options) => fileSystem.makeTempFileScoped({ directory: own, ...options })
  })
})

/** The file system of the context, with its temporary files under `folder`. What dead processes left there is removed. */
export const layer = (
  folder: string
): Layer.Layer<
  FileSystem.FileSystem,
  PlatformError.PlatformError | StorageError,
  FileSystem.FileSystem | Path.Path | ProcessInstance
> => Layer.effect(FileSystem.FileSystem, make(folder))
