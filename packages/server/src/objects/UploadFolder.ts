/**
 * The folder for uploads that are being processed. It is next to the data instead of in the
 * system's temporary folder, so that it uses the same disk and is cleaned up after a crash ({@link
 * ProcessFolder}), with the programs that the crashed process had started in it.
 */
import { Effect, FileSystem, Layer, type Path, type PlatformError } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import * as ProcessFolder from "./ProcessFolder.ts"

const make = Effect.fnUntraced(function* (folder: string) {
  const fileSystem = yield* FileSystem.FileSystem
  const own = yield* ProcessFolder.make(folder)
  return FileSystem.FileSystem.of({
    ...fileSystem,
    makeTempDirectory: (options) => fileSystem.makeTempDirectory({ directory: own, ...options }),
    makeTempDirectoryScoped: (options) => fileSystem.makeTempDirectoryScoped({ directory: own, ...options }),
    makeTempFile: (options) => fileSystem.makeTempFile({ directory: own, ...options }),
    makeTempFileScoped: (options) => fileSystem.makeTempFileScoped({ directory: own, ...options })
  })
})

/**
 * The file system in the context, with its temporary files under `folder`. Removes what dead
 * processes left there.
 */
export const layer = (
  folder: string
): Layer.Layer<FileSystem.FileSystem, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path | SecureRandom> =>
  Layer.effect(FileSystem.FileSystem, make(folder))
