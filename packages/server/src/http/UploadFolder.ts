/**
 * Where uploads lie while they are being looked at: a folder of this process's own beside the data,
 * not the machine's temporary folder, so that they count against the same disk and what a crash
 * leaves is removed ({@link ProcessFolder}).
 */
import { Effect, FileSystem, Layer, type Path, type PlatformError } from "effect"
import type { SecureRandom } from "effect/crypto/SecureRandom"
import * as ProcessFolder from "../files/ProcessFolder.ts"

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
 * The file system of the context, with its temporary files under `folder`. What dead processes left
 * there is removed.
 */
export const layer = (
  folder: string
): Layer.Layer<FileSystem.FileSystem, PlatformError.PlatformError, FileSystem.FileSystem | Path.Path | SecureRandom> =>
  Layer.effect(FileSystem.FileSystem, make(folder))
